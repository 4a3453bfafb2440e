"""Prediction intervals: bounds of each row, moved so that they cover the intended fraction of the targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.model.tree import frozen_array
from sapwood.params.validators import is_number

if TYPE_CHECKING:
    from sapwood.data.tables.table import Table
    from sapwood.distributed.row_order import RowOrder
    from sapwood.model.model import Model

N_POINTS = 999


@dataclass(frozen=True, eq=False)
class Intervals:
    """A model of a lower and an upper bound, and how far targets lie outside of them.

    ``excess`` has quantiles, ascending, of max(lower - y, y - upper) over rows that the bounds were not trained on.
    Moving both bounds by the quantile ``coverage`` of it makes intervals that cover that fraction of new rows of the
    same distribution (conformalised quantile regression). The unit of the excess is half the width of the interval
    itself, at least ``min_unit``, so that wide intervals are moved further than narrow ones; if ``min_unit`` is None,
    it is 1 for all rows.

    References
    ----------
    Romano, Patterson and Candès (2019), Conformalized quantile regression.
    Sesia and Candès (2020), A comparison of some conformal quantile regression methods.
    """

    model: Model
    excess: np.ndarray
    min_unit: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "excess", frozen_array(self.excess, np.float64))

    @classmethod
    def calibrate(cls, model: Model, excess: np.ndarray, order: RowOrder, min_unit: float | None = None) -> Intervals:
        """Return intervals from the excess of rows over the bounds by models trained without them, and its order."""
        n_points = min(N_POINTS, order.n_rows)
        ranks = [rank_of(point / (n_points + 1), order.n_rows) for point in range(1, n_points + 1)]
        return cls(model, order.values_at(excess, np.array(ranks) - 1), min_unit)

    def predict(self, table: Table, coverage: float, n_jobs: int | None = None) -> np.ndarray:
        """Return the lower and the upper bound of each row: (rows, 2)."""
        shift = self.shift(coverage)
        low, high = np.sort(self.model.predict_raw(table, n_jobs=n_jobs), axis=1).T
        outwards = shift * excess_unit(low, high, self.min_unit)
        # A negative shift may exceed half the width of a narrow interval.
        centre = 0.5 * (low + high)
        return np.column_stack([np.minimum(low - outwards, centre), np.maximum(high + outwards, centre)])

    def shift(self, coverage: float) -> float:
        """Return by how many units each bound is moved outwards; infinite if the rows are too few for the coverage."""
        if not (is_number(coverage) and 0.0 < coverage < 1.0):
            raise ParameterError(f"coverage must be a number between 0 and 1, such as 0.9, got {coverage!r}")
        rank = rank_of(float(coverage), len(self.excess))
        return float(self.excess[rank - 1]) if rank <= len(self.excess) else math.inf


def excess_unit(low: np.ndarray, high: np.ndarray, min_unit: float | None) -> np.ndarray:
    """Return the unit in which the excess of each row is measured, given its bounds (``Intervals``)."""
    return np.ones(len(low)) if min_unit is None else np.maximum(0.5 * (high - low), min_unit)


def rank_of(level: float, n: int) -> int:
    """Return the rank among n values, from 1, that a new one exceeds with a probability of at most 1 - level."""
    # 1e-9 keeps products such as 0.9 · 10 = 9 from being rounded up.
    return max(1, math.ceil(level * (n + 1) - 1e-9))


def no_intervals() -> ParameterError:
    """Return the error for a model that was trained without intervals."""
    return ParameterError(
        "the model has no prediction intervals: train it with intervals=True, or predict quantiles with "
        "objective=Quantile([0.05, 0.95])"
    )
