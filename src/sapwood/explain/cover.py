"""Cover: the weight of the training rows in each node, by which expectations over trees are taken."""

from __future__ import annotations

import numpy as np

from sapwood.model.ensemble import Ensemble
from sapwood.model.predict.node_index import NodeIndex


def node_cover(ensemble: Ensemble, kind: str = "weight") -> np.ndarray:
    """Return the weight of each node by which expectations are taken: ``weight``, ``count`` or ``hessian``.

    Trees without weights have counts instead, and without counts hessians.
    """
    cover = _statistic(ensemble, kind)
    for other in ("count", "hessian"):
        is_empty = ~(cover[ensemble.tree_start[:-1]] > 0.0) if ensemble.n_trees else np.empty(0, bool)
        if is_empty.any():
            cover = np.where(is_empty[ensemble.tree_of_node()], _statistic(ensemble, other), cover)
    return np.ascontiguousarray(cover)


def _statistic(ensemble: Ensemble, kind: str) -> np.ndarray:
    values = np.asarray(getattr(ensemble, kind), dtype=np.float64)
    return values if values.ndim == 1 else values.sum(axis=1)


def subtree_means(nodes: NodeIndex, cover: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the mean of the leaf values below each node (nodes, width), weighted by cover at every split."""
    means = np.array(values)
    for level in reversed(nodes.levels):
        left = nodes.left[level]
        fraction = left_fractions(cover[left], cover[left + 1])[:, None]
        means[level] = fraction * means[left] + (1.0 - fraction) * means[left + 1]
    return means


def left_fractions(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the fraction of the cover of two siblings that the left one has; one half if both have none."""
    total = left + right
    return np.divide(left, total, out=np.full(len(total), 0.5), where=total > 0.0)


def expected_values(nodes: NodeIndex, cover: np.ndarray) -> np.ndarray:
    """Return the mean of all trees (outputs,), weighted by cover at every split."""
    ensemble, coefficients = nodes.ensemble, nodes.ensemble.leaf_coefficients
    means = subtree_means(nodes, cover, ensemble.value if coefficients is None else coefficients.intercept[:, None])
    totals = np.zeros(ensemble.n_outputs)
    for root, output in zip(ensemble.tree_start[:-1], ensemble.tree_output, strict=True):
        totals[output : output + ensemble.width] += means[root]
    return totals
