"""Monotone constraints: bounds on the values of the leaves below a split."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import LEAF_LOWER, LEAF_UPPER
from sapwood.kernels.split.gain import bounded_value
from sapwood.native.runtime.kernel import kernel


@kernel()
def midpoint(left, right):
    """Return the bound between the values of the two children of a monotone split."""
    return 0.5 * left + 0.5 * right


@kernel()
def set_child_bounds(leaf, sums, bounds, direction, params, scale, leaves):
    """Write the bounds of the values of the children of a leaf: its own, and the midpoint if the split is monotone.

    ``sums`` holds those of the left and of the right child, ``bounds`` takes the lower and upper bound of each.
    ``direction`` is 1 if values must not decrease to the right, -1 if they must not increase, 0 without constraint.
    """
    lower = leaves.floats[leaf, LEAF_LOWER]
    upper = leaves.floats[leaf, LEAF_UPPER]
    for child in range(2):
        bounds[2 * child] = lower
        bounds[2 * child + 1] = upper
    if direction != 0:
        n_planes = sums.shape[0] // 2
        left = bounded_value(sums[:n_planes], 0, lower, upper, params, scale)
        right = bounded_value(sums[n_planes:], 0, lower, upper, params, scale)
        low_child = 0 if direction > 0 else 1
        bounds[2 * low_child + 1] = midpoint(left, right)
        bounds[2 * (1 - low_child)] = midpoint(left, right)


@kernel()
def breaks_monotone(left, right, direction, lower, upper, params, scale):
    """Return whether the values of two children with these sums differ against the direction of their split."""
    left_value = bounded_value(left, 0, lower, upper, params, scale)
    right_value = bounded_value(right, 0, lower, upper, params, scale)
    return np.float64(direction) * (right_value - left_value) < 0.0
