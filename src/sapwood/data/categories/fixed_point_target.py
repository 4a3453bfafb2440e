"""The target as statistics of levels see it: integers in fixed point, whose sums do not depend on the order of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SUM_BITS = 61


@dataclass(frozen=True, eq=False)
class FixedPointTarget:
    """Weighted targets (targets, rows) and weights (rows,) as integers.

    ``units`` are what an integer of each target stands for, the weight's last; ``means`` are those of all rows. There
    is a target for every class of three or more; else one, the number or the truth of the second class.
    """

    amounts: np.ndarray
    weights: np.ndarray
    units: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None = None, n_classes: int = 0) -> FixedPointTarget:
        """See targets as integers; ``n_classes`` is above 2 where y holds the numbers of so many classes."""
        values = (y == np.arange(n_classes)[:, None]).astype(np.float64) if n_classes > 2 else y[None, :]
        if weight is not None:
            values = values * weight
        lines = [_fixed(line) for line in values]
        weights, unit = (np.ones(len(y), np.int64), 1.0) if weight is None else _fixed(weight)
        amounts = np.array([line for line, _ in lines])
        units = np.array([*(u for _, u in lines), unit])
        total = float(weights.sum()) * unit
        means = np.array([float(line.sum()) * u / total for line, u in lines])
        return cls(amounts, weights, units, means)

    @property
    def n_targets(self) -> int:
        """The number of statistics per level."""
        return len(self.amounts)

    def priors(self, given: tuple[float | None, ...]) -> np.ndarray:
        """The priors of each target: (targets, priors); None is the mean."""
        return np.array([[mean if p is None else float(p) for p in given] for mean in self.means])


def _fixed(values: np.ndarray) -> tuple[np.ndarray, float]:
    """The values as integers of which any sum fits 64 bits, and what one stands for: a power of two."""
    largest = float(np.abs(values).max(initial=0.0)) * max(1, len(values))
    if largest == 0.0:
        return np.zeros(len(values), np.int64), 1.0
    shift = min(max(SUM_BITS - math.frexp(largest)[1], -1000), 1000)
    return np.rint(np.ldexp(values, shift)).astype(np.int64), math.ldexp(1.0, -shift)
