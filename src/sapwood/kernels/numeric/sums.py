"""Sums that do not depend on the order of their terms, because they add integers.

Terms are multiplied by a power of two chosen from the largest of them and split into two integers, 50 bits above the
point and 50 below. Chunks of 4,096 rows are summed in 64 bits, chunks among each other in Python's integers, so nothing
overflows and the result is the same for any number of threads and any order or partition of the rows; it is nearly
always the exact sum, correctly rounded.
"""

from __future__ import annotations

import math

import numpy as np

from sapwood.kernels.numeric.fixed_point import ROUNDER, round_to_int
from sapwood.native.runtime.kernel import Run, kernel, run_serial

CHUNK = 4096
BITS = 50
BELOW_POINT = float(2**BITS)


@kernel("f64[:], f64[:], f64[:,:]")
def bound_products(member, members, sync, values, weights, out):
    """Write the minimum and maximum of values * weights to ``out[c]`` for each chunk c; NaN if one is NaN."""
    n = values.shape[0]
    n_chunks = out.shape[0]
    for c in range(member * n_chunks // members, (member + 1) * n_chunks // members):
        stop = min(n, (c + 1) * CHUNK)
        low = np.inf
        high = -np.inf
        n_nan = np.int64(0)
        for i in range(c * CHUNK, stop):
            x = values[i] * weights[i]
            low = x if x < low else low
            high = x if x > high else high
            n_nan += np.int64(x != x)
        out[c, 0] = low if n_nan == 0 else np.nan
        out[c, 1] = high if n_nan == 0 else np.nan


@kernel("f64[:], f64[:], f64, i64[:,:]")
def sum_products(member, members, sync, values, weights, scale, out):
    """Write the sums of round(values * weights * ``scale``) and of the remainders * 2^50 to ``out[c]`` per chunk c."""
    n = values.shape[0]
    n_chunks = out.shape[0]
    for c in range(member * n_chunks // members, (member + 1) * n_chunks // members):
        stop = min(n, (c + 1) * CHUNK)
        whole = np.int64(0)
        fraction = np.int64(0)
        for i in range(c * CHUNK, stop):
            x = values[i] * weights[i] * scale
            whole += round_to_int(x)
            fraction += round_to_int((x - ((x + ROUNDER) - ROUNDER)) * BELOW_POINT)
        out[c, 0] = whole
        out[c, 1] = fraction


def fixed_sum(values: np.ndarray, weights: np.ndarray | None = None, run: Run = run_serial) -> float:
    """Return the sum of values * weights, independent of their order; ``run`` chooses the threads."""
    numerator, exponent = exact_sum(values, weights, run)
    return _scaled(numerator, exponent)


def fixed_mean(values: np.ndarray, weights: np.ndarray | None = None, run: Run = run_serial) -> float:
    """Return the weighted mean, independent of the order; NaN without weight. Equal values have themselves as mean."""
    numerator, exponent = exact_sum(values, weights, run)
    total, total_exponent = (len(values), 0) if weights is None else exact_sum(weights, None, run)
    if isinstance(numerator, float) or isinstance(total, float) or total == 0:
        return float(numerator) / float(total) if total else math.nan
    shift = exponent - total_exponent
    return numerator * 2 ** max(shift, 0) / (total * 2 ** max(-shift, 0))


def exact_sum(values: np.ndarray, weights: np.ndarray | None = None, run: Run = run_serial) -> tuple[int | float, int]:
    """Return the sum as (integer, exponent of two), or as an infinity or NaN if the terms have one."""
    values = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
    weights = np.ones_like(values) if weights is None else np.ascontiguousarray(weights, dtype=np.float64).reshape(-1)
    assert len(values) == len(weights)
    n_chunks = -(-len(values) // CHUNK)
    if n_chunks == 0:
        return 0, 0
    bounds = np.empty((n_chunks, 2))
    run(bound_products, values, weights, bounds)
    low, high = float(np.min(bounds)), float(np.max(bounds))
    if not math.isfinite(low - low) or not math.isfinite(high - high):
        return low + high if math.isinf(low) or math.isinf(high) else math.nan, 0
    shift = min(BITS - math.frexp(max(-low, high))[1], 1023)
    parts = np.empty((n_chunks, 2), dtype=np.int64)
    run(sum_products, values, weights, math.ldexp(1.0, shift), parts)
    whole, fraction = (sum(column) for column in parts.T.tolist())
    return whole * 2**BITS + fraction, -BITS - shift


def _scaled(numerator: int | float, exponent: int) -> float:
    if isinstance(numerator, float):
        return numerator
    try:
        return numerator * 2 ** max(exponent, 0) / 2 ** max(-exponent, 0)
    except OverflowError:
        return math.copysign(math.inf, numerator)
