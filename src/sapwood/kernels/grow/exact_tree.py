"""Grow one tree by exact greedy search: every gap between two values that a leaf holds is a possible split.

The rows of each column are sorted once per training. While a tree grows, every column keeps the rows of the tree,
sorted inside each leaf, missing values first; a leaf owns the same range of all columns::

    values of column 0:   leaf 0: . 1 1 4 7 | leaf 1: 2 3 3 5
    values of column 1:   leaf 0: 1 2 2 8 9 | leaf 1: . . 1 6

A split partitions every column, keeping its order. Each member of the team partitions and scans its slice of the
columns.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.child_leaves import set_child_sums
from sapwood.kernels.grow.leaf_queue import add_leaf, can_split, init_node, next_leaf, split_node
from sapwood.kernels.histogram.builder import sum_root
from sapwood.kernels.layout import (
    CANDIDATE_NEXT_BIN,
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_NODE,
    N_NODES,
    SPLIT_BIN,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
    SPLIT_NEXT_BIN,
    NewLeaf,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_values
from sapwood.kernels.split.best_split import best_feature, set_split
from sapwood.kernels.split.column_sampler import follow_split, has_path_rules, sample_features
from sapwood.kernels.split.exact import count_missing, scan_exact
from sapwood.kernels.split.monotone import set_child_bounds
from sapwood.kernels.threads.barrier import barrier
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
ZERO = np.int64(0)


@kernel("u32[:,:], i64[:], i64[:,:], u32[:,:]")
def sort_columns(member, members, sync, columns, n_bins, counts, out):
    """Write the rows of every column sorted by bin, equal bins in row order; ``counts`` is scratch memory."""
    n_features = columns.shape[0]
    start = counts[member]
    for f in range(member * n_features // members, (member + 1) * n_features // members):
        bins = columns[f]
        for b in range(n_bins[f] + 2):
            start[b] = 0
        for row in range(bins.shape[0]):
            start[bins[row] + 1] += 1
        for b in range(n_bins[f]):
            start[b + 1] += start[b]
        for row in range(bins.shape[0]):
            out[f, start[bins[row]]] = row
            start[bins[row]] += 1


@kernel()
def filter_rows(all_rows, is_in_tree, out):
    """Copy the rows that are in the tree, keeping their order."""
    k = 0
    for i in range(all_rows.shape[0]):
        if is_in_tree[all_rows[i]] != 0:
            out[k] = all_rows[i]
            k += 1


@kernel()
def partition_column(rows, first, last, goes_left, scratch):
    """Move the rows of a range that go left to its front; both sides keep their order."""
    left = first
    n_right = 0
    for i in range(first, last):
        row = rows[i]
        is_left = np.int64(goes_left[row])
        rows[left] = row
        scratch[n_right] = row
        left += is_left
        n_right += 1 - is_left
    for k in range(n_right):
        rows[left + k] = scratch[k]


@kernel()
def search_columns(member, columns, presorted, row, leaf, features, params, scales, candidates, buffer):
    """Find the best split of each column of the member's slice for a new leaf, into a ``row`` of the candidates."""
    for f in range(features.slices[member], features.slices[member + 1]):
        candidates.gain[row, f] = 0.0
        if candidates.allowed[row, f] == 0:
            continue
        bins = columns[f]
        rows = presorted.tree_rows[f, leaf.begin : leaf.end]
        last_wins = bins[presorted.all_rows[f, 0]] != 0  # nothing is missing in the column, as XGBoost scans it
        candidates.gain[row, f] = scan_exact(
            rows, count_missing(rows, bins), bins, presorted.pairs, last_wins, features.monotone[f],
            leaf.sums, leaf.lower, leaf.upper, params, scales, buffer, candidates.split[row, f],
        )  # fmt: skip


@kernel()
def choose_exact_split(columns, tree_rows, leaf, gain, candidates, params, leaves):
    """Give a leaf the best split of all columns, if it has one."""
    f = best_feature(gain, 0, gain.shape[0], leaves.ints[leaf, LEAF_NODE], params)
    if gain[f] <= 0.0:
        return
    has_missing_rows = columns[f, tree_rows[f, leaves.ints[leaf, LEAF_BEGIN]]] == 0
    set_split(leaf, f, gain[f], candidates[f], has_missing_rows, 1, leaves)
    leaves.ints[leaf, SPLIT_NEXT_BIN] = candidates[f, CANDIDATE_NEXT_BIN]


@kernel()
def init_columns(member, members, sync, partition, slices, in_tree, presorted):
    """Give every column of the tree its sorted rows, and every row its pairs; return nonzero to stop."""
    is_in_tree = presorted.goes_left
    n = is_in_tree.shape[0]
    m = partition.rows.shape[0]
    for row in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        is_in_tree[row] = 0
    if barrier(sync, members) != 0:
        return 1
    for i in range(slice_start(member, members, m), slice_start(member + 1, members, m)):
        row = partition.rows[i]
        is_in_tree[row] = 1
        for p in range(partition.pairs.shape[0]):
            presorted.pairs[row, p] = partition.pairs[p, row]
    if barrier(sync, members) != 0:
        return 1
    for f in range(slices[member], slices[member + 1]):
        if in_tree[f] != 0:
            filter_rows(presorted.all_rows[f], is_in_tree, presorted.tree_rows[f])
    return 0


