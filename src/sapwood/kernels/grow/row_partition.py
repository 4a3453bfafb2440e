"""Move the rows of a leaf to its two children, keeping their order.

A member takes a part of the leaf. Left rows (l) and right rows (r) leave it like this::

    part 0:  order l l l . . . .     the lefts stay in place ...
             spare . . . . r r r     ... the rights wait in the spare array, last one first
    part t:  spare l l l l . r r     all wait

When all parts are done and their numbers of lefts are known, each member puts what waits in its final place. Pairs and
bins stay where they are, and are looked up by row.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.rare_side_partition import NO_RARE_SIDE, find_rare_side, partition_rare_side
from sapwood.kernels.histogram.sparse_bins import decode_feature
from sapwood.kernels.layout import (
    BITSET_SPLIT,
    BITSET_WORDS,
    LEAF_BEGIN,
    LEAF_END,
    SPLIT_BIN,
    SPLIT_BITSET,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
)
from sapwood.kernels.split.category_bitset import in_bitset
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

PREFETCH_DISTANCE = np.uint64(32)
ONE = np.uint64(1)
# Fewer rows than this are not worth sharing out.
MIN_PARALLEL_ROWS = 4096


@kernel(noinline=True)
def partition_by_bin(bins, shift, most, order, left_order, spare, start, stop):
    """Send the positions ``start`` to ``stop`` apart, lefts going to ``left_order``; return how many."""
    left = np.uint64(start)
    right = np.uint64(stop - 1)
    end = np.uint64(stop)
    for k in range(np.uint64(start), end):
        if k + PREFETCH_DISTANCE < end:
            prefetch(bins, order[k + PREFETCH_DISTANCE])
        row = order[k]
        go = np.uint64(np.uint32(np.uint32(bins[row]) - shift) <= most)
        spare[right] = row
        left_order[left] = row
        left += go
        right -= ONE - go
    return np.int64(left) - start


@kernel()
def partition_numeric(bins, limit, missing_left, rows, start, stop, in_place):
    """Send the positions ``start`` to ``stop`` apart, those up to bin ``limit`` to the left; return how many."""
    # Missing is bin 0. Where it goes right, a shift by one sends it around to the largest number, beyond any limit.
    shift = np.uint32(1) if missing_left == 0 else np.uint32(0)
    most = np.uint32(limit) - shift
    left_order = rows.rows if in_place != 0 else rows.scratch
    rare = find_rare_side(bins, shift, most, rows.rows, start, stop)
    if rare != NO_RARE_SIDE:
        return partition_rare_side(bins, shift, most, rare, rows.rows, left_order, rows.scratch, start, stop)
    return partition_by_bin(bins, shift, most, rows.rows, left_order, rows.scratch, start, stop)


@kernel(noinline=True)
def partition_categorical(bins, words, rows, start, stop, in_place):
    """The same with the bins of a set to the left."""
    left = np.uint64(start)
    right = np.uint64(stop - 1)
    end = np.uint64(stop)
    order = rows.rows
    left_order = order if in_place != 0 else rows.scratch
    for k in range(np.uint64(start), end):
        if k + PREFETCH_DISTANCE < end:
            prefetch(bins, order[k + PREFETCH_DISTANCE])
        row = order[k]
        go = in_bitset(words, bins[row])
        rows.scratch[right] = row
        left_order[left] = row
        left += go
        right -= ONE - go
    return np.int64(left) - start


@kernel()
def partition_slice(bins, split, rows, start, stop, in_place):
    """Send positions apart by the split in a leaf's integers."""
    if split[SPLIT_BIN] == BITSET_SPLIT:
        return partition_categorical(
            bins, split[SPLIT_BITSET : SPLIT_BITSET + BITSET_WORDS], rows, start, stop, in_place
        )
    return partition_numeric(bins, split[SPLIT_BIN], split[SPLIT_MISSING_LEFT], rows, start, stop, in_place)


@kernel()
def copy_range(source, target, first, n, at):
    """Put n waiting elements from ``first`` on at ``at``."""
    begin = np.uint64(first)
    to = np.uint64(at)
    for i in range(np.uint64(n)):
        target[to + i] = source[begin + i]


@kernel()
def copy_reversed(source, target, last, n, at):
    """Put n waiting elements, the first of which is at ``last`` and the others before it, at ``at``."""
    end = np.uint64(last)
    to = np.uint64(at)
    for i in range(np.uint64(n)):
        target[to + i] = source[end - i]


@kernel()
def place_slice(rows, start, stop, n_left, left_at, right_at, in_place):
    """Put what waits of a part in its final place: its lefts from ``left_at`` on, its rights from ``right_at`` on."""
    n_right = stop - start - n_left
    if in_place == 0:
        copy_range(rows.scratch, rows.rows, start, n_left, left_at)
    copy_reversed(rows.scratch, rows.rows, stop - 1, n_right, right_at)


@kernel()
def partition_leaf(member, members, sync, bins, unpacked, split, feature, rows, n_left):
    """Move the rows of the leaf whose integers are given to its children; return how many went left, or −1 to stop."""
    start = split[LEAF_BEGIN]
    n = split[LEAF_END] - start
    column = feature.column[split[SPLIT_FEATURE]]
    parts = members if n >= MIN_PARALLEL_ROWS else 1
    a = start + member * n // parts
    e = start + (member + 1) * n // parts
    in_place = 1 if member == 0 else 0
    if member < parts:
        if column < 0:
            decode_feature(feature, split[SPLIT_FEATURE], rows.rows, a, e, unpacked)
            own = partition_slice(unpacked, split, rows, a, e, in_place)
        elif feature.log2_bin_bits == 3:
            own = partition_slice(bins.bins_u8[column], split, rows, a, e, in_place)
        else:
            own = partition_slice(bins.bins_u16[column], split, rows, a, e, in_place)
        n_left[member, 0] = own
        if parts == 1:
            place_slice(rows, a, e, own, a, a + own, 1)
    if barrier(sync, members) != 0:
        return -1
    total = np.int64(0)
    left_at = start
    right_at = start
    for t in range(parts):
        if t < member:
            left_at += n_left[t, 0]
            right_at += (t + 1) * n // parts - t * n // parts - n_left[t, 0]
        total += n_left[t, 0]
    if parts > 1:
        place_slice(rows, a, e, n_left[member, 0], left_at, right_at + total, in_place)
        if barrier(sync, members) != 0:
            return -1
    return total


@kernel()
def undo_partition(rows, first, middle, last):
    """Undo a move: make one ascending sequence of the two from ``first`` and from ``middle`` on."""
    left = first
    right = middle
    for k in range(first, last):
        if right >= last or (left < middle and rows.rows[left] < rows.rows[right]):
            rows.scratch[k] = rows.rows[left]
            left += 1
        else:
            rows.scratch[k] = rows.rows[right]
            right += 1
    copy_range(rows.scratch, rows.rows, first, last - first, first)
