"""Quantile leaves: leaf values that are weighted quantiles of residuals, for absolute and quantile loss."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.fixed_point import round_to_int
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel


@kernel()
def fixed_point_weight(weight, scale):
    """Return a weight as an integer, so that sums do not depend on the order of rows."""
    return round_to_int(weight * scale)


@kernel()
def weight_scale(largest, count):
    """Return a power of two with which ``count`` weights up to ``largest`` sum to less than 2^62."""
    bits = 50
    while bits > 1 and (np.int64(1) << (62 - bits)) < count:
        bits -= 1
    exponent = ((float_bits(largest) >> 52) & 0x7FF) - 1022
    power = min(max(bits - exponent, -1022), 1023)
    return bits_float((power + 1023) << 52)


@kernel()
def swap_residuals(values, order, i, j):
    """Exchange two residuals and their rows."""
    value = values[i]
    values[i] = values[j]
    values[j] = value
    row = order[i]
    order[i] = order[j]
    order[j] = row


@kernel()
def median_of_three(values, start, stop):
    """Return the median of the first, middle and last of ``values[start:stop]``."""
    a = values[start]
    b = values[(start + stop) // 2]
    c = values[stop - 1]
    low = min(a, b)
    high = max(a, b)
    return max(low, min(high, c))


@kernel()
def select_quantile(values, order, weight, start, stop, scale, target):
    """Return the smallest of ``values[start:stop]`` up to which the weights sum to at least ``target`` (and above 0).

    Quickselect: the wrong side of each pivot is dropped, so the work is a few passes, not a sort. Also returns the sum
    of weights up to and including the value.
    """
    low = start
    high = stop
    below = np.int64(0)
    while True:
        pivot = median_of_three(values, low, high)
        # values[low:less] < pivot, values[less:i] == pivot, values[more:high] > pivot
        less = low
        more = high
        i = low
        weight_less = np.int64(0)
        weight_equal = np.int64(0)
        while i < more:
            if values[i] < pivot:
                weight_less += fixed_point_weight(weight[order[i]], scale)
                swap_residuals(values, order, i, less)
                less += 1
                i += 1
            elif values[i] > pivot:
                more -= 1
                swap_residuals(values, order, i, more)
            else:
                weight_equal += fixed_point_weight(weight[order[i]], scale)
                i += 1
        if weight_less > 0 and np.float64(below + weight_less) >= target:
            high = less
        elif (weight_equal > 0 and np.float64(below + weight_less + weight_equal) >= target) or more == high:
            return pivot, below + weight_less + weight_equal
        else:
            below += weight_less + weight_equal
            low = more


@kernel()
def weighted_quantile(values, order, weight, start, stop, quantile):
    """Return the weighted quantile of ``values[start:stop]``; a median between two values is their mean."""
    largest = 0.0
    for i in range(start, stop):
        largest = max(largest, weight[order[i]])
    if not largest > 0.0:
        return 0.0
    scale = weight_scale(largest, stop - start)
    total = np.int64(0)
    for i in range(start, stop):
        total += fixed_point_weight(weight[order[i]], scale)
    found, weight_up_to = select_quantile(values, order, weight, start, stop, scale, quantile * np.float64(total))
    if quantile != 0.5 or weight_up_to + weight_up_to != total:
        return found
    next_value = np.inf
    for i in range(start, stop):
        if values[i] > found and values[i] < next_value and fixed_point_weight(weight[order[i]], scale) > 0:
            next_value = values[i]
    return 0.5 * found + 0.5 * next_value


@kernel("u32[:], i64[:], f64[:], f64[:], f64[:], f64, f64[:], u32[:], f64[:]")
def leaf_quantiles(member, members, sync, rows, leaf_start, y, scores, weight, quantile, work, order, out):
    """Write the weighted quantile of the residuals y - score of each leaf l to ``out[l]``.

    Its rows are ``rows[leaf_start[l]:leaf_start[l + 1]]``. The quantile is the smallest residual up to which the
    weights sum to at least ``quantile`` times the leaf's weight; a median that falls exactly between two residuals is
    their mean. It does not depend on the order of rows. A leaf without weight gets 0. The member in whose slice of rows
    a leaf begins computes it.
    """
    n = leaf_start[leaf_start.shape[0] - 1]
    first = np.int64(slice_start(member, members, n))
    last = np.int64(slice_start(member + 1, members, n))
    for leaf in range(leaf_start.shape[0] - 1):
        start = leaf_start[leaf]
        stop = leaf_start[leaf + 1]
        is_mine = start >= first and start < last
        if start == stop and member == 0:
            out[leaf] = 0.0
        if start < stop and is_mine:
            for i in range(start, stop):
                row = rows[i]
                work[i] = y[row] - scores[row]
                order[i] = row
            out[leaf] = weighted_quantile(work, order, weight, start, stop, quantile)
