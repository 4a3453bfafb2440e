"""Grow one tree by exact greedy search: every gap between two values that a leaf holds is a possible cut (X3).

The rows of each column are sorted once per training. While a tree grows every column keeps its own list of the tree's
rows, sorted inside each leaf, missing values first; a leaf owns the same range of all lists::

    list of column 0:   leaf 0: . 1 1 4 7 | leaf 1: 2 3 3 5
    list of column 1:   leaf 0: 1 2 2 8 9 | leaf 1: . . 1 6

A split parts every list, keeping its order. Each member of the team parts and scans its share of the columns.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.leaf_queue import (
    add_leaf,
    can_split,
    init_node,
    next_leaf,
    set_child_bounds,
    set_child_sums,
    split_node,
)
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
)
from sapwood.kernels.leaves.leaf_values import set_leaf_values
from sapwood.kernels.split.best_split import best_feature, set_split
from sapwood.kernels.split.column_sampler import narrow_groups, sample_features
from sapwood.kernels.split.exact import count_missing, scan_exact
from sapwood.kernels.threads.barrier import barrier
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf


@kernel("u32[:,:], i64[:], i64[:,:], u32[:,:]")
def sort_columns(member, members, sync, columns, n_bins, counts, out):
    """Write the rows of every column in the order of their bins, equal bins in row order; ``counts`` is workspace."""
    n_features = columns.shape[0]
    place = counts[member]
    for f in range(member * n_features // members, (member + 1) * n_features // members):
        bins = columns[f]
        for b in range(n_bins[f] + 2):
            place[b] = 0
        for row in range(bins.shape[0]):
            place[bins[row] + 1] += 1
        for b in range(n_bins[f]):
            place[b + 1] += place[b]
        for row in range(bins.shape[0]):
            out[f, place[bins[row]]] = row
            place[bins[row]] += 1


@kernel()
def filter_rows(all_rows, marked, out):
    """Copy the marked rows, in order."""
    k = 0
    for i in range(all_rows.shape[0]):
        if marked[all_rows[i]] != 0:
            out[k] = all_rows[i]
            k += 1


@kernel()
def partition_column(line, first, last, marked, spare):
    """Move the marked rows of a range to its front; all keep their order."""
    left = first
    waiting = 0
    for i in range(first, last):
        row = line[i]
        go = np.int64(marked[row])
        line[left] = row
        spare[waiting] = row
        left += go
        waiting += 1 - go
    for k in range(waiting):
        line[left + k] = spare[k]


@kernel()
def search_columns(member, columns, lists, child, first, last, sums, bounds, feature, rules, scales, search, running):
    """Find the best split of each column in the member's share, for the leaf that owns a range of the lists."""
    for f in range(feature.slices[member], feature.slices[member + 1]):
        search.gain[child, f] = 0.0
        if search.allowed[child, f] == 0:
            continue
        bins = columns[f]
        line = lists.tree_rows[f, first:last]
        backward = bins[lists.all_rows[f, 0]] != 0
        search.gain[child, f] = scan_exact(
            line, count_missing(line, bins), bins, lists.pairs, backward, feature.monotone[f],
            sums, bounds[0], bounds[1], rules, scales, running, search.split[child, f],
        )  # fmt: skip


@kernel()
def choose_exact_split(columns, rows, leaf, gain, cuts, rules, leaves):
    """Give a leaf the best split of all columns, if it has one."""
    f = best_feature(gain, 0, gain.shape[0], leaves.ints[leaf, LEAF_NODE], rules)
    if gain[f] <= 0.0:
        return
    missing = columns[f, rows[f, leaves.ints[leaf, LEAF_BEGIN]]] == 0
    set_split(leaf, f, gain[f], cuts[f], missing, 1, leaves)
    leaves.ints[leaf, SPLIT_NEXT_BIN] = cuts[f, CANDIDATE_NEXT_BIN]


@kernel()
def init_columns(member, members, sync, rows, share_of, tree, lists):
    """Give every column of the tree the list of its rows, and every row its pairs; nonzero means stop."""
    marked = lists.goes_left
    n = marked.shape[0]
    m = rows.rows.shape[0]
    for row in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        marked[row] = 0
    if barrier(sync, members) != 0:
        return 1
    for i in range(slice_start(member, members, m), slice_start(member + 1, members, m)):
        row = rows.rows[i]
        marked[row] = 1
        for p in range(rows.pairs.shape[0]):
            lists.pairs[row, p] = rows.pairs[p, row]
    if barrier(sync, members) != 0:
        return 1
    for f in range(share_of[member], share_of[member + 1]):
        if tree[f] != 0:
            filter_rows(lists.all_rows[f], marked, lists.tree_rows[f])
    return 0


