"""Grow one tree: a single call in which all members of the team work through the leaves together.

A leaf is *expanded*: its rows are moved to two children; the histogram of the smaller child is built, that of the
larger is what remains of the parent's, and both are searched for their best splits. The children wait behind the leaves
until it is the leaf's turn to be split, which is all that growth orders differ in.

A large leaf is expanded by all members, each with its share of the rows or features, with a meeting after each step.
Small ones are expanded by one member each, some of them before their turn: what becomes of a leaf does not depend on
when it is looked at, so that the tree is the same.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.leaf_queue import (
    add_leaf,
    can_split,
    init_node,
    release_histograms,
    reserve_histograms,
    set_child_bounds,
    set_child_sums,
)
from sapwood.kernels.grow.leaf_scheduler import claim_leaf, max_alone_rows, schedule_next
from sapwood.kernels.grow.row_partition import partition_leaf, undo_partition
from sapwood.kernels.histogram.active_features import fill_default_bins, subtract_active
from sapwood.kernels.histogram.builder import build_histogram, subtract_rows, sum_root
from sapwood.kernels.histogram.sparse_bins import count_sparse_leaf, count_sparse_root
from sapwood.kernels.layout import (
    EXPANDED,
    FREE_HIST,
    IS_ALONE,
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_HIST,
    LEAF_STATE,
    MAX_ALONE_ROWS,
    N_EXPANDING,
    N_LEAVES,
    N_NODES,
    NEW_HISTS,
    NEXT_LEAF,
    SPLIT_FEATURE,
    UNEXPANDED,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_values
from sapwood.kernels.split.best_split import choose_split
from sapwood.kernels.split.column_sampler import narrow_groups, sample_features
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
# What every grower works with, after the bins.
GROW_SIGNATURE = (
    "FeatureMeta, GrowParams, Gradients, RowPartition, Scales, Scratch, Histograms, LeafTable, SplitCandidates, "
    "ColumnSampler, RandomKey, TreeNodes"
)


@kernel()
def init_root(
    member, members, sync, bins,
    feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Make the root a leaf with its best split; nonzero means stop."""
    n = rows.rows.shape[0]
    n_planes = rows.pairs.shape[0]
    sums = scratch.ints[member][:n_planes]
    running = scratch.ints[member][2 * n_planes :]
    own = feature.slices[member]
    end = feature.slices[member + 1]
    if sum_root(member, members, sync, rows.rows, rows.pairs, scratch.ints, sums) != 0:
        return 1
    every = feature.all_active
    has_order = cells.sorted_rows.shape[0] > 0
    if has_order:
        init_sorted_rows(own, end, feature.n_bins.shape[0], cells.sorted_rows)
    elif build_histogram(
        member, members, sync, False, bins.tiles, rows, 0, n, every, cells.pool[0], feature, cells.partial
    ) != 0:  # fmt: skip
        return 1
    if not has_order:
        count_sparse_root(every, member, feature, rows, cells.sparse_counts[0])
        fill_default_bins(every, member, member + 1, feature, sums, cells.pool[0], cells.sparse_counts[0])
    is_open = can_split(n, 0, rules)
    if is_open:
        sample_features(member, own, end, 0, 0, 0, 0, feature.ids, choice, draws, search.allowed)
        if has_order:
            search_sorted_rows(
                own, end, 0, 0, n, sums, bins.bins_u8, rows.pairs, cells.sorted_rows, rules, scales, search, running
            )
        else:
            search_features(
                member, member + 1, every, cells.active[0], cells.pool[0], cells.sparse_counts[0], 0, sums,
                -INFINITE, INFINITE, feature, rules, scales, search, running,
            )  # fmt: skip
    if barrier(sync, members) != 0:
        return 1
    if member == 0:
        add_leaf(0, 0, n, 0, 0, 0, sums, -INFINITE, INFINITE, leaves)
        init_node(0, nodes)
        search.schedule[N_EXPANDING] = 0
        search.schedule[FREE_HIST] = 1
        search.schedule[MAX_ALONE_ROWS] = max_alone_rows(feature)
        if is_open and has_order:
            choose_sorted_split(
                0, 0, bins.bins_u8, rows.pairs, cells.sorted_rows, rules, scales, leaves, search, running
            )
        elif is_open:
            choose_split(member, bins, 0, 0, rows.rows, feature, rules, scales, cells, leaves, search, running)
    return 0


