"""Convert between fixed-point integers and floats, by additions only where loops are to be vectorised."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

LOW_HALF = np.int64(0xFFFFFFFF)
# An integer below 2^52 or-ed into these bits is the float 2^52 + integer.
FLOAT_BITS = np.uint64(0x4330000000000000)
HIGH_BIAS = np.uint64(1 << 63)
HIGH_OFFSET = 2.0**52 + 2.0**31
LOW_OFFSET = 2.0**52
TWO_32 = 2.0**32
# Added to a float below 2^51, it leaves the integer part in the low bits.
ROUNDER = 2.0**52 + 2.0**51
ROUNDER_BITS = np.int64(0x4338000000000000)


@kernel()
def gradient_sum(sums, k, wide, scale):
    """Return the gradient sum of output k from quantised sums."""
    if wide != 0:
        return np.float64(sums[2 * k]) / scale[k, 0]
    return np.float64(sums[k] >> np.int64(32)) / scale[k, 0]


@kernel()
def quantised_hessian(sums, k, wide):
    """Return the quantised hessian sum of output k."""
    if wide != 0:
        return sums[2 * k + 1]
    return sums[k] & LOW_HALF


@kernel()
def hessian_sum(sums, k, wide, scale):
    """Return the hessian sum of output k from quantised sums."""
    return np.float64(quantised_hessian(sums, k, wide)) / scale[k, 1]


@kernel()
def high_half(packed):
    """Return the signed high half of packed sums as a float."""
    bits = ((np.uint64(packed) + HIGH_BIAS) >> np.uint64(32)) | FLOAT_BITS
    return bits_float(np.int64(bits)) - HIGH_OFFSET


@kernel()
def low_half(packed):
    """Return the unsigned low half of packed sums as a float."""
    return bits_float(np.int64((np.uint64(packed) & np.uint64(0xFFFFFFFF)) | FLOAT_BITS)) - LOW_OFFSET


@kernel()
def int_to_float(value):
    """Return the float nearest to an integer, as a conversion does."""
    return high_half(value) * TWO_32 + low_half(value)


@kernel()
def floor_to_int(x):
    """Return the largest integer at most x, for |x| < 2^51."""
    return float_bits(np.floor(x) + ROUNDER) - ROUNDER_BITS


@kernel()
def round_to_int(x):
    """Return the integer nearest to x, ties to even, for |x| < 2^51."""
    return float_bits(x + ROUNDER) - ROUNDER_BITS
