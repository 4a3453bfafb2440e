"""From integers to numbers and back, by additions alone where loops are to become vector code."""

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
def gradient_sum(sums, k, wide, quantum):
    """G of output k from quantised sums."""
    if wide != 0:
        return np.float64(sums[2 * k]) / quantum[k, 0]
    return np.float64(sums[k] >> np.int64(32)) / quantum[k, 0]


@kernel()
def hessian_steps(sums, k, wide):
    """The quantised H of output k."""
    if wide != 0:
        return sums[2 * k + 1]
    return sums[k] & LOW_HALF


@kernel()
def hessian_sum(sums, k, wide, quantum):
    """H of output k from quantised sums."""
    return np.float64(hessian_steps(sums, k, wide)) / quantum[k, 1]


@kernel()
def high_steps(packed):
    """The signed high half of packed sums as a float."""
    bits = ((np.uint64(packed) + HIGH_BIAS) >> np.uint64(32)) | FLOAT_BITS
    return bits_float(np.int64(bits)) - HIGH_OFFSET


@kernel()
def low_steps(packed):
    """The unsigned low half of packed sums as a float."""
    return bits_float(np.int64((np.uint64(packed) & np.uint64(0xFFFFFFFF)) | FLOAT_BITS)) - LOW_OFFSET


@kernel()
def whole_steps(value):
    """An integer as a float, the nearest one, as a conversion gives it."""
    return high_steps(value) * TWO_32 + low_steps(value)


@kernel()
def whole_part(x):
    """The integer at or below x, for |x| < 2^51."""
    return float_bits(np.floor(x) + ROUNDER) - ROUNDER_BITS


@kernel()
def nearest(x):
    """The integer nearest to x, of two the even one, for |x| < 2^51."""
    return float_bits(x + ROUNDER) - ROUNDER_BITS
