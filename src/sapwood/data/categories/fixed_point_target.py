"""The target as integers in fixed point, so that sums per category do not depend on the order of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.lazy_dataclass import dataclass

SUM_BITS = 61


@dataclass(frozen=True, eq=False)
class FixedPointTarget:
    """Weighted targets (targets, rows) and weights (rows,) as integers.

    ``units`` are the values of the integer 1 of each target, and of the weights last; ``means`` are the weighted means
    of the targets. There is one target per class for three or more classes, else one: the regression target, or 1 for
    rows of the second class.
    """

    weighted: np.ndarray
    weights: np.ndarray
    units: np.ndarray
    means: np.ndarray

    @classmethod
    def of(
        cls, y: np.ndarray, weight: np.ndarray | None = None, n_classes: int = 0, workers: Workers = LOCAL
    ) -> FixedPointTarget:  # fmt: skip
        """Convert targets to integers; ``n_classes`` is above 2 if y holds the class numbers of that many classes.

        Units and means are those of the rows of all ``workers``.
        """
        targets = (y == np.arange(n_classes)[:, None]).astype(np.float64) if n_classes > 2 else y[None, :]
        if weight is not None:
            targets = targets * weight
        columns = list(targets) if weight is None else [*targets, weight]
        largest = workers.max(np.array([np.abs(column).max(initial=0.0) for column in columns]))
        n_rows = workers.count_rows(len(y))
        converted = [
            _to_fixed_point(column, top, n_rows) for column, top in zip(columns, largest.tolist(), strict=True)
        ]
        if weight is None:
            converted.append((np.ones(len(y), np.int64), 1.0))
        *integers, weights = (column for column, _ in converted)
        units = np.array([unit for _, unit in converted])
        sums = workers.sum(np.array([column.sum() for column, _ in converted])).astype(np.float64) * units
        return cls(np.array(integers), weights, units, sums[:-1] / sums[-1])

    @property
    def n_targets(self) -> int:
        """Number of statistics per category."""
        return len(self.weighted)

    def priors(self, priors: Sequence[float | None]) -> np.ndarray:
        """Return the priors of each target (targets, priors), its mean for None."""
        return np.array([[mean if p is None else float(p) for p in priors] for mean in self.means])


def _to_fixed_point(values: np.ndarray, top: float, n_rows: int) -> tuple[np.ndarray, float]:
    """Return values as integers whose sums fit 64 bits, and the value of the integer 1, a power of two.

    ``top`` is the largest magnitude of the values of ``n_rows`` rows, of which these are some.
    """
    largest = top * max(1, n_rows)
    if largest == 0.0:
        return np.zeros(len(values), np.int64), 1.0
    shift = min(max(SUM_BITS - math.frexp(largest)[1], -1000), 1000)
    return np.rint(np.ldexp(values, shift)).astype(np.int64), math.ldexp(1.0, -shift)