@kernel()
def mark_left(member, members, bins, order, integers, marked):
    """Mark the member's part of the rows of a leaf: 1 goes left. Return how many it marked so."""
    first = integers[LEAF_BEGIN]
    n = integers[LEAF_END] - first
    limit = integers[SPLIT_BIN]
    n_left = 0
    for i in range(first + member * n // members, first + (member + 1) * n // members):
        row = order[i]
        b = np.int64(bins[row])
        go = integers[SPLIT_MISSING_LEFT] if b == 0 else np.int64(b <= limit)
        marked[row] = go
        n_left += go
    return n_left


@kernel()
def partition_columns(member, members, sync, columns, lists, integers, order, share_of, tree, n_lefts, more):
    """Send the rows of a leaf to its sides in every list, but only in ``order`` if no ``more`` splits will follow.

    Return how many went left, or −1 to stop.
    """
    n_lefts[member, 0] = mark_left(member, members, columns[integers[SPLIT_FEATURE]], order, integers, lists.goes_left)
    if barrier(sync, members) != 0:
        return -1
    n_left = np.int64(0)
    for t in range(members):
        n_left += n_lefts[t, 0]
    if member == members - 1:
        partition_column(order, integers[LEAF_BEGIN], integers[LEAF_END], lists.goes_left, lists.scratch[member])
    if more:
        for f in range(share_of[member], share_of[member + 1]):
            if tree[f] != 0:
                partition_column(
                    lists.tree_rows[f], integers[LEAF_BEGIN], integers[LEAF_END], lists.goes_left, lists.scratch[member]
                )
    return n_left


@kernel(
    "u32[:,:], PresortedRows, FeatureMeta, GrowParams, Gradients, RowPartition, Scales, Scratch, LeafTable, "
    "SplitCandidates, ColumnSampler, RandomKey, TreeNodes"
)
def grow_exact_tree(
    member, members, sync, columns, lists,
    feature, rules, grad, rows, scales, scratch, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Grow a tree from the wide quantised rows; ``nodes``, ``leaves`` and ``lists.next_bin`` hold it afterwards."""
    n_planes = rows.pairs.shape[0]
    integers = leaves.ints
    # Of the left child, then of the right one.
    sums = scratch.ints[member][: 2 * n_planes]
    bounds = scratch.floats[member][:4]
    running = scratch.ints[member][2 * n_planes : 4 * n_planes]
    if init_columns(member, members, sync, rows, feature.slices, choice.in_tree, lists) != 0:
        return
    if sum_root(member, members, sync, rows.rows, rows.pairs, scratch.ints, sums[n_planes:]) != 0:
        return
    # The root enters as if it were the right child of a split that sent nothing to the left.
    leaf = start = middle = depth = np.int64(0)
    stop = np.int64(rows.rows.shape[0])
    bounds[2] = -INFINITE
    bounds[3] = INFINITE
    n_leaves = np.int64(0)
    while True:
        node = nodes.info[N_NODES] if n_leaves > 0 else np.int64(-1)
        more = n_leaves + 1 < rules.max_leaves
        for child in range(2):
            first = middle if child == 1 else start
            last = stop if child == 1 else middle
            if more and can_split(last - first, depth, rules):
                at = n_leaves if child == 1 else leaf
                sample_features(
                    member, feature.slices[member], feature.slices[member + 1], child, at, node + child, depth,
                    feature.ids, choice, draws, search.allowed,
                )  # fmt: skip
                own = sums[child * n_planes : (child + 1) * n_planes]
                search_columns(
                    member, columns, lists, child, first, last, own, bounds[2 * child :],
                    feature, rules, scales, search, running,
                )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        if member == 0:
            if n_leaves > 0:
                lists.next_bin[integers[leaf, LEAF_NODE]] = integers[leaf, SPLIT_NEXT_BIN]
                split_node(leaf, leaves, nodes)
            for child in range(0 if n_leaves > 0 else 1, 2):
                first = middle if child == 1 else start
                last = stop if child == 1 else middle
                at = n_leaves if child == 1 else leaf
                own = sums[child * n_planes : (child + 1) * n_planes]
                low = bounds[2 * child]
                high = bounds[2 * child + 1]
                add_leaf(at, first, last, node + child, depth, 0, own, low, high, leaves)
                init_node(node + child, nodes)
                if more and can_split(last - first, depth, rules):
                    choose_exact_split(
                        columns, lists.tree_rows, at, search.gain[child], search.split[child], rules, leaves
                    )
        n_leaves += 1
        if barrier(sync, members) != 0:
            return
        leaf = next_leaf(n_leaves, rules.growth, integers, leaves.floats, False) if more else np.int64(-1)
        if leaf < 0:
            break
        start = integers[leaf, LEAF_BEGIN]
        stop = integers[leaf, LEAF_END]
        depth = integers[leaf, LEAF_DEPTH] + 1
        more = n_leaves + 1 < rules.max_leaves and can_split(stop - start, depth, rules)
        n_left = partition_columns(
            member, members, sync, columns, lists, integers[leaf], rows.rows, feature.slices, choice.in_tree,
            search.n_left, more,
        )  # fmt: skip
        if n_left < 0:
            return
        middle = start + n_left
        set_child_sums(integers[leaf], sums)
        f = integers[leaf, SPLIT_FEATURE]
        set_child_bounds(leaf, sums, bounds, feature.monotone[f], rules, scales.histogram, leaves)
        if choice.groups.shape[0] > 0:
            narrow_groups(member, leaf, n_leaves, f, choice)
            if barrier(sync, members) != 0:
                return
    set_leaf_values(
        member, members, sync, n_leaves, feature.monotone, rules, grad, rows, scales, scratch, leaves, nodes
    )