@kernel()
def build_children(
    member, members, sync, alone, words, first, middle, last, slots, live, is_kept, is_open, sums, feature, rows, cells
):
    """Make the histograms of two children, the smaller in slot ``slots[0]``; nonzero means stop.

    Only the features of the line ``live`` count. The larger child's is what the smaller leaves of the parent's, which
    is in its slot. Where that was not kept, both are built. One whose smaller child is not ``is_open`` to be split is
    of no use.
    """
    n_planes = rows.pairs.shape[0]
    from_lane = 0 if alone else member
    to_lane = members if alone else member + 1
    left_is_small = middle - first <= last - middle
    if is_kept and not is_open and (alone or members == 1) and rows.pairs_by_row.shape[0] == 0:
        start = first if left_is_small else middle
        stop = middle if left_is_small else last
        rest = sums[n_planes:] if left_is_small else sums[:n_planes]
        subtract_rows(
            words, rows, start, stop, rest, live, members, cells.pool[slots[1]], cells.sparse_counts[slots[1]], feature
        )
        return 0
    for part in range(1 if is_kept else 2):
        is_left = left_is_small == (part == 0)
        start = first if is_left else middle
        stop = middle if is_left else last
        own = sums[:n_planes] if is_left else sums[n_planes:]
        line = cells.pool[slots[part]]
        if part == 1 and barrier(sync, members) != 0:
            return 1
        listed = cells.sparse_counts[slots[part]]
        if build_histogram(member, members, sync, alone, words, rows, start, stop, live, line, feature, cells.partial):
            return 1
        count_sparse_leaf(live, from_lane, to_lane, feature, rows.rows, start, stop, listed)
        fill_default_bins(live, from_lane, to_lane, feature, own, line, listed)
    if is_kept:
        share = feature.slices
        small = cells.pool[slots[0]]
        large = cells.pool[slots[1]]
        subtract_active(live, from_lane, to_lane, share, feature.offset, n_planes, small, large)
        if cells.sparse_counts.shape[1] > 0:
            fewer = cells.sparse_counts[slots[0]]
            counts = cells.sparse_counts[slots[1]]
            subtract_active(live, from_lane, to_lane, share, feature.offset, 1, fewer, counts)
    return 0