@kernel()
def mark_left(member, members, bins, rows, leaf_ints, goes_left):
    """Write whether each row of the member's slice of a leaf goes left; return how many do."""
    first = leaf_ints[LEAF_BEGIN]
    n = leaf_ints[LEAF_END] - first
    n_left = 0
    for i in range(first + member * n // members, first + (member + 1) * n // members):
        row = rows[i]
        b = np.int64(bins[row])
        is_left = leaf_ints[SPLIT_MISSING_LEFT] if b == 0 else np.int64(b <= leaf_ints[SPLIT_BIN])
        goes_left[row] = is_left
        n_left += is_left
    return n_left


@kernel()
def partition_columns(
    member, members, sync, columns, presorted, leaf_ints, rows, slices, in_tree, left_counts, has_next
):  # fmt: skip
    """Partition the rows of a leaf by its split in every column, only in ``rows`` if no split follows (``has_next``).

    Return how many go left, or −1 to stop.
    """
    goes_left = presorted.goes_left
    scratch = presorted.scratch[member]
    first = leaf_ints[LEAF_BEGIN]
    last = leaf_ints[LEAF_END]
    bins = columns[leaf_ints[SPLIT_FEATURE]]
    left_counts[member, 0] = mark_left(member, members, bins, rows, leaf_ints, goes_left)
    if barrier(sync, members) != 0:
        return -1
    n_left = np.int64(0)
    for t in range(members):
        n_left += left_counts[t, 0]
    if member == members - 1:
        partition_column(rows, first, last, goes_left, scratch)
    if has_next:
        for f in range(slices[member], slices[member + 1]):
            if in_tree[f] != 0:
                partition_column(presorted.tree_rows[f], first, last, goes_left, scratch)
    return n_left


@kernel(
    "u32[:,:], PresortedRows, FeatureMeta, GrowParams, Gradients, RowPartition, Scales, Scratch, LeafTable, "
    "SplitCandidates, ColumnSampler, RandomKey, TreeNodes"
)
def grow_exact_tree(
    member, members, sync, columns, presorted, features, params, gradients, partition, scales, scratch, leaves,
    candidates, sampler, random_key, nodes,
):  # fmt: skip
    """Grow a tree from the wide quantised rows; ``nodes``, ``leaves`` and ``presorted.next_bin`` hold it afterwards."""
    n_planes = partition.pairs.shape[0]
    ints = leaves.ints
    # Of the left child, then of the right one.
    sums = scratch.ints[member][: 2 * n_planes]
    bounds = scratch.floats[member][:4]
    buffer = scratch.ints[member][2 * n_planes : 4 * n_planes]
    if init_columns(member, members, sync, partition, features.slices, sampler.in_tree, presorted) != 0:
        return
    if sum_root(member, members, sync, partition.rows, partition.pairs, scratch.ints, sums[n_planes:]) != 0:
        return
    # The root is added as if it were the right child of a split that sends no row to the left.
    leaf = start = middle = depth = np.int64(0)
    stop = np.int64(partition.rows.shape[0])
    bounds[2] = -INFINITE
    bounds[3] = INFINITE
    n_leaves = np.int64(0)
    while True:
        node = nodes.info[N_NODES] if n_leaves > 0 else np.int64(-1)
        may_grow = n_leaves + 1 < params.max_leaves
        left = NewLeaf(start, middle, node, depth, ZERO, sums[:n_planes], bounds[0], bounds[1])
        right = NewLeaf(middle, stop, node + 1, depth, ZERO, sums[n_planes:], bounds[2], bounds[3])
        for child in range(2):
            new = right if child == 1 else left
            if may_grow and can_split(new.end - new.begin, depth, params):
                number = n_leaves if child == 1 else leaf
                sample_features(
                    member, features.slices[member], features.slices[member + 1], child, number, new.node, depth,
                    features.ids, sampler, random_key, candidates.allowed,
                )  # fmt: skip
                search_columns(
                    member, columns, presorted, child, new, features, params, scales, candidates, buffer
                )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        if member == 0:
            if n_leaves > 0:
                presorted.next_bin[ints[leaf, LEAF_NODE]] = ints[leaf, SPLIT_NEXT_BIN]
                split_node(leaf, leaves, nodes)
            for child in range(0 if n_leaves > 0 else 1, 2):
                new = right if child == 1 else left
                number = n_leaves if child == 1 else leaf
                add_leaf(number, new, leaves)
                init_node(new.node, nodes)
                if may_grow and can_split(new.end - new.begin, depth, params):
                    choose_exact_split(
                        columns, presorted.tree_rows, number, candidates.gain[child], candidates.split[child], params,
                        leaves,
                    )  # fmt: skip
        n_leaves += 1
        if barrier(sync, members) != 0:
            return
        leaf = next_leaf(n_leaves, params.growth, ints, leaves.floats, False) if may_grow else np.int64(-1)
        if leaf < 0:
            break
        start = ints[leaf, LEAF_BEGIN]
        stop = ints[leaf, LEAF_END]
        depth = ints[leaf, LEAF_DEPTH] + 1
        has_next = n_leaves + 1 < params.max_leaves and can_split(stop - start, depth, params)
        n_left = partition_columns(
            member, members, sync, columns, presorted, ints[leaf], partition.rows, features.slices, sampler.in_tree,
            candidates.n_left, has_next,
        )  # fmt: skip
        if n_left < 0:
            return
        middle = start + n_left
        f = ints[leaf, SPLIT_FEATURE]
        set_child_sums(ints[leaf], sums)
        set_child_bounds(leaf, sums, bounds, features.monotone[f], params, scales.histogram, leaves)
        if has_path_rules(sampler):
            follow_split(member, leaf, leaf, n_leaves, f, sampler)
            if barrier(sync, members) != 0:
                return
    set_leaf_values(
        member, members, sync, n_leaves, features.monotone, params, gradients, partition, scales, scratch, leaves, nodes
    )
