"""Means of numbers by category, by which numeric crosses centre them."""

from __future__ import annotations

import numpy as np

from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.numeric_cross import CENTRED, NumericCross
from sapwood.data.categories.transformer import TransformedTable
from sapwood.kernels.encode.target_statistics import sum_targets
from sapwood.native.runtime.kernel import Run

PRIOR_WEIGHT = 1.0  # rows of the overall mean that are added to those of a category


def centred_cross(number: int, category: int, table: TransformedTable, run: Run) -> NumericCross:
    """Return a number centred by its mean in each category; both are columns of the user's table."""
    values, codes, n_codes = table.number_and_codes(number, category)
    is_known = np.isfinite(values)
    target = FixedPointTarget.of(np.where(is_known, values, 0.0))
    sums = np.empty((n_codes, 2), dtype=np.int64)
    start, rows = np.array([0, n_codes], dtype=np.int64), np.flatnonzero(is_known).astype(np.uint32)
    run(sum_targets, codes[None, :], rows, target.weighted, target.weights, start, sums)
    totals, counts = sums[:, 0] * target.units[0], sums[:, 1].astype(np.float64)
    mean = float(target.weighted.sum()) * float(target.units[0]) / max(1, len(rows))
    return NumericCross((number, category), CENTRED, totals, counts, mean, PRIOR_WEIGHT)
