"""From gradient pairs to integers; docs/decisions/0002-integer-histograms.md proves that nothing overflows."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.multi_output import interleave_planes
from sapwood.kernels.layout import NOT_FINITE, STATUS
from sapwood.kernels.numeric.fixed_point import floor_to_int, low_half
from sapwood.kernels.numeric.random import ROUNDING, draw, stream_key
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

# Sums in the two halves of a packed cell must stay below these; wide and exact sums below the third.
PACKED_GRADIENT_LIMIT, PACKED_HESSIAN_LIMIT, EXACT_LIMIT = 2.0**31, 2.0**32, 2.0**62
# Beyond this the score of a cut, cubic in the sums of rows, could be infinite.
MAX_GRADIENT = 2.0**250
MIN_EXPONENT, MAX_EXPONENT = -1000, 1000
TO_UNIT = 2.0**-32
# So many rows that, one being at most 2^62 over their number, all are below 2^51.
MIN_CONTIGUOUS_ROWS = 1 << 12
# Rows whose integers stay near until their lines are written.
BLOCK = 512
ONE, TWO = np.uint64(1), np.uint64(2)
OUTPUT_KEY_STEP = np.uint64(0xD1342543DE82EF95)


@kernel()
def clamped_scale(exponent):
    """2 to an integer, clamped to what is safely finite."""
    e = min(max(exponent, MIN_EXPONENT), MAX_EXPONENT)
    return bits_float(np.int64(e + 1023) << np.int64(52))


@kernel()
def exponent_of(x):
    """The largest e with 2^e <= x, for positive x."""
    return ((float_bits(x) >> np.int64(52)) & np.int64(0x7FF)) - np.int64(1023)


@kernel()
def scale_for(limit, bound, n):
    """The largest power of two s with s * bound + n < limit; 1 when the bound is 0."""
    if bound <= 0.0:
        return 1.0
    room = (limit - np.float64(n) - 1.0) / bound
    return clamped_scale(exponent_of(room * (1.0 - 1e-15)))


@kernel(noinline=True)
def find_max_contiguous(pairs, weight, start, stop, out, info):
    """``find_max`` where rows follow each other.

    Positive floats are ordered like the integers that have their bits; what is infinite, no number or negative is
    beyond the others at either end.
    """
    top_g = np.int64(0)
    top_h = np.int64(0)
    least_h = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        h = float_bits(w * np.float64(pairs[TWO * i + ONE]) + 0.0)
        top_g = max(top_g, float_bits(abs(w * np.float64(pairs[TWO * i]))))
        top_h = max(top_h, h)
        least_h = min(least_h, h)
    out[0] = bits_float(top_g)
    out[1] = bits_float(top_h)
    if least_h < 0 or not (out[0] <= MAX_GRADIENT and out[1] <= MAX_GRADIENT):
        info[STATUS] = NOT_FINITE


@kernel()
def find_max(pairs, weight, order, start, stop, out, info):
    """Put the largest |w g| and w h of some rows into ``out``; note if one is not finite. One output."""
    top_g = 0.0
    top_h = 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        row = order[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        g = abs(w * np.float64(pairs[TWO * np.uint64(row)]))
        h = w * np.float64(pairs[TWO * np.uint64(row) + ONE])
        if not (g <= MAX_GRADIENT and 0.0 <= h <= MAX_GRADIENT):
            info[STATUS] = NOT_FINITE
        top_g = max(top_g, g)
        top_h = max(top_h, h)
    out[0] = top_g
    out[1] = top_h


@kernel(noinline=True)
def add_up_contiguous(pairs, weight, start, stop, scale, out):
    """``add_up`` where rows follow each other and are enough that none reaches 2^51."""
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
def add_up(pairs, weight, order, start, stop, scale, out):
    """Add |w g| and w h of some rows in fixed point, rounded up, into ``out``. One output."""
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = order[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        sum_g += np.int64(abs(w * np.float64(pairs[TWO * np.uint64(row)])) * scale_g) + 1
        sum_h += np.int64(w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale_h) + 1
    out[0] = sum_g
    out[1] = sum_h


@kernel()
def round_wide(pairs, weight, order, start, stop, scale, planes, out):
    """Write the integers of some rows as two planes, rounded to the nearest; widen the range of hessians."""
    least = out[0]
    most = out[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = order[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        q_h = np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale[1]))
        planes[0, row] = np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row)]) * scale[0]))
        planes[1, row] = q_h
        least = min(least, q_h)
        most = max(most, q_h)
    out[0] = least
    out[1] = most


@kernel()
def round_packed(pairs, weight, ids, order, start, stop, scale, key, plane, out):
    """Write the integers of some rows as one plane; widen the range of hessians.

    Values are rounded up or down at random in proportion to what is lost, so that sums are right on average.
    """
    least = out[0]
    most = out[1]
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = order[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        bits = draw(key, ids[row] if ids.shape[0] > 0 else np.uint64(row))
        g = w * np.float64(pairs[TWO * np.uint64(row)]) * scale_g + np.float64(bits & np.uint64(0xFFFFFFFF)) * TO_UNIT
        h = w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale_h + np.float64(bits >> np.uint64(32)) * TO_UNIT
        q_h = np.int64(np.floor(h))
        plane[row] = (np.int64(np.floor(g)) << np.int64(32)) + q_h
        least = min(least, q_h)
        most = max(most, q_h)
    out[0] = least
    out[1] = most


@kernel(noinline=True)
def round_packed_contiguous(pairs, weight, ids, start, stop, scale, key, plane, out):
    """``round_packed`` where rows follow each other."""
    least = out[0]
    most = out[1]
    scale_g = scale[0]
    scale_h = scale[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        w = weight[i] if weight.shape[0] > 0 else 1.0
        bits = draw(key, ids[i] if ids.shape[0] > 0 else i)
        g = w * np.float64(pairs[TWO * i]) * scale_g + low_half(bits) * TO_UNIT
        h = w * np.float64(pairs[TWO * i + ONE]) * scale_h + low_half(bits >> np.uint64(32)) * TO_UNIT
        q_h = floor_to_int(h)
        plane[i] = (floor_to_int(g) << np.int64(32)) + q_h
        least = min(least, q_h)
        most = max(most, q_h)
    out[0] = least
    out[1] = most


@kernel()
def set_safe_scales(members, n, scales, scratch):
    """From the members' maxima, scales at which nothing can overflow whatever the sums."""
    for k in range(scales.exact.shape[0]):
        for side in range(2):
            top = 0.0
            for t in range(members):
                top = max(top, scratch.floats[t, 2 * k + side])
            scales.exact[k, side] = scale_for(EXACT_LIMIT, top * np.float64(n), 2 * n)


