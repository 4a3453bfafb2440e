"""Batches of leaves that are expanded together, for workers that exchange what they have found once per batch.

All leaves that are likely to be split soon are expanded at once, also children of leaves that are not split yet. The
children of an expanded leaf are kept in the leaf table until the order of growth splits it; the tree is the same as if
one leaf were expanded at a time. Leaf l of the tree is in row ``table_rows[l]`` of the leaf table.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.child_leaves import make_children, partition_children
from sapwood.kernels.grow.leaf_queue import add_leaf, init_node, is_before, split_node
from sapwood.kernels.grow.row_partition import MIN_PARALLEL_ROWS, undo_partition
from sapwood.kernels.layout import (
    BATCH_CHILD,
    BATCH_LEAF,
    BATCH_ORDER,
    BATCH_SMALLER,
    LEAF_BEGIN,
    LEAF_CHILD,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_GAIN,
    LEAF_NODE,
    LEVELWISE,
    N_LEAVES,
    SPLIT_FEATURE,
    GrowState,
)
from sapwood.kernels.numeric.fixed_point import quantised_hessian
from sapwood.kernels.split.column_sampler import follow_split
from sapwood.native.runtime.kernel import kernel

# Expected gain of a child as a fraction of its parent's: with less, more leaves are expanded in vain; with more, there
# are more batches.
CHILD_GAIN = 0.5
# A leaf of more than this fraction of the rows is large: where it is expanded in vain, it costs more than some batches.
LARGE_LEAF = 0.1
# The fields of ``GrowState``, in which the arguments of these kernels are given.
STATE_SIGNATURE = (
    "BinMatrix, FeatureMeta, GrowParams, RowPartition, Scales, Scratch, Histograms, LeafTable, SplitCandidates, "
    "ColumnSampler, RandomKey, TreeNodes"
)


@kernel()
def find_next(n, table_rows, growth, leaves):
    """Return the number of the leaf, of those in n rows of the leaf table, that is split next; −1 if there is none."""
    best = -1
    for k in range(n):
        if leaves.floats[table_rows[k], LEAF_GAIN] <= 0.0:
            continue
        if best < 0 or is_before(table_rows[k], table_rows[best], growth, leaves.ints, leaves.floats):
            best = k
    return best


@kernel("GrowParams, LeafTable, TreeNodes, i64[:]")
def commit_leaves(params, leaves, nodes, table_rows):
    """Split the leaves that come next in the order of growth, as long as they are expanded."""
    ints = leaves.ints
    n_leaves = nodes.info[N_LEAVES]
    while n_leaves < params.max_leaves:
        leaf = find_next(n_leaves, table_rows, params.growth, leaves)
        if leaf < 0 or ints[table_rows[leaf], LEAF_CHILD] == 0:
            break
        row = table_rows[leaf]
        child = ints[row, LEAF_CHILD]
        node = split_node(row, leaves, nodes)
        ints[row, LEAF_CHILD] = 0
        for k in range(2):
            ints[child + k, LEAF_NODE] = node + k
            init_node(node + k, nodes)
            table_rows[n_leaves if k == 1 else leaf] = child + k
        n_leaves += 1
    nodes.info[N_LEAVES] = n_leaves


@kernel()
def find_next_queued(n, growth, queue, gains, leaves):
    """Return the position of the leaf in a queue of n that is split next, −1 if none has a gain."""
    best = -1
    for k in range(n):
        if gains[k] <= 0.0:
            continue
        if best < 0:
            best = k
        elif growth == LEVELWISE:
            best = k if is_before(queue[k], queue[best], growth, leaves.ints, leaves.floats) else best
        elif gains[k] > gains[best]:
            best = k
    return best


@kernel()
def replace_queued(k, n, left, left_gain, right_gain, queue, gains):
    """Replace a leaf in a queue of n by its children, which are in rows ``left`` and the next, or unknown (−1)."""
    queue[k] = left
    gains[k] = left_gain
    queue[n] = left + 1 if left >= 0 else left
    gains[n] = right_gain


@kernel()
def is_large(row, n_rows):
    """Return whether a row of the leaf table has a large part of the rows of the tree; ``n_rows`` are those of each."""
    return np.float64(n_rows[row]) > LARGE_LEAF * np.float64(n_rows[0])


@kernel("GrowParams, LeafTable, TreeNodes, i64[:], i64[:], f64, i64[:], f64[:], i64[:,:], i64[:]")
def plan_batch(params, leaves, nodes, table_rows, n_rows, min_large_gain, queue, gains, batch, out):
    """Write the leaves to expand next to ``batch``; ``out`` takes their number, and 1 if their children stay leaves.

    They are the unexpanded leaves that would be split before the tree is full if the children that are not known yet
    had a certain fraction of their parents' gains. Large leaves, by the numbers of rows ``n_rows``, are expanded ahead
    only with a gain of at least ``min_large_gain``. Children stay leaves at the maximum depth, or behind the last
    split; such leaves are not expanded together with others. ``queue`` and ``gains`` are scratch memory for twice as
    many numbers as the tree may have leaves.
    """
    n = nodes.info[N_LEAVES]
    n_left = params.max_leaves - n
    fraction = 0.0 if params.growth == LEVELWISE else CHILD_GAIN
    for k in range(n):
        queue[k] = table_rows[k]
        gains[k] = leaves.floats[table_rows[k], LEAF_GAIN]
    out[0] = 0
    out[1] = 0
    for order in range(n_left):
        k = find_next_queued(n, params.growth, queue, gains, leaves)
        if k < 0 or out[0] == batch.shape[0]:
            break
        row = queue[k]
        child = leaves.ints[row, LEAF_CHILD] if row >= 0 else np.int64(0)
        if child != 0:
            left_gain = leaves.floats[child, LEAF_GAIN]
            replace_queued(k, n, child, left_gain, leaves.floats[child + 1, LEAF_GAIN], queue, gains)
        else:
            child_gain = fraction * gains[k]
            replace_queued(k, n, -1, child_gain, child_gain, queue, gains)
        n += 1
        if row < 0 or child != 0:
            continue
        is_deepest = leaves.ints[row, LEAF_DEPTH] + 1 >= params.max_depth
        is_last = 1 if is_deepest or n_left == 1 else 0
        if order == 0:
            out[1] = is_last
        elif order == n_left - 1 and not is_deepest:
            continue  # it is the last one by guesses of gains, which may be wrong: its children may be split after all
        elif is_large(row, n_rows) and leaves.floats[row, LEAF_GAIN] < min_large_gain:
            continue
        if is_last == out[1]:
            batch[out[0], BATCH_LEAF] = row
            batch[out[0], BATCH_ORDER] = order
            out[0] += 1


@kernel("i64, LeafTable, i64[:], i64[:], f64[:]")
def find_large_gain(n_leaves, leaves, table_rows, n_rows, out):
    """Write the highest gain of the large leaves of a finished tree to ``out``, 0 if there are none."""
    out[0] = 0.0
    for k in range(n_leaves):
        if is_large(table_rows[k], n_rows):
            out[0] = max(out[0], leaves.floats[table_rows[k], LEAF_GAIN])


@kernel()
def lighter_child(sums, wide):
    """Return the child with the smaller sum of hessians (0 left, 1 right), given the sums of both.

    The numbers of rows of all workers would be better, but are not known yet. Either choice gives the same histograms.
    """
    n_planes = sums.shape[0] // 2
    n_outputs = n_planes // 2 if wide != 0 else n_planes
    difference = np.int64(0)
    for k in range(n_outputs):
        difference += quantised_hessian(sums, k, wide) - quantised_hessian(sums[n_planes:], k, wide)
    return 0 if difference <= 0 else 1


@kernel()
def write_children(k, n_left, first_node, batch, sums, bounds, state):
    """Write the children of leaf k of a batch to the leaf table."""
    leaf = batch[k, BATCH_LEAF]
    child = batch[k, BATCH_CHILD]
    leaf_ints = state.leaves.ints[leaf]
    node = first_node + 2 * batch[k, BATCH_ORDER]
    children = make_children(leaf_ints, n_left, node, -1, -1, False, False, sums, bounds)
    add_leaf(child, children.left, state.leaves)
    add_leaf(child + 1, children.right, state.leaves)
    leaf_ints[LEAF_CHILD] = child
    batch[k, BATCH_SMALLER] = lighter_child(sums, state.params.wide)
    follow_split(0, leaf, child, child + 1, leaf_ints[SPLIT_FEATURE], state.sampler)


@kernel("i64[:,:], i64, " + STATE_SIGNATURE)
def expand_leaves(
    member, members, sync, batch, first_node, bins, features, params, partition, scales, scratch, histograms, leaves,
    candidates, sampler, random_key, nodes,
):  # fmt: skip
    """Partition the rows of a batch of leaves, and write their children, without splits, to the leaf table.

    Large leaves are partitioned by all members together, then small ones by one member each. The nodes of the children
    of the leaf that is split first will be ``first_node`` and the next one.
    """
    state = GrowState(
        bins, features, params, partition, scales, scratch, histograms, leaves, candidates, sampler, random_key, nodes
    )
    n_planes = partition.pairs.shape[0]
    sums = scratch.ints[member][: 2 * n_planes]
    bounds = scratch.floats[member][:4]
    for phase in range(2):
        alone = phase == 1
        for k in range(batch.shape[0]):
            leaf = batch[k, BATCH_LEAF]
            is_small = leaves.ints[leaf, LEAF_END] - leaves.ints[leaf, LEAF_BEGIN] < MIN_PARALLEL_ROWS
            if is_small != alone or (alone and k % members != member):
                continue
            n_left = partition_children(member, members, sync, alone, leaf, sums, bounds, state)
            if n_left < 0:
                return
            if alone or member == 0:
                write_children(k, n_left, first_node, batch, sums, bounds, state)


@kernel("i64, i64, i64[:], RowPartition, LeafTable")
def undo_expansions(member, members, sync, n_leaves, n_rows, table_rows, partition, leaves):
    """Undo the partitions of the leaves that were expanded but not split; the leaf table has ``n_rows`` rows."""
    ints = leaves.ints
    for leaf in range(member, n_leaves, members):
        top = table_rows[leaf]
        if ints[top, LEAF_CHILD] == 0:
            continue
        # Children follow their parents in the leaf table, and are undone before them.
        for back in range(n_rows - top):
            row = n_rows - 1 - back
            child = ints[row, LEAF_CHILD]
            is_below = ints[row, LEAF_BEGIN] >= ints[top, LEAF_BEGIN] and ints[row, LEAF_END] <= ints[top, LEAF_END]
            if child != 0 and is_below:
                undo_partition(partition, ints[row, LEAF_BEGIN], ints[child, LEAF_END], ints[row, LEAF_END])
