"""Quantise gradient pairs to integers; docs/decisions/0002-integer-histograms.md says why."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.gradient_scales import (
    MIN_CONTIGUOUS_ROWS,
    add_up,
    add_up_contiguous,
    find_max,
    find_max_contiguous,
    set_safe_scales,
    set_scales,
)
from sapwood.kernels.histogram.multi_output import interleave_planes
from sapwood.kernels.layout import STATUS
from sapwood.kernels.numeric.fixed_point import floor_to_int, low_half
from sapwood.kernels.numeric.random import ROUNDING, draw, stream_key
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

TO_UNIT = 2.0**-32  # makes 32 random bits a number below 1
# Rows whose integers stay in the cache until they are interleaved.
BLOCK = 512
ONE, TWO = np.uint64(1), np.uint64(2)
OUTPUT_KEY_STEP = np.uint64(0xD1342543DE82EF95)


@kernel()
def round_wide(pairs, weight, rows, start, stop, scale, planes, out):
    """Quantise the pairs of some rows to two planes, rounded to the nearest; extend the range of hessians ``out``."""
    min_h = out[0]
    max_h = out[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = rows[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        q_h = np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale[1]))
        planes[0, row] = np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row)]) * scale[0]))
        planes[1, row] = q_h
        min_h = min(min_h, q_h)
        max_h = max(max_h, q_h)
    out[0] = min_h
    out[1] = max_h


@kernel()
def round_packed(pairs, weight, ids, rows, start, stop, scale, key, plane, out):
    """Quantise the pairs of some rows to one packed plane by stochastic rounding; extend the range of hessians ``out``.

    A value is rounded up with a probability equal to its fraction, so that sums are unbiased.
    """
    min_h = out[0]
    max_h = out[1]
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = rows[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        bits = draw(key, ids[row] if ids.shape[0] > 0 else np.uint64(row))
        g = w * np.float64(pairs[TWO * np.uint64(row)]) * scale_g + np.float64(bits & np.uint64(0xFFFFFFFF)) * TO_UNIT
        h = w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale_h + np.float64(bits >> np.uint64(32)) * TO_UNIT
        q_h = np.int64(np.floor(h))
        plane[row] = (np.int64(np.floor(g)) << np.int64(32)) + q_h
        min_h = min(min_h, q_h)
        max_h = max(max_h, q_h)
    out[0] = min_h
    out[1] = max_h


@kernel(noinline=True)
def round_packed_contiguous(pairs, weight, ids, start, stop, scale, key, plane, out):
    """Do ``round_packed`` for contiguous rows."""
    min_h = out[0]
    max_h = out[1]
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        bits = draw(key, ids[i] if ids.shape[0] > 0 else i)
        g = w * np.float64(pairs[TWO * i]) * scale_g + low_half(bits) * TO_UNIT
        h = w * np.float64(pairs[TWO * i + ONE]) * scale_h + low_half(bits >> np.uint64(32)) * TO_UNIT
        q_h = floor_to_int(h)
        plane[i] = (floor_to_int(g) << np.int64(32)) + q_h
        min_h = min(min_h, q_h)
        max_h = max(max_h, q_h)
    out[0] = min_h
    out[1] = max_h


@kernel()
def merge_hessian_ranges(members, scales, scratch):
    """Merge the members' ranges of quantised hessians."""
    for k in range(scales.exact.shape[0]):
        min_h = scratch.ints[0, 2 * k]
        max_h = scratch.ints[0, 2 * k + 1]
        for t in range(1, members):
            min_h = min(min_h, scratch.ints[t, 2 * k])
            max_h = max(max_h, scratch.ints[t, 2 * k + 1])
        scales.hessian_range[k, 0] = min_h
        scales.hessian_range[k, 1] = max_h


@kernel()
def reset_range(out):
    """Start with an empty range of hessians."""
    out[0] = 0x7FFFFFFFFFFFFFFF
    out[1] = 0


