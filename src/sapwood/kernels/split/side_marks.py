"""Marks of splits, 1 or 0: whether both sides of a split are heavy enough, by loops that become vector code."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.fixed_point import int_to_float, low_half
from sapwood.native.runtime.kernel import kernel


@kernel(noinline=True)
def mark_packed_output(sums, n, total, min_h, unit_h, marks):
    """Clear the marks of splits with a side that is too light in one output, from packed sums."""
    for b in range(np.uint64(n)):
        h_left = low_half(sums[b]) * unit_h
        h_right = low_half(total - sums[b]) * unit_h
        marks[b] = marks[b] if (h_left >= min_h) & (h_right >= min_h) else np.int64(0)


@kernel(noinline=True)
def mark_wide_output(sums_h, n, total, min_h, unit_h, marks):
    """Clear the marks of splits with a side that is too light in one output, from hessian sums."""
    for b in range(np.uint64(n)):
        h_left = int_to_float(sums_h[b]) * unit_h
        h_right = int_to_float(total - sums_h[b]) * unit_h
        marks[b] = marks[b] if (h_left >= min_h) & (h_right >= min_h) else np.int64(0)
