"""The best value of a leaf where that is a weighted quantile of its residuals."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.fixed_point import round_to_int
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel


@kernel()
def whole_weight(weight, scale):
    """A weight as an integer: sums of integers do not depend on the order of rows."""
    return round_to_int(weight * scale)


@kernel()
def weight_scale(largest, count):
    """The largest power of two (or less) with which ``count`` weights up to ``largest`` sum to below 2^62."""
    bits = 50
    while bits > 1 and (np.int64(1) << (62 - bits)) < count:
        bits -= 1
    exponent = ((float_bits(largest) >> 52) & 0x7FF) - 1022
    power = min(max(bits - exponent, -1022), 1023)
    return bits_float((power + 1023) << 52)


@kernel()
def swap(values, order, i, j):
    """Exchange two residuals and their rows."""
    value = values[i]
    values[i] = values[j]
    values[j] = value
    row = order[i]
    order[i] = order[j]
    order[j] = row


@kernel()
def middle_of(values, start, stop):
    """The middle one of the first, middle and last of ``values[start:stop]``."""
    a = values[start]
    b = values[(start + stop) // 2]
    c = values[stop - 1]
    low = min(a, b)
    high = max(a, b)
    return max(low, min(high, c))


@kernel()
def select_quantile(values, order, weight, start, stop, scale, target):
    """The smallest of ``values[start:stop]`` up to which the weights sum to at least ``target`` (and to more than 0).

    Selection by partition: what lies on the wrong side of a pivot is left out, so the work is a few passes, not a sort.
    The result is (value, its sum of weights up to and including it).
    """
    low = start
    high = stop
    below = np.int64(0)
    while True:
        pivot = middle_of(values, low, high)
        # values[low:less] < pivot, values[less:i] == pivot, values[more:high] > pivot
        less = low
        more = high
        i = low
        weight_less = np.int64(0)
        weight_equal = np.int64(0)
        while i < more:
            if values[i] < pivot:
                weight_less += whole_weight(weight[order[i]], scale)
                swap(values, order, i, less)
                less += 1
                i += 1
            elif values[i] > pivot:
                more -= 1
                swap(values, order, i, more)
            else:
                weight_equal += whole_weight(weight[order[i]], scale)
                i += 1
        if weight_less > 0 and np.float64(below + weight_less) >= target:
            high = less
        elif (weight_equal > 0 and np.float64(below + weight_less + weight_equal) >= target) or more == high:
            return pivot, below + weight_less + weight_equal
        else:
            below += weight_less + weight_equal
            low = more


@kernel()
def leaf_quantile(values, order, weight, start, stop, level):
    """The weighted quantile of ``values[start:stop]``; halfway to the next one where the median lies between two."""
    largest = 0.0
    for i in range(start, stop):
        largest = max(largest, weight[order[i]])
    if not largest > 0.0:
        return 0.0
    scale = weight_scale(largest, stop - start)
    total = np.int64(0)
    for i in range(start, stop):
        total += whole_weight(weight[order[i]], scale)
    found, upto = select_quantile(values, order, weight, start, stop, scale, level * np.float64(total))
    if level != 0.5 or upto + upto != total:
        return found
    following = np.inf
    for i in range(start, stop):
        if values[i] > found and values[i] < following and whole_weight(weight[order[i]], scale) > 0:
            following = values[i]
    return 0.5 * found + 0.5 * following


@kernel("u32[:], i64[:], f64[:], f64[:], f64[:], f64, f64[:], u32[:], f64[:]")
def renew_leaves(member, members, sync, rows, leaf_start, y, scores, weight, level, work, order, out):
    """Write the weighted quantile of y - score over each leaf to ``out``.

    Leaf l owns rows[leaf_start[l]:leaf_start[l + 1]].

    The quantile is the smallest residual up to which the weights sum to at least ``level`` of the leaf's weight; a
    median that falls exactly between two residuals is their mean. It depends on no order of rows. A leaf without weight
    gets 0. A leaf belongs to the member in whose share its first row lies.
    """
    n = leaf_start[leaf_start.shape[0] - 1]
    first = np.int64(slice_start(member, members, n))
    last = np.int64(slice_start(member + 1, members, n))
    for leaf in range(leaf_start.shape[0] - 1):
        start = leaf_start[leaf]
        stop = leaf_start[leaf + 1]
        mine = start >= first and start < last
        if start == stop and member == 0:
            out[leaf] = 0.0
        if start < stop and mine:
            for i in range(start, stop):
                row = rows[i]
                work[i] = y[row] - scores[row]
                order[i] = row
            out[leaf] = leaf_quantile(work, order, weight, start, stop, level)