@kernel()
def set_scales(members, n, wide, scales, scratch):
    """From the members' sums, the finest scales at which nothing overflows."""
    for k in range(scales.exact.shape[0]):
        for side in range(2):
            total = np.int64(0)
            for t in range(members):
                total += scratch.ints[t, 2 * k + side]
            bound = np.float64(total) / scales.exact[k, side] * (1.0 + 1e-15)
            limit = EXACT_LIMIT
            if wide == 0:
                limit = PACKED_GRADIENT_LIMIT if side == 0 else PACKED_HESSIAN_LIMIT
            scales.histogram[k, side] = scale_for(limit, bound, n)
            scales.exact[k, side] = scale_for(EXACT_LIMIT, bound, n)


@kernel()
def merge_hessian_ranges(members, scales, scratch):
    """Merge the members' ranges of quantised hessians."""
    for k in range(scales.exact.shape[0]):
        least = scratch.ints[0, 2 * k]
        most = scratch.ints[0, 2 * k + 1]
        for t in range(1, members):
            least = min(least, scratch.ints[t, 2 * k])
            most = max(most, scratch.ints[t, 2 * k + 1])
        scales.hessian_range[k, 0] = least
        scales.hessian_range[k, 1] = most


@kernel()
def reset_range(out):
    """Begin a range of hessians that holds none."""
    out[0] = 0x7FFFFFFFFFFFFFFF
    out[1] = 0