@kernel()
def expand_leaf(
    member, members, sync, alone, bins, leaf, slot,
    feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Make the two children of a leaf, in a free slot (−1: there is none); nonzero means stop.

    The member does it ``alone``, or all of them together.
    """
    integers = leaves.ints
    n_planes = rows.pairs.shape[0]
    parts = 1 if alone else members
    rank = 0 if alone else member
    line = 2 * (member - rank)
    lane = members + 1 if alone else member
    own = feature.slices[lane]
    end = feature.slices[lane + 1]
    n_leaves = nodes.info[N_LEAVES]
    first = integers[leaf, LEAF_BEGIN]
    last = integers[leaf, LEAF_END]
    depth = integers[leaf, LEAF_DEPTH] + 1
    old_slot = integers[leaf, LEAF_HIST]
    sums = scratch.ints[member][: 2 * n_planes]
    slots = scratch.ints[member][2 * n_planes : 2 * n_planes + 2]
    running = scratch.ints[member][2 * n_planes + 2 :]
    bounds = scratch.floats[member][:4]
    unpacked = bins.decoded[member]
    n_left = partition_leaf(
        rank, parts, sync, bins, unpacked, integers[leaf], feature, rows, search.n_left[member - rank :]
    )
    if n_left < 0:
        return 1
    middle = first + n_left
    set_child_sums(integers[leaf], sums)
    set_child_bounds(
        leaf, sums, bounds, feature.monotone[integers[leaf, SPLIT_FEATURE]], rules, scales.histogram, leaves
    )
    more = n_leaves + 1 < rules.max_leaves
    open_left = more and can_split(n_left, depth, rules)
    open_right = more and can_split(last - middle, depth, rules)
    small = 0 if n_left <= last - middle else 1
    slots[0] = slot
    slots[1] = old_slot
    live = cells.active[old_slot] if old_slot >= 0 else feature.all_active
    node = nodes.info[N_NODES]
    has_order = cells.sorted_rows.shape[0] > 0
    if has_order and (open_left or open_right):
        partition_sorted_rows(member, own, end, bins.bins_u8, integers[leaf], n_left, cells.sorted_rows)
    elif open_left or open_right:
        reserve_histograms(n_leaves, slots, leaves)
        if build_children(
            member, members, sync, alone, bins.tiles, first, middle, last, slots, live, old_slot >= 0,
            open_right if small == 1 else open_left, sums, feature, rows, cells,
        ) != 0:  # fmt: skip
            return 1
    if open_left or open_right:
        if choice.groups.shape[0] > 0:
            narrow_groups(member, leaf, n_leaves, integers[leaf, SPLIT_FEATURE], choice)
            if barrier(sync, parts) != 0:
                return 1
        # The line of the leaf may become that of the larger child, which comes last.
        for part in range(2):
            child = part ^ small
            if open_right if child == 1 else open_left:
                at = n_leaves if child == 1 else leaf
                given = sums[child * n_planes : (child + 1) * n_planes]
                low = bounds[2 * child]
                high = bounds[2 * child + 1]
                histogram = cells.pool[slots[part]]
                listed = cells.sparse_counts[slots[part]]
                sample_features(
                    member, own, end, line + child, at, node + child, depth, feature.ids, choice, draws,
                    search.allowed,
                )  # fmt: skip
                if has_order:
                    a = middle if child == 1 else first
                    e = last if child == 1 else middle
                    search_sorted_rows(
                        own, end, line + child, a, e, given, bins.bins_u8, rows.pairs, cells.sorted_rows,
                        rules, scales, search, running,
                    )  # fmt: skip
                else:
                    search_features(
                        rank, members if alone else member + 1, live, cells.active[slots[part]], histogram, listed,
                        line + child, given, low, high, feature, rules, scales, search, running,
                    )  # fmt: skip
    if barrier(sync, parts) != 0:
        return 1
    for child in range(2):
        if rank == child % parts:
            at = rules.max_leaves + 2 * leaf + child
            a = middle if child == 1 else first
            e = last if child == 1 else middle
            given = sums[child * n_planes : (child + 1) * n_planes]
            low = bounds[2 * child]
            high = bounds[2 * child + 1]
            add_leaf(at, a, e, node + child, depth, slots[small ^ child], given, low, high, leaves)
            is_open = open_right if child == 1 else open_left
            if is_open and has_order:
                choose_sorted_split(
                    at,
                    line + child,
                    bins.bins_u8,
                    rows.pairs,
                    cells.sorted_rows,
                    rules,
                    scales,
                    leaves,
                    search,
                    running,
                )
            elif is_open:
                choose_split(
                    member, bins, at, line + child, rows.rows, feature, rules, scales, cells, leaves, search, running
                )
    if rank == 0 and not alone:
        integers[leaf, LEAF_STATE] = EXPANDED
        if slot < 0 or old_slot < 0:
            release_histograms(n_leaves, slots[0], slots[1], integers)
    return 0


@kernel("BinMatrix, " + GROW_SIGNATURE)
def grow_tree(
    member, members, sync, bins,
    feature, rules, grad, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Grow a tree from the quantised rows; ``nodes`` and ``leaves`` hold it afterwards."""
    stop = init_root(
        member, members, sync, bins,
        feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
    )  # fmt: skip
    turn = search.schedule
    n_slots = cells.pool.shape[0]
    while stop == 0:
        if barrier(sync, members) != 0:
            return
        if member == 0:
            schedule_next(members, rules, n_slots, leaves, choice, nodes, turn)
        if barrier(sync, members) != 0:
            return
        leaf = turn[NEXT_LEAF]
        if leaf < 0:
            break
        alone = turn[IS_ALONE] != 0
        if alone:
            leaf = claim_leaf(member, members, sync, -1, rules, n_slots, leaves, nodes, turn)
        while leaf >= 0:
            stop = expand_leaf(
                member, members, sync, alone, bins, leaf, turn[NEW_HISTS + (member if alone else 0)],
                feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
            )  # fmt: skip
            if stop != 0:
                return
            leaf = claim_leaf(member, members, sync, leaf, rules, n_slots, leaves, nodes, turn) if alone else -1
    n_leaves = nodes.info[N_LEAVES]
    for leaf in range(member, n_leaves, members):
        if leaves.ints[leaf, LEAF_STATE] != UNEXPANDED:
            first = leaves.ints[leaf, LEAF_BEGIN]
            last = leaves.ints[leaf, LEAF_END]
            undo_partition(rows, first, leaves.ints[rules.max_leaves + 2 * leaf, LEAF_END], last)
    if barrier(sync, members) != 0:
        return
    set_leaf_values(
        member, members, sync, n_leaves, feature.monotone, rules, grad, rows, scales, scratch, leaves, nodes
    )
