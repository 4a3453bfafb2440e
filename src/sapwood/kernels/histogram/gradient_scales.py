"""Find the scales at which gradient pairs are quantised: the largest powers of two at which no sum overflows.

docs/decisions/0002-integer-histograms.md has the proof.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import NOT_FINITE, STATUS
from sapwood.kernels.numeric.fixed_point import floor_to_int
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

# Sums in the two halves of a packed cell must stay below these; wide and exact sums below the third.
PACKED_GRADIENT_LIMIT, PACKED_HESSIAN_LIMIT, EXACT_LIMIT = 2.0**31, 2.0**32, 2.0**62
# Beyond this the score of a split, cubic in the sums of rows, could be infinite.
MAX_GRADIENT = 2.0**250
MIN_EXPONENT, MAX_EXPONENT = -1000, 1000
# With at least so many rows each one, at most 2^62 divided by their number, is below 2^51 (``floor_to_int``).
MIN_CONTIGUOUS_ROWS = 1 << 12
ONE, TWO = np.uint64(1), np.uint64(2)


@kernel()
def clamped_scale(exponent):
    """Return 2^exponent, the exponent clamped so that it and its inverse are finite."""
    e = min(max(exponent, MIN_EXPONENT), MAX_EXPONENT)
    return bits_float(np.int64(e + 1023) << np.int64(52))


@kernel()
def exponent_of(x):
    """Return the largest e with 2^e <= x, for positive x."""
    return ((float_bits(x) >> np.int64(52)) & np.int64(0x7FF)) - np.int64(1023)


@kernel()
def scale_for(limit, bound, n):
    """Return the largest power of two s with s * bound + n < limit; 1 when the bound is 0."""
    if bound <= 0.0:
        return 1.0
    ratio = (limit - np.float64(n) - 1.0) / bound
    return clamped_scale(exponent_of(ratio * (1.0 - 1e-15)))


@kernel(noinline=True)
def find_max_contiguous(pairs, weight, start, stop, out, info):
    """Do ``find_max`` for contiguous rows.

    Positive floats are ordered like the integers that have their bits; infinity and NaN come above all others, negative
    numbers below.
    """
    max_g = np.int64(0)
    max_h = np.int64(0)
    min_h = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        h = float_bits(w * np.float64(pairs[TWO * i + ONE]) + 0.0)
        max_g = max(max_g, float_bits(abs(w * np.float64(pairs[TWO * i]))))
        max_h = max(max_h, h)
        min_h = min(min_h, h)
    out[0] = bits_float(max_g)
    out[1] = bits_float(max_h)
    if min_h < 0 or not (out[0] <= MAX_GRADIENT and out[1] <= MAX_GRADIENT):
        info[STATUS] = NOT_FINITE


@kernel()
def find_max(pairs, weight, rows, start, stop, out, info):
    """Write the largest |w g| and w h of some rows to ``out``; set the status if one is not finite. One output."""
    max_g = 0.0
    max_h = 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        row = rows[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        g = abs(w * np.float64(pairs[TWO * np.uint64(row)]))
        h = w * np.float64(pairs[TWO * np.uint64(row) + ONE])
        if not (g <= MAX_GRADIENT and 0.0 <= h <= MAX_GRADIENT):
            info[STATUS] = NOT_FINITE
        max_g = max(max_g, g)
        max_h = max(max_h, h)
    out[0] = max_g
    out[1] = max_h


@kernel(noinline=True)
def add_up_contiguous(pairs, weight, start, stop, scale, out):
    """Do ``add_up`` for contiguous rows, enough of them that no term reaches 2^51."""
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        sum_g += floor_to_int(abs(w * np.float64(pairs[TWO * i])) * scale_g)
        sum_h += floor_to_int(w * np.float64(pairs[TWO * i + ONE]) * scale_h)
    out[0] = sum_g + (stop - start)
    out[1] = sum_h + (stop - start)


@kernel()
def add_up(pairs, weight, rows, start, stop, scale, out):
    """Write the sums of |w g| and w h of some rows, in fixed point and rounded up, to ``out``. One output."""
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = rows[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        sum_g += np.int64(abs(w * np.float64(pairs[TWO * np.uint64(row)])) * scale_g) + 1
        sum_h += np.int64(w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale_h) + 1
    out[0] = sum_g
    out[1] = sum_h


@kernel()
def set_safe_scales(members, n, scales, scratch):
    """Set the scales of exact sums, from the members' maxima, so that no sum of n rows can overflow."""
    for k in range(scales.exact.shape[0]):
        for j in range(2):
            max_value = 0.0
            for t in range(members):
                max_value = max(max_value, scratch.floats[t, 2 * k + j])
            scales.exact[k, j] = scale_for(EXACT_LIMIT, max_value * np.float64(n), 2 * n)


@kernel()
def set_scales(members, n, wide, scales, scratch):
    """Set the largest scales at which nothing overflows, from the members' sums."""
    for k in range(scales.exact.shape[0]):
        for j in range(2):
            total = np.int64(0)
            for t in range(members):
                total += scratch.ints[t, 2 * k + j]
            bound = np.float64(total) / scales.exact[k, j] * (1.0 + 1e-15)
            limit = EXACT_LIMIT
            if wide == 0:
                limit = PACKED_GRADIENT_LIMIT if j == 0 else PACKED_HESSIAN_LIMIT
            scales.histogram[k, j] = scale_for(limit, bound, n)
            scales.exact[k, j] = scale_for(EXACT_LIMIT, bound, n)


@kernel("f64, f64, i64, f64[:]")
def find_scale(limit, bound, n, out):
    """Write ``scale_for`` to ``out``, for callers in Python."""
    out[0] = scale_for(limit, bound, n)