@kernel()
def round_rows(rows, grad, start, stop, wide, is_plain, draws, quantum, ranges):
    """Write the integers of all outputs of some rows, and widen their ranges of hessians."""
    key = stream_key(draws.seed, ROUNDING, draws.round)
    order = rows.rows
    weight = grad.weight
    for k in range(grad.pairs.shape[0]):
        pairs = grad.pairs[k]
        out = ranges[2 * k : 2 * k + 2]
        own = key + np.uint64(k) * OUTPUT_KEY_STEP
        if wide != 0:
            round_wide(pairs, weight, order, start, stop, quantum[k], rows.pairs[2 * k : 2 * k + 2], out)
        elif is_plain:
            round_packed_contiguous(pairs, weight, grad.row_ids, start, stop, quantum[k], own, rows.pairs[k], out)
        else:
            round_packed(pairs, weight, grad.row_ids, order, start, stop, quantum[k], own, rows.pairs[k], out)


@kernel()
def number_rows(order, n_rows, start, stop):
    """Write the numbers of rows where the tree has all of them; else they are there already."""
    if order.shape[0] == n_rows:
        for i in range(np.uint64(start), np.uint64(stop)):
            order[i] = np.uint32(i)


@kernel("RowPartition, Gradients, i64, RandomKey, Scales, Scratch, i64[:]")
def quantise(member, members, sync, rows, grad, wide, draws, scales, scratch, info):
    """Turn the pairs of the rows of a tree into integers, with the finest scales that cannot overflow."""
    n = rows.rows.shape[0]
    start = member * n // members
    stop = (member + 1) * n // members
    order = rows.rows
    weight = grad.weight
    n_outputs = grad.pairs.shape[0]
    # All rows, one after the other: nothing has to be looked up.
    is_plain = 2 * n == grad.pairs.shape[1] and n >= MIN_CONTIGUOUS_ROWS
    number_rows(order, grad.pairs.shape[1] // 2, start, stop)
    for k in range(n_outputs):
        top = scratch.floats[member, 2 * k : 2 * k + 2]
        if is_plain:
            find_max_contiguous(grad.pairs[k], weight, start, stop, top, info)
        else:
            find_max(grad.pairs[k], weight, order, start, stop, top, info)
    if barrier(sync, members) != 0 or info[STATUS] != 0:
        return
    if member == 0:
        set_safe_scales(members, n, scales, scratch)
    if barrier(sync, members) != 0:
        return
    for k in range(n_outputs):
        out = scratch.ints[member, 2 * k : 2 * k + 2]
        if is_plain:
            add_up_contiguous(grad.pairs[k], weight, start, stop, scales.exact[k], out)
        else:
            add_up(grad.pairs[k], weight, order, start, stop, scales.exact[k], out)
    if barrier(sync, members) != 0:
        return
    if member == 0:
        set_scales(members, n, wide, scales, scratch)
    if barrier(sync, members) != 0:
        return
    for k in range(n_outputs):
        reset_range(scratch.ints[member, 2 * k : 2 * k + 2])
    has_lines = rows.pairs_by_row.shape[0] > 0
    step = BLOCK if has_lines else max(1, stop - start)
    for a in range(start, stop, step):
        e = min(a + step, stop)
        round_rows(rows, grad, a, e, wide, is_plain, draws, scales.histogram, scratch.ints[member])
        if has_lines:
            interleave_planes(rows.pairs, order, a, e, rows.pairs_by_row)
    if barrier(sync, members) != 0:
        return
    if member == 0:
        merge_hessian_ranges(members, scales, scratch)


@kernel("f64, f64, i64, f64[:]")
def find_scale(limit, bound, n, out):
    """Run ``scale_for`` by itself."""
    out[0] = scale_for(limit, bound, n)