@kernel()
def round_rows(partition, gradients, start, stop, wide, is_contiguous, random_key, scale, ranges):
    """Quantise all outputs of some rows, and extend the ranges of hessians."""
    key = stream_key(random_key.seed, ROUNDING, random_key.round)
    rows = partition.rows
    weight = gradients.weight
    for k in range(gradients.pairs.shape[0]):
        pairs = gradients.pairs[k]
        out = ranges[2 * k : 2 * k + 2]
        output_key = key + np.uint64(k) * OUTPUT_KEY_STEP
        if wide != 0:
            round_wide(pairs, weight, rows, start, stop, scale[k], partition.pairs[2 * k : 2 * k + 2], out)
        elif is_contiguous:
            round_packed_contiguous(
                pairs, weight, gradients.row_ids, start, stop, scale[k], output_key, partition.pairs[k], out
            )
        else:
            round_packed(
                pairs, weight, gradients.row_ids, rows, start, stop, scale[k], output_key, partition.pairs[k], out
            )


@kernel()
def number_rows(rows, n_rows, start, stop):
    """Write 0, 1, 2 ... to ``rows`` where the tree has all rows; else they are filled already."""
    if rows.shape[0] == n_rows:
        for i in range(np.uint64(start), np.uint64(stop)):
            rows[i] = np.uint32(i)


@kernel()
def are_contiguous(partition, gradients):
    """Return whether a tree has all rows in order, so that row numbers need not be looked up, and many of them."""
    n = partition.rows.shape[0]
    return 2 * n == gradients.pairs.shape[1] and n >= MIN_CONTIGUOUS_ROWS


@kernel()
def find_max_pairs(partition, gradients, start, stop, max_pairs, info):
    """Write the largest |w g| and w h of some rows to ``max_pairs``, for each output."""
    number_rows(partition.rows, gradients.pairs.shape[1] // 2, start, stop)
    for k in range(gradients.pairs.shape[0]):
        out = max_pairs[2 * k : 2 * k + 2]
        if are_contiguous(partition, gradients):
            find_max_contiguous(gradients.pairs[k], gradients.weight, start, stop, out, info)
        else:
            find_max(gradients.pairs[k], gradients.weight, partition.rows, start, stop, out, info)


@kernel()
def add_up_pairs(partition, gradients, start, stop, exact, sums):
    """Write the sums of |w g| and w h of some rows, in fixed point and rounded up, to ``sums``, for each output."""
    for k in range(gradients.pairs.shape[0]):
        out = sums[2 * k : 2 * k + 2]
        if are_contiguous(partition, gradients):
            add_up_contiguous(gradients.pairs[k], gradients.weight, start, stop, exact[k], out)
        else:
            add_up(gradients.pairs[k], gradients.weight, partition.rows, start, stop, exact[k], out)


@kernel()
def round_pairs(partition, gradients, start, stop, wide, random_key, scale, ranges):
    """Quantise all outputs of some rows; ``ranges`` takes the range of hessians of each output."""
    for k in range(gradients.pairs.shape[0]):
        reset_range(ranges[2 * k : 2 * k + 2])
    has_lines = partition.pairs_by_row.shape[0] > 0
    is_contiguous = are_contiguous(partition, gradients)
    step = BLOCK if has_lines else max(1, stop - start)
    for a in range(start, stop, step):
        end = min(a + step, stop)
        round_rows(partition, gradients, a, end, wide, is_contiguous, random_key, scale, ranges)
        if has_lines:
            interleave_planes(partition.pairs, partition.rows, a, end, partition.pairs_by_row)


@kernel("RowPartition, Gradients, i64, RandomKey, Scales, Scratch, i64[:]")
def quantise(member, members, sync, partition, gradients, wide, random_key, scales, scratch, info):
    """Quantise the pairs of the rows of a tree, at the largest scales that cannot overflow."""
    n = partition.rows.shape[0]
    start = member * n // members
    stop = (member + 1) * n // members
    find_max_pairs(partition, gradients, start, stop, scratch.floats[member], info)
    if barrier(sync, members) != 0 or info[STATUS] != 0:
        return
    if member == 0:
        set_safe_scales(members, n, scales, scratch)
    if barrier(sync, members) != 0:
        return
    add_up_pairs(partition, gradients, start, stop, scales.exact, scratch.ints[member])
    if barrier(sync, members) != 0:
        return
    if member == 0:
        set_scales(members, n, wide, scales, scratch)
    if barrier(sync, members) != 0:
        return
    round_pairs(partition, gradients, start, stop, wide, random_key, scales.histogram, scratch.ints[member])
    if barrier(sync, members) != 0:
        return
    if member == 0:
        merge_hessian_ranges(members, scales, scratch)
