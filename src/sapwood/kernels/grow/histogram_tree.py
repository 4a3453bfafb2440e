"""Grow one tree on histograms, leafwise or levelwise, in a single call of all members of the team.

A leaf is *expanded*: its rows are partitioned into two children, the histogram of the smaller child is built, that of
the larger is the parent's minus it, and both are searched for their best splits. The children stay behind the leaves in
the leaf table until the order of growth splits the leaf; leafwise and levelwise growth differ only in that order.

A large leaf is expanded by all members together, each with a slice of the rows or of the features, with a barrier after
each step. Small leaves are expanded by one member each, some of them speculatively: the children of a leaf do not
depend on when it is expanded, so that the tree is the same.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.child_leaves import make_children, partition_children, smaller_child
from sapwood.kernels.grow.histogram_pool import release_histograms, reserve_histograms
from sapwood.kernels.grow.leaf_queue import add_leaf, can_split, child_slot, init_node
from sapwood.kernels.grow.leaf_scheduler import claim_leaf, init_schedule, schedule_next
from sapwood.kernels.grow.row_partition import undo_partition
from sapwood.kernels.histogram.active_features import fill_default_bins
from sapwood.kernels.histogram.builder import build_histogram, sum_root
from sapwood.kernels.histogram.cells import slice_of
from sapwood.kernels.histogram.sparse_bins import count_sparse_root
from sapwood.kernels.histogram.subtraction import build_children
from sapwood.kernels.layout import (
    EXPANDED,
    IS_ALONE,
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_HIST,
    LEAF_STATE,
    N_LEAVES,
    N_NODES,
    NEW_HISTS,
    NEXT_LEAF,
    SPLIT_FEATURE,
    UNEXPANDED,
    GrowState,
    NewLeaf,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_values
from sapwood.kernels.split.best_split import choose_split
from sapwood.kernels.split.column_sampler import follow_split, has_path_rules, sample_features
from sapwood.kernels.split.histogram_search import search_features
from sapwood.kernels.split.sorted_rows import (
    choose_sorted_split,
    init_sorted_rows,
    partition_sorted_rows,
    search_sorted_rows,
)
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
ZERO = np.int64(0)
# The arguments of the kernels that grow a tree on histograms.
GROW_SIGNATURE = (
    "BinMatrix, FeatureMeta, GrowParams, Gradients, RowPartition, Scales, Scratch, Histograms, LeafTable, "
    "SplitCandidates, ColumnSampler, RandomKey, TreeNodes"
)


@kernel()
def search_new_leaf(member, members, alone, row, leaf, new, active, buffer, state):
    """Search the member's slice of the features for the best splits of a new leaf, into a ``row`` of the candidates.

    ``leaf`` is its number when it is in the leaf table, ``active`` the features that its parent may be split on.
    """
    my_slice = slice_of(member, members, alone)
    from_feature = state.features.slices[my_slice]
    to_feature = state.features.slices[my_slice + 1]
    sample_features(
        member, from_feature, to_feature, row, leaf, new.node, new.depth, state.features.ids, state.sampler,
        state.random_key, state.candidates.allowed,
    )  # fmt: skip
    if state.histograms.sorted_rows.shape[0] > 0:
        search_sorted_rows(from_feature, to_feature, row, new, buffer, state)
    else:
        from_slice = 0 if alone else member
        search_features(from_slice, members if alone else member + 1, row, new, active, buffer, state)


@kernel()
def choose_new_split(member, leaf, row, buffer, state):
    """Give a leaf its best split, if it has one, from a ``row`` of the candidates."""
    if state.histograms.sorted_rows.shape[0] > 0:
        choose_sorted_split(leaf, row, buffer, state)
    else:
        choose_split(member, leaf, row, buffer, state)


@kernel()
def init_root(member, members, sync, state):
    """Make the root a leaf with its best split; return nonzero to stop."""
    features = state.features
    partition = state.partition
    histograms = state.histograms
    n = partition.rows.shape[0]
    n_planes = partition.pairs.shape[0]
    sums = state.scratch.ints[member][:n_planes]
    buffer = state.scratch.ints[member][2 * n_planes :]
    active = features.all_active
    if sum_root(member, members, sync, partition.rows, partition.pairs, state.scratch.ints, sums) != 0:
        return 1
    if histograms.sorted_rows.shape[0] > 0:
        n_features = features.n_bins.shape[0]
        init_sorted_rows(features.slices[member], features.slices[member + 1], n_features, histograms.sorted_rows)
    else:
        if build_histogram(
            member, members, sync, False, state.bins.tiles, partition, 0, n, active, histograms.pool[0], features,
            histograms.partial,
        ) != 0:  # fmt: skip
            return 1
        count_sparse_root(active, member, features, partition, histograms.sparse_counts[0])
        fill_default_bins(
            active, member, member + 1, features, sums, histograms.pool[0], histograms.sparse_counts[0]
        )  # fmt: skip
    root = NewLeaf(ZERO, n, ZERO, ZERO, ZERO, sums, -INFINITE, INFINITE)
    is_open = can_split(n, 0, state.params)
    if is_open:
        search_new_leaf(member, members, False, 0, 0, root, active, buffer, state)
    if barrier(sync, members) != 0:
        return 1
    if member == 0:
        add_leaf(0, root, state.leaves)
        init_node(0, state.nodes)
        init_schedule(state.candidates.schedule, features)
        if is_open:
            choose_new_split(member, 0, 0, buffer, state)
    return 0


@kernel()
def expand_leaf(member, members, sync, alone, leaf, hist, state):
    """Compute the two children of a leaf; return nonzero to stop.

    The member does it ``alone``, or all members together. ``hist`` is a free histogram, −1 if there is none.
    """
    features = state.features
    params = state.params
    ints = state.leaves.ints
    n_planes = state.partition.pairs.shape[0]
    n_leaves = state.nodes.info[N_LEAVES]
    parent_hist = ints[leaf, LEAF_HIST]
    sums = state.scratch.ints[member][: 2 * n_planes]
    hists = state.scratch.ints[member][2 * n_planes : 2 * n_planes + 2]
    buffer = state.scratch.ints[member][2 * n_planes + 2 :]
    bounds = state.scratch.floats[member][:4]
    n_left = partition_children(member, members, sync, alone, leaf, sums, bounds, state)
    if n_left < 0:
        return 1
    n_right = ints[leaf, LEAF_END] - ints[leaf, LEAF_BEGIN] - n_left
    depth = ints[leaf, LEAF_DEPTH] + 1
    may_grow = n_leaves + 1 < params.max_leaves
    left_open = may_grow and can_split(n_left, depth, params)
    right_open = may_grow and can_split(n_right, depth, params)
    has_sorted_rows = state.histograms.sorted_rows.shape[0] > 0
    needs_histograms = (left_open or right_open) and not has_sorted_rows
    # Of the smaller child, then of the larger one.
    hists[0] = hist
    hists[1] = parent_hist
    if needs_histograms:
        reserve_histograms(n_leaves, hists, state.leaves)
    smaller = smaller_child(n_left, n_right)
    children = make_children(
        ints[leaf], n_left, state.nodes.info[N_NODES], hists[smaller], hists[1 - smaller], left_open, right_open, sums,
        bounds,
    )  # fmt: skip
    active = state.histograms.active[parent_hist] if parent_hist >= 0 else features.all_active
    if has_sorted_rows and (left_open or right_open):
        my_slice = slice_of(member, members, alone)
        partition_sorted_rows(
            member, features.slices[my_slice], features.slices[my_slice + 1], state.bins.bins_u8, ints[leaf], n_left,
            state.histograms.sorted_rows,
        )  # fmt: skip
    elif needs_histograms and build_children(
        member, members, sync, alone, children, active, parent_hist >= 0, state
    ) != 0:  # fmt: skip
        return 1
    if (left_open or right_open) and search_children(
        member, members, sync, alone, leaf, children, active, buffer, state
    ) != 0:  # fmt: skip
        return 1
    if barrier(sync, 1 if alone else members) != 0:
        return 1
    add_children(member, members, alone, leaf, children, buffer, state)
    if member == 0 and not alone:
        ints[leaf, LEAF_STATE] = EXPANDED
        if hist < 0 or parent_hist < 0:
            release_histograms(n_leaves, hists[0], hists[1], ints)
    return 0


@kernel()
def candidate_row(member, alone, child):
    """Return the row of the candidates of a child (0 left, 1 right) of a leaf that a member expands."""
    return 2 * member + child if alone else child


@kernel()
def search_children(member, members, sync, alone, leaf, children, active, buffer, state):
    """Search the children that may be split, the larger one last; return nonzero to stop."""
    n_leaves = state.nodes.info[N_LEAVES]
    if has_path_rules(state.sampler):
        follow_split(member, leaf, leaf, n_leaves, state.leaves.ints[leaf, SPLIT_FEATURE], state.sampler)
        if barrier(sync, 1 if alone else members) != 0:
            return 1
    # ``active`` may become that of the larger child, which shares the parent's histogram.
    for part in range(2):
        child = part ^ children.smaller
        if children.right_open if child == 1 else children.left_open:
            new = children.right if child == 1 else children.left
            row = candidate_row(member, alone, child)
            number = n_leaves if child == 1 else leaf
            search_new_leaf(member, members, alone, row, number, new, active, buffer, state)
    return 0


@kernel()
def add_children(member, members, alone, leaf, children, buffer, state):
    """Write the children of a leaf with their best splits to the leaf table; two members share the work."""
    for child in range(2):
        if alone or member == child % members:
            new = children.right if child == 1 else children.left
            at = child_slot(state.params, leaf, child)
            add_leaf(at, new, state.leaves)
            if children.right_open if child == 1 else children.left_open:
                choose_new_split(member, at, candidate_row(member, alone, child), buffer, state)


@kernel(GROW_SIGNATURE)
def grow_tree(
    member, members, sync, bins, features, params, gradients, partition, scales, scratch, histograms, leaves,
    candidates, sampler, random_key, nodes,
):  # fmt: skip
    """Grow a tree from the quantised rows; ``nodes`` and ``leaves`` hold it afterwards."""
    state = GrowState(
        bins, features, params, partition, scales, scratch, histograms, leaves, candidates, sampler, random_key, nodes
    )
    stop = init_root(member, members, sync, state)
    schedule = candidates.schedule
    while stop == 0:
        if barrier(sync, members) != 0:
            return
        if member == 0:
            schedule_next(members, state)
        if barrier(sync, members) != 0:
            return
        leaf = schedule[NEXT_LEAF]
        if leaf < 0:
            break
        alone = schedule[IS_ALONE] != 0
        if alone:
            leaf = claim_leaf(member, members, sync, -1, state)
        while leaf >= 0:
            hist = schedule[NEW_HISTS + (member if alone else 0)]
            stop = expand_leaf(member, members, sync, alone, leaf, hist, state)
            if stop != 0:
                return
            leaf = claim_leaf(member, members, sync, leaf, state) if alone else -1
    n_leaves = nodes.info[N_LEAVES]
    for leaf in range(member, n_leaves, members):
        if leaves.ints[leaf, LEAF_STATE] != UNEXPANDED:
            middle = leaves.ints[child_slot(params, leaf, 0), LEAF_END]
            undo_partition(partition, leaves.ints[leaf, LEAF_BEGIN], middle, leaves.ints[leaf, LEAF_END])
    if barrier(sync, members) != 0:
        return
    set_leaf_values(
        member, members, sync, n_leaves, features.monotone, params, gradients, partition, scales, scratch, leaves, nodes
    )
