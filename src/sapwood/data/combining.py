"""Choose which category columns to cross: those whose crossed levels tell most of the target.

Larger crossings grow out of the best smaller ones. A crossing is judged by its ordered statistic, taken for a
prediction of the target: every row is predicted by earlier rows alone, so that many rare levels are no advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.data.cooking import Crossed, Ingredients
from sapwood.encodings import Ordered
from sapwood.kernels.target_stats import ordered_statistics

# Values of all crossings of all rows at most: 8 bytes each while they are made, 2 afterwards.
MOST_VALUES = 2**26


@dataclass(frozen=True)
class Limits:
    """How many columns are crossed at most, and how many crossings are kept."""

    n_crossed: int
    n_kept: int

    def fitting(self, n_rows: int, n_lines: int) -> int:
        """How many crossings fit into memory, each with so many columns."""
        return max(0, min(self.n_kept, MOST_VALUES // max(1, n_rows * n_lines)))


def choose_crossings(features: Sequence[int], limits: Limits, n_lines: int, stuff: Ingredients) -> list[Crossed]:
    """The crossings of these categories that tell most, in the order of their columns."""
    n_rows = len(stuff.response.weights)
    n_kept = limits.fitting(n_rows, n_lines)
    if n_kept == 0 or len(features) < 2:
        return []
    order = stuff.orders[0] if len(stuff.orders) else np.arange(n_rows, dtype=np.uint32)
    alone = [Crossed.of((f,), stuff) for f in features]
    sizes = {one.sources: int(np.count_nonzero(np.bincount(one.codes))) for one in alone}
    judged = {one.sources: _error(one, order, stuff) for one in alone}
    best: list[tuple[int, ...]] = []
    made: dict[tuple[int, ...], Crossed] = {}
    grown = [one.sources for one in alone]
    for _ in range(1, min(limits.n_crossed, len(features))):
        wider = sorted({tuple(sorted((*sources, f))) for sources in grown for f in features if f not in sources})
        grown = []
        for sources in wider:
            crossed = Crossed.of(sources, stuff)
            sizes[sources] = crossed.n_codes - 1
            if _is_new(sources, sizes):
                judged[sources], made[sources] = _error(crossed, order, stuff), crossed
                grown.append(sources)
            if len(made) > 2 * n_kept:
                made = {one: made[one] for one in sorted(made, key=lambda one: (judged[one], one))[:n_kept]}
        grown = sorted(grown, key=lambda sources: (judged[sources], sources))[:n_kept]
        best = sorted([*best, *grown], key=lambda sources: (judged[sources], sources))[:n_kept]
    return [made[sources] for sources in sorted(best, key=lambda sources: (len(sources), sources))]


def _is_new(sources: tuple[int, ...], sizes: dict[tuple[int, ...], int]) -> bool:
    """Whether a crossing divides the rows further than all that it is made of by leaving out one column."""
    parts = [tuple(f for f in sources if f != left_out) for left_out in sources]
    return all(sizes.get(part, 0) < sizes[sources] for part in parts)


def _error(crossed: Crossed, order: np.ndarray, stuff: Ingredients) -> float:
    """The mean squared error of the ordered statistic as a prediction, all targets together."""
    response = stuff.response
    encoding = Ordered()
    priors = response.priors(encoding.priors)
    out = np.empty((1, priors.size, len(crossed.codes)))
    sums = np.empty((crossed.n_codes, response.n_targets + 1), dtype=np.int64)
    start = np.array([0, crossed.n_codes], dtype=np.int64)
    stuff.run(
        ordered_statistics, crossed.codes[None, :], order, response.amounts, response.weights, start, sums,
        response.units, priors, encoding.prior_weight, out,
    )  # fmt: skip
    weight = response.weights * response.units[-1]
    error = 0.0
    for k in range(response.n_targets):
        # weight * (statistic - y)^2 without the constant weight * y^2
        error += float(np.sum(weight * out[0, k] ** 2 - 2.0 * out[0, k] * response.amounts[k] * response.units[k]))
    return error
