"""Partition the rows of a leaf into those of its two children, keeping their order.

Each member partitions a slice of the leaf. Left rows (l) and right rows (r) are written like this::

    slice 0:  rows    l l l . . . .     left rows stay in place
              scratch . . . . r r r     right rows go to the scratch array, the last one first
    slice t:  scratch l l l l . r r     both go to the scratch array

When all members are done and the numbers of left rows are known, each copies its rows from the scratch array to their
final positions. Pairs and bins are not moved; they are looked up by row.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.rare_side_partition import NO_RARE_SIDE, find_rare_side, partition_rare_side
from sapwood.kernels.histogram.sparse_bins import decode_feature
from sapwood.kernels.layout import (
    BITSET_SPLIT,
    LEAF_BEGIN,
    LEAF_END,
    SPLIT_BIN,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
    SPLIT_WORDS,
)
from sapwood.kernels.split.category_bitset import in_bitset
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

PREFETCH_DISTANCE = np.uint64(32)
ONE = np.uint64(1)
# Leaves of fewer rows are partitioned by one member.
MIN_PARALLEL_ROWS = 4096


@kernel(noinline=True)
def partition_by_bin(bins, shift, max_bin, rows, left_rows, scratch, start, stop):
    """Partition the rows at ``start`` to ``stop``, left ones into ``left_rows``; return how many.

    A row goes left if its bin minus ``shift`` is at most ``max_bin``. Right rows go to the end of ``scratch``, the last
    one first.
    """
    left = np.uint64(start)
    right = np.uint64(stop - 1)
    end = np.uint64(stop)
    for k in range(np.uint64(start), end):
        if k + PREFETCH_DISTANCE < end:
            prefetch(bins, rows[k + PREFETCH_DISTANCE])
        row = rows[k]
        is_left = np.uint64(np.uint32(np.uint32(bins[row]) - shift) <= max_bin)
        scratch[right] = row
        left_rows[left] = row
        left += is_left
        right -= ONE - is_left
    return np.int64(left) - start


@kernel()
def partition_numeric(bins, split_bin, missing_left, partition, start, stop, in_place):
    """Partition the rows at ``start`` to ``stop``, bins up to ``split_bin`` to the left; return how many go left."""
    # Missing is bin 0. If it goes right, subtracting 1 wraps it around to the largest number, above any ``max_bin``.
    shift = np.uint32(1) if missing_left == 0 else np.uint32(0)
    max_bin = np.uint32(split_bin) - shift
    rows = partition.rows
    scratch = partition.scratch
    left_rows = rows if in_place != 0 else scratch
    rare = find_rare_side(bins, shift, max_bin, rows, start, stop)
    if rare != NO_RARE_SIDE:
        return partition_rare_side(bins, shift, max_bin, rare, rows, left_rows, scratch, start, stop)
    return partition_by_bin(bins, shift, max_bin, rows, left_rows, scratch, start, stop)


@kernel(noinline=True)
def partition_categorical(bins, words, partition, start, stop, in_place):
    """Partition the rows at ``start`` to ``stop``, the bins of a set to the left; return how many go left."""
    left = np.uint64(start)
    right = np.uint64(stop - 1)
    end = np.uint64(stop)
    rows = partition.rows
    left_rows = rows if in_place != 0 else partition.scratch
    for k in range(np.uint64(start), end):
        if k + PREFETCH_DISTANCE < end:
            prefetch(bins, rows[k + PREFETCH_DISTANCE])
        row = rows[k]
        is_left = in_bitset(words, bins[row])
        partition.scratch[right] = row
        left_rows[left] = row
        left += is_left
        right -= ONE - is_left
    return np.int64(left) - start


@kernel()
def partition_slice(bins, leaf_ints, partition, start, stop, in_place):
    """Partition the rows at ``start`` to ``stop`` by the split of a leaf; return how many go left."""
    if leaf_ints[SPLIT_BIN] == BITSET_SPLIT:
        return partition_categorical(bins, leaf_ints[SPLIT_WORDS], partition, start, stop, in_place)
    missing_left = leaf_ints[SPLIT_MISSING_LEFT]
    return partition_numeric(bins, leaf_ints[SPLIT_BIN], missing_left, partition, start, stop, in_place)


@kernel()
def copy_range(source, target, first, n, to):
    """Copy n elements from ``first`` on to ``to``."""
    begin = np.uint64(first)
    start = np.uint64(to)
    for i in range(np.uint64(n)):
        target[start + i] = source[begin + i]


@kernel()
def copy_reversed(source, target, last, n, to):
    """Copy n elements, from ``last`` backwards, to ``to``."""
    end = np.uint64(last)
    start = np.uint64(to)
    for i in range(np.uint64(n)):
        target[start + i] = source[end - i]


@kernel()
def place_slice(partition, start, stop, n_left, left_at, right_at, in_place):
    """Copy the rows of a slice from the scratch array: left ones to ``left_at``, right ones to ``right_at``."""
    n_right = stop - start - n_left
    if in_place == 0:
        copy_range(partition.scratch, partition.rows, start, n_left, left_at)
    copy_reversed(partition.scratch, partition.rows, stop - 1, n_right, right_at)


@kernel()
def partition_leaf(member, members, sync, bin_matrix, decoded, leaf_ints, features, partition, left_counts):
    """Partition the rows of a leaf by its split; return how many go left, or −1 to stop."""
    start = leaf_ints[LEAF_BEGIN]
    n = leaf_ints[LEAF_END] - start
    column = features.column[leaf_ints[SPLIT_FEATURE]]
    n_parts = members if n >= MIN_PARALLEL_ROWS else 1
    begin = start + member * n // n_parts
    end = start + (member + 1) * n // n_parts
    in_place = 1 if member == 0 else 0
    if member < n_parts:
        if column < 0:
            decode_feature(features, leaf_ints[SPLIT_FEATURE], partition.rows, begin, end, decoded)
            n_own = partition_slice(decoded, leaf_ints, partition, begin, end, in_place)
        elif features.log2_bits == 3:
            n_own = partition_slice(bin_matrix.bins_u8[column], leaf_ints, partition, begin, end, in_place)
        else:
            n_own = partition_slice(bin_matrix.bins_u16[column], leaf_ints, partition, begin, end, in_place)
        left_counts[member, 0] = n_own
        if n_parts == 1:
            place_slice(partition, begin, end, n_own, begin, begin + n_own, 1)
    if barrier(sync, members) != 0:
        return -1
    total = np.int64(0)
    left_at = start
    right_at = start
    for t in range(n_parts):
        if t < member:
            left_at += left_counts[t, 0]
            right_at += (t + 1) * n // n_parts - t * n // n_parts - left_counts[t, 0]
        total += left_counts[t, 0]
    if n_parts > 1:
        place_slice(partition, begin, end, left_counts[member, 0], left_at, right_at + total, in_place)
        if barrier(sync, members) != 0:
            return -1
    return total


@kernel()
def undo_partition(partition, first, middle, last):
    """Undo a partition: merge the ascending rows from ``first`` and from ``middle`` on."""
    left = first
    right = middle
    for k in range(first, last):
        if right >= last or (left < middle and partition.rows[left] < partition.rows[right]):
            partition.scratch[k] = partition.rows[left]
            left += 1
        else:
            partition.scratch[k] = partition.rows[right]
            right += 1
    copy_range(partition.scratch, partition.rows, first, last - first, first)
