"""Compare bounds with the targets of rows: interval scores, quantiles, and shifts of both bounds."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.row_order import RowOrder
from sapwood.distributed.workers import Workers
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.lazy_dataclass import dataclass
from sapwood.model.intervals import rank_of
from sapwood.objectives.base import mean_loss
from sapwood.objectives.losses.quantile import Quantile

# Fractions of the rows outside that may lie below the lower bound; the rest lies above the upper one.
TAIL_FRACTIONS = tuple(k / 10 for k in range(1, 10))


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Targets of rows that bounds are compared with, and the coverage that is intended.

    What is computed from them is that of the rows of all ``workers`` and does not depend on their order.
    """

    y: np.ndarray
    row_ids: np.ndarray
    coverage: float
    workers: Workers

    @property
    def outside(self) -> float:
        """Fraction of the targets that may lie outside."""
        return 1.0 - self.coverage

    def order_of(self, values: np.ndarray) -> RowOrder:
        """Return the order of the rows by ascending values."""
        return RowOrder.of(values, self.row_ids, self.workers)

    def quantile(self, values: np.ndarray, level: float) -> float:
        """Return the value that a new row exceeds with a probability of at most 1 - level; at most the largest one."""
        order = self.order_of(values)
        rank = min(order.n_rows, rank_of(level, order.n_rows))
        return float(order.values_at(values, np.array([rank - 1]))[0])

    def mean(self, values: np.ndarray) -> float:
        """Return the mean over the rows."""
        return fixed_mean(values, workers=self.workers)

    def interval_score(self, bounds: np.ndarray) -> float:
        """Return the mean interval score of bounds (2, rows), which may be exchanged.

        It is the width, and 2 / outside times the distance of a target that lies outside: a multiple of the pinball
        loss of the two quantiles that the bounds stand for.

        References
        ----------
        Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, section 6.2.
        """
        pinball = Quantile([self.outside / 2.0, 1.0 - self.outside / 2.0])
        scores = np.ascontiguousarray(np.sort(bounds, axis=0))
        return 4.0 * mean_loss(pinball, self.y, scores, workers=self.workers) / self.outside


def balance_tails(bounds: np.ndarray, rows: CalibrationRows) -> tuple[float, float]:
    """Return how far the lower and the upper bound are to be moved outwards, so that they cover the targets.

    Several pairs of shifts do; that with the lowest sum of mean width and interval score is taken. If targets are
    skewed, it leaves more of them outside on the side of the long tail than on the other, and is narrower.
    """
    low, high = np.sort(bounds, axis=0)
    below, above, width = low - rows.y, rows.y - high, rows.mean(high - low)
    best, best_loss = (0.0, 0.0), np.inf
    for fraction in TAIL_FRACTIONS:
        lower = rows.quantile(below, 1.0 - fraction * rows.outside)
        upper = rows.quantile(np.where(below > lower, np.inf, above), rows.coverage)
        if upper == np.inf:
            continue
        loss = width + lower + upper + rows.interval_score(np.stack([low - lower, high + upper]))
        if loss < best_loss:
            best, best_loss = (lower, upper), loss
    return best
