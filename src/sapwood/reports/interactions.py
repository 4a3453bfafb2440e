"""Interactions of features: how much the contribution of one feature depends on the value of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.reports.effects import Contributions

FEATURES, PAIRS_SHOWN, GROUPS, MIN_ROWS = 12, 10, 6, 200


def interactions(contributions: Contributions, order: np.ndarray) -> list[dict[str, Any]]:
    """Return the strongest pairs among the strongest features.

    The rows are divided into groups of about equal values of feature a. Within a group, the contribution of a would be
    nearly the same in all rows if a did not interact; the strength of the pair (a, b) is the part of its standard
    deviation that groups of b explain, beyond what random groups would, in the unit of the scores; the larger of (a, b)
    and (b, a).
    """
    if contributions.explanation is None or len(contributions.rows) < MIN_ROWS:
        return []
    shown = [f for f in order[:FEATURES].tolist() if contributions.mean[f] > 0.0]
    data = np.asarray(contributions.explanation.data, dtype=np.float64)
    groups = {f: _groups(data[:, f]) for f in shown}
    names = contributions.explanation.feature_names
    found: list[dict[str, Any]] = []
    for i, a in enumerate(shown):
        for b in shown[:i]:
            strength = max(_strength(contributions, groups, a, b), _strength(contributions, groups, b, a))
            if strength > 0.0:
                found.append({"names": [names[b], names[a]], "strength": strength})
    return sorted(found, key=lambda pair: -pair["strength"])[:PAIRS_SHOWN]


def _groups(values: np.ndarray) -> np.ndarray:
    """Return the group of each row: about equal numbers of rows, equal values together, missing values apart."""
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(len(values), dtype=np.intp)
    edges = np.unique(np.quantile(known, np.linspace(0.0, 1.0, GROUPS + 1)[1:-1], method="lower"))
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="left")).astype(np.intp)


def _strength(contributions: Contributions, groups: dict[int, np.ndarray], a: int, b: int) -> float:
    explained = 0.0
    for k in range(contributions.values.shape[2]):
        values = contributions.values[:, a, k]
        cell = groups[a] * (groups[b].max() + 1) + groups[b]
        # Sums of squares between the cells and between the groups of a: their difference is what b explains.
        between_cells, n_cells = _between(values, cell)
        between_groups, n_groups = _between(values, groups[a])
        total = float(((values - values.mean()) ** 2).sum())
        spare = len(values) - n_cells
        noise = (n_cells - n_groups) * (total - between_cells) / spare if spare > 0 else np.inf
        explained += max(0.0, between_cells - between_groups - noise) / len(values)
    return float(np.sqrt(explained))


def _between(values: np.ndarray, group: np.ndarray) -> tuple[float, int]:
    """Return the sum of squares between groups, and the number of groups."""
    counts = np.bincount(group)
    sums = np.bincount(group, weights=values)
    used = counts > 0
    return float((sums[used] ** 2 / counts[used]).sum() - values.sum() ** 2 / len(values)), int(used.sum())
