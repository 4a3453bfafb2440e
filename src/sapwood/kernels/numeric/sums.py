"""Sums that do not depend on the order of their terms, because they add integers.

Terms are multiplied by a power of two chosen from the largest of them and split into two integers, 50 bits above the
point and 50 below. Chunks of 4,096 rows are summed in 64 bits, chunks among each other in Python's integers, so nothing
overflows and the result is the same for any number of threads and any order or partition of the rows; it is nearly
always the exact sum, correctly rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sapwood.kernels.numeric.fixed_point import ROUNDER, round_to_int
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import Run, kernel, run_serial

CHUNK = 4096
MAX_FEW = 4 * CHUNK  # terms that one thread sums in a single call
BITS = 50
BELOW_POINT = float(2**BITS)
UPPER_BITS = 40
LOWER = (1 << UPPER_BITS) - 1
ONE = np.ones(1)  # the weight of all terms
ExactSum = tuple[int | float, int]  # an integer and the exponent of two that it is multiplied by; infinity or NaN


@kernel()
def bound_chunks(first, last, values, weights, out):
    """Write the minimum and maximum of values * weights to ``out[c]`` for some chunks c; NaN if one is NaN."""
    n = values.shape[0]
    step = 1 if weights.shape[0] == n else 0  # a single weight is that of all
    for c in range(first, last):
        stop = min(n, (c + 1) * CHUNK)
        low = np.inf
        high = -np.inf
        n_nan = np.int64(0)
        for i in range(c * CHUNK, stop):
            x = values[i] * weights[i * step]
            low = x if x < low else low
            high = x if x > high else high
            n_nan += np.int64(x != x)
        out[c, 0] = low if n_nan == 0 else np.nan
        out[c, 1] = high if n_nan == 0 else np.nan


@kernel()
def sum_chunks(first, last, values, weights, scale, out):
    """Write the sums of round(values * weights * ``scale``) and of the remainders * 2^50 to ``out[c]`` per chunk c."""
    n = values.shape[0]
    step = 1 if weights.shape[0] == n else 0
    for c in range(first, last):
        stop = min(n, (c + 1) * CHUNK)
        whole = np.int64(0)
        fraction = np.int64(0)
        for i in range(c * CHUNK, stop):
            x = values[i] * weights[i * step] * scale
            whole += round_to_int(x)
            fraction += round_to_int((x - ((x + ROUNDER) - ROUNDER)) * BELOW_POINT)
        out[c, 0] = whole
        out[c, 1] = fraction


@kernel("f64[:], f64[:], f64[:,:]")
def bound_products(member, members, sync, values, weights, out):
    """Write the minimum and maximum of values * weights to ``out[c]`` for each chunk c; NaN if one is NaN."""
    n_chunks = out.shape[0]
    bound_chunks(member * n_chunks // members, (member + 1) * n_chunks // members, values, weights, out)


@kernel("f64[:], f64[:], f64, i64[:,:]")
def sum_products(member, members, sync, values, weights, scale, out):
    """Write the sums of round(values * weights * ``scale``) and of the remainders * 2^50 to ``out[c]`` per chunk c."""
    n_chunks = out.shape[0]
    sum_chunks(member * n_chunks // members, (member + 1) * n_chunks // members, values, weights, scale, out)


@kernel("f64[:], f64[:], f64[:,:], i64[:,:]")
def sum_few_products(values, weights, bounds, out):
    """Do what ``bound_products`` and ``sum_products`` do, with a scale for these bounds, if all terms are finite.

    The last row of ``out`` is whether they are, and the exponent of the scale.
    """
    n_chunks = bounds.shape[0]
    bound_chunks(0, n_chunks, values, weights, bounds)
    largest = 0.0
    is_finite = True
    for c in range(n_chunks):
        is_finite = is_finite and bounds[c, 0] > -np.inf and bounds[c, 1] < np.inf
        largest = max(largest, max(-bounds[c, 0], bounds[c, 1]))
    out[n_chunks, 0] = np.int64(is_finite)
    if is_finite:
        shift = scale_exponent(largest)
        out[n_chunks, 1] = shift
        sum_chunks(0, n_chunks, values, weights, bits_float((shift + 1023) << 52), out)


@kernel()
def scale_exponent(largest):
    """Return the exponent of the power of two that moves the largest term just below 2^50; at most 1023."""
    biased = (float_bits(largest) >> 52) & 0x7FF
    exponent = biased - 1022 if largest > 0.0 else np.int64(0)
    return min(np.int64(BITS) - exponent, np.int64(1023))


class RowReducer(Protocol):
    """Combines arrays of the workers among which rows are divided: ``Workers`` of a distributed fit."""

    @property
    def splits_rows(self) -> bool:
        """Whether each worker has rows of its own; else nothing is combined."""

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of integers over all workers."""

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maxima over all workers."""


def fixed_sum(
    values: np.ndarray, weights: np.ndarray | None = None, run: Run = run_serial, workers: RowReducer | None = None
) -> float:
    """Return the sum of values * weights, independent of their order; ``run`` chooses the threads.

    With ``workers`` it is that of the rows of all of them.
    """
    return fixed_sums([(values, weights)], run, workers)[0]


def fixed_sums(
    terms: Sequence[tuple[np.ndarray, np.ndarray | None]], run: Run = run_serial, workers: RowReducer | None = None
) -> list[float]:
    """Return the sum of values * weights of each pair of arrays; workers exchange what all of them need at once."""
    found, _ = _exact_sums(terms, run, workers)
    return [_scaled(*one) for one in found]


def fixed_mean(
    values: np.ndarray, weights: np.ndarray | None = None, run: Run = run_serial, workers: RowReducer | None = None
) -> float:
    """Return the weighted mean, independent of the order; NaN without weight. Equal values have themselves as mean.

    With ``workers`` it is that of the rows of all of them.
    """
    terms = [(values, weights)] if weights is None else [(values, weights), (weights, None)]
    [numerator, *of_weights], n_rows = _exact_sums(terms, run, workers)
    [total] = of_weights or [(n_rows, 0)]
    return _ratio(numerator, total)


def fixed_fractions(
    weights: np.ndarray, parts: Sequence[np.ndarray], run: Run = run_serial, workers: RowReducer | None = None
) -> list[float]:
    """Return the sum of the weights in each part, divided by the sum of all ``weights``; NaN without weight."""
    [total, *sums], _ = _exact_sums([(weights, None), *((part, None) for part in parts)], run, workers)
    return [_ratio(one, total) for one in sums]


def _exact_sums(
    terms: Sequence[tuple[np.ndarray, np.ndarray | None]], run: Run, workers: RowReducer | None
) -> tuple[list[ExactSum], int]:
    """Return the sum of each product, and the number of rows of the first one; two exchanges serve them all."""
    products = [_as_product(*one) for one in terms]
    n_rows = len(products[0][0])
    if workers is None or not workers.splits_rows:
        return [_exact_sum(*one, run) for one in products], n_rows
    bounds = workers.max(np.array([_bounds(*one, run) for one in products])).tolist()
    shifts = [_shift(*bound) for bound in bounds]
    parts = [
        part
        for product, shift in zip(products, shifts, strict=True)
        for part in (_sum_parts(*product, shift, run) if shift is not None else (0, 0))
    ]
    # Sums of all workers may have more than 64 bits, so that upper and lower bits are added up on their own.
    split = [bits for part in parts for bits in (part >> UPPER_BITS, part & LOWER)]
    *added, n_rows = workers.sum(np.array([*split, n_rows], dtype=np.int64)).tolist()
    totals = [(upper << UPPER_BITS) + lower for upper, lower in zip(added[::2], added[1::2], strict=True)]
    joined = zip(totals[::2], totals[1::2], shifts, bounds, strict=True)
    return [
        _without_sum(*bound) if shift is None else _joined(whole, fraction, shift)
        for whole, fraction, shift, bound in joined
    ], n_rows


def _exact_sum(values: np.ndarray, weights: np.ndarray, run: Run) -> ExactSum:
    """Return the sum of the products of arrays."""
    if 0 < len(values) <= MAX_FEW:
        n_chunks = -(-len(values) // CHUNK)
        few_bounds, parts = np.empty((n_chunks, 2)), np.empty((n_chunks + 1, 2), dtype=np.int64)
        sum_few_products(values, weights, few_bounds, parts)
        *chunks, (is_finite, shift_of_few) = parts.tolist()
        if is_finite:
            return _joined(sum(one[0] for one in chunks), sum(one[1] for one in chunks), shift_of_few)
        return _without_sum(-float(np.min(few_bounds)), float(np.max(few_bounds)))
    bounds = _bounds(values, weights, run)
    shift = _shift(*bounds)
    return _without_sum(*bounds) if shift is None else _joined(*_sum_parts(values, weights, shift, run), shift)


def _as_product(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    values = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
    if weights is None:
        return values, ONE
    weights = np.ascontiguousarray(weights, dtype=np.float64).reshape(-1)
    assert len(values) == len(weights)
    return values, weights


def _bounds(values: np.ndarray, weights: np.ndarray, run: Run) -> tuple[float, float]:
    """Return minus the minimum and the maximum of the terms: minus infinity, both, without terms."""
    if len(values) == 0:
        return -math.inf, -math.inf
    bounds = np.empty((-(-len(values) // CHUNK), 2))
    run(bound_products, values, weights, bounds)
    return -float(np.min(bounds)), float(np.max(bounds))


def _shift(negative_low: float, high: float) -> int | None:
    """Return the exponent of the power of two that terms are multiplied by; None if their sum is not added up."""
    largest = max(negative_low, high)
    is_finite = math.isfinite(negative_low) and math.isfinite(high)
    return min(BITS - math.frexp(largest)[1], 1023) if is_finite else None


def _without_sum(negative_low: float, high: float) -> ExactSum:
    """Return the sum of terms that are infinite or NaN, or of none."""
    if negative_low == high == -math.inf:
        return 0, 0
    return high - negative_low if math.isinf(negative_low) or math.isinf(high) else math.nan, 0


def _sum_parts(values: np.ndarray, weights: np.ndarray, shift: int, run: Run) -> tuple[int, int]:
    """Return the sums of the integers above and below the point."""
    parts = np.empty((-(-len(values) // CHUNK), 2), dtype=np.int64)
    if len(parts):
        run(sum_products, values, weights, math.ldexp(1.0, shift), parts)
    whole, fraction = (sum(column) for column in parts.T.tolist())
    return whole, fraction


def _joined(whole: int, fraction: int, shift: int) -> ExactSum:
    return whole * 2**BITS + fraction, -BITS - shift


def _ratio(numerator: ExactSum, denominator: ExactSum) -> float:
    """Return the quotient of two sums, correctly rounded; NaN if the second is 0."""
    (above, exponent), (below, exponent_below) = numerator, denominator
    if isinstance(above, float) or isinstance(below, float) or below == 0:
        return float(above) / float(below) if below else math.nan
    shift = exponent - exponent_below
    return above * 2 ** max(shift, 0) / (below * 2 ** max(-shift, 0))


def _scaled(numerator: int | float, exponent: int) -> float:
    if isinstance(numerator, float):
        return numerator
    try:
        return numerator * 2 ** max(exponent, 0) / 2 ** max(-exponent, 0)
    except OverflowError:
        return math.copysign(math.inf, numerator)
