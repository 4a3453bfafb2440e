"""Grow a symmetric tree: one split for all nodes of a level (C8)."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.histogram_tree import GROW_SIGNATURE
from sapwood.kernels.grow.leaf_queue import (
    add_children,
    add_leaf,
    can_split,
    init_node,
    set_child_bounds,
    set_child_sums,
    split_node,
)
from sapwood.kernels.grow.leaf_scheduler import ALONE_ROWS, is_small
from sapwood.kernels.grow.row_partition import partition_leaf
from sapwood.kernels.histogram.active_features import fill_default_bins, subtract_active
from sapwood.kernels.histogram.builder import build_histogram, sum_root
from sapwood.kernels.layout import (
    LEAF_BEGIN,
    LEAF_END,
    LEAF_GAIN,
    LEAF_HIST,
    LEAF_STATE,
    LEAF_SUMS,
    N_NODES,
    SPLIT_BIN,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_values
from sapwood.kernels.split.column_sampler import narrow_groups, sample_features
from sapwood.kernels.split.symmetric import (
    BEST_BIN,
    BEST_FEATURE,
    BEST_MISSING_LEFT,
    choose_level_split,
    search_level_features,
)
from sapwood.kernels.threads.barrier import COUNTER, barrier
from sapwood.native.runtime.intrinsics import atomic_add, atomic_store
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf


@kernel()
def sum_left_side(cells, stride, b, side, left):
    """The sums of the left side of a cut."""
    for p in range(left.shape[0]):
        total = cells[p * stride] if side == 1 else np.int64(0)
        for j in range(1, b + 1):
            total += cells[p * stride + j]
        left[p] = total


@kernel()
def split_leaf(
    member, members, sync, alone, bins, leaf, new, child, more,
    feature, rules, rows, scales, scratch, cells, leaves, search, nodes,
):  # fmt: skip
    """Split one leaf by the level's cut, into nodes from ``child`` on; nonzero means stop.

    The member does it ``alone``, or all of them together. Histograms of the children are made if ``more`` levels
    follow.
    """
    integers = leaves.ints
    n_planes = rows.pairs.shape[0]
    parts = 1 if alone else members
    rank = 0 if alone else member
    start = integers[leaf, LEAF_BEGIN]
    stop = integers[leaf, LEAF_END]
    old_slot = integers[leaf, LEAF_HIST]
    sums = scratch.ints[member][: 2 * n_planes]
    bounds = scratch.floats[member][:4]
    unpacked = bins.decoded[member]
    n_left = partition_leaf(
        rank, parts, sync, bins, unpacked, integers[leaf], feature, rows, search.n_left[member - rank :]
    )
    if n_left < 0:
        return 1
    middle = start + n_left
    set_child_sums(integers[leaf], sums)
    set_child_bounds(
        leaf, sums, bounds, feature.monotone[integers[leaf, SPLIT_FEATURE]], rules, scales.histogram, leaves
    )
    left_is_small = n_left <= stop - middle
    if more:
        first = start if left_is_small else middle
        last = middle if left_is_small else stop
        small = cells.pool[new]
        given = sums[:n_planes] if left_is_small else sums[n_planes:]
        every = feature.all_active
        if build_histogram(
            member, members, sync, alone, bins.tiles, rows, first, last, every, small, feature, cells.partial
        ) != 0:  # fmt: skip
            return 1
        from_lane = 0 if alone else member
        to_lane = members if alone else member + 1
        fill_default_bins(every, from_lane, to_lane, feature, given, small, cells.sparse_counts[new])
        large = cells.pool[old_slot]
        subtract_active(every, from_lane, to_lane, feature.slices, feature.offset, n_planes, small, large)
    if barrier(sync, parts) != 0:
        return 1
    if rank == 0:
        slot_left = new if left_is_small else old_slot
        slot_right = old_slot if left_is_small else new
        add_children(leaf, new, child, n_left, slot_left, slot_right, sums, bounds, leaves, nodes)
    return barrier(sync, parts)


@kernel()
def init_symmetric_root(member, members, sync, words, feature, rows, scratch, cells, leaves, nodes):
    """Make the root a leaf with its histogram; nonzero means stop."""
    n = rows.rows.shape[0]
    n_planes = rows.pairs.shape[0]
    sums = scratch.ints[member][:n_planes]
    if sum_root(member, members, sync, rows.rows, rows.pairs, scratch.ints, sums) != 0:
        return 1
    every = feature.all_active
    if (
        build_histogram(member, members, sync, False, words, rows, 0, n, every, cells.pool[0], feature, cells.partial)
        != 0
    ):
        return 1
    fill_default_bins(every, member, member + 1, feature, sums, cells.pool[0], cells.sparse_counts[0])
    if member == 0:
        add_leaf(0, 0, n, 0, 0, 0, sums, -INFINITE, INFINITE, leaves)
        init_node(0, nodes)
    return barrier(sync, members)


@kernel()
def set_level_split(members, n_leaves, n_planes, best, gain, feature, cells, leaves, nodes):
    """Give every leaf of the level the same split; where there are many, small ones are marked for members alone."""
    f = np.int64(best[BEST_FEATURE])
    b = np.int64(best[BEST_BIN])
    side = np.int64(best[BEST_MISSING_LEFT])
    stride = feature.offset[feature.offset.shape[0] - 1]
    are_many = members > 1 and n_leaves >= 2 * members and feature.csr_start.shape[0] == 0
    for leaf in range(n_leaves):
        integers = leaves.ints[leaf]
        integers[SPLIT_FEATURE] = f
        integers[SPLIT_BIN] = b
        integers[SPLIT_MISSING_LEFT] = side
        integers[LEAF_STATE] = 1 if are_many and is_small(leaf, members, leaves.ints, ALONE_ROWS) else 0
        histogram = cells.pool[integers[LEAF_HIST]][feature.offset[f] :]
        sum_left_side(histogram, stride, b, side, integers[LEAF_SUMS + n_planes : LEAF_SUMS + 2 * n_planes])
        leaves.floats[leaf, LEAF_GAIN] = gain / np.float64(n_leaves)
        split_node(leaf, leaves, nodes)


@kernel()
def split_level(
    member, members, sync, bins, n_leaves, more, feature, rules, rows, scales, scratch, cells, leaves, search, nodes
):
    """Split all leaves of a level: large ones together, then small ones each by the member that is free."""
    child = nodes.info[N_NODES] - 2 * n_leaves
    for turn in range(2):
        alone = turn == 1
        leaf = atomic_add(sync, COUNTER, 1) if alone else np.int64(0)
        while leaf < n_leaves:
            if (leaves.ints[leaf, LEAF_STATE] != 0) == alone:
                stop = split_leaf(
                    member, members, sync, alone, bins, leaf, n_leaves + leaf, child + 2 * leaf, more,
                    feature, rules, rows, scales, scratch, cells, leaves, search, nodes,
                )  # fmt: skip
                if stop != 0:
                    return 1
            leaf = atomic_add(sync, COUNTER, 1) if alone else leaf + 1
        if barrier(sync, members) != 0:
            return 1
    return 0


@kernel("BinMatrix, " + GROW_SIGNATURE + ", f64[:,:,:,:], f64[:,:]")
def grow_symmetric_tree(
    member, members, sync, bins,
    feature, rules, grad, rows, scales, scratch, cells, leaves, search, choice, draws, nodes, worth, bests,
):  # fmt: skip
    """Grow a symmetric tree of at most ``max_depth`` levels from the quantised rows."""
    n_planes = rows.pairs.shape[0]
    if init_symmetric_root(member, members, sync, bins.tiles, feature, rows, scratch, cells, leaves, nodes) != 0:
        return
    running = scratch.ints[member][2 * n_planes :]
    n_leaves = 1
    for depth in range(rules.max_depth):
        if 2 * n_leaves > rules.max_leaves or not can_split(rows.rows.shape[0], depth, rules):
            break
        sample_features(
            member, feature.slices[member], feature.slices[member + 1], 0, 0, depth, depth,
            feature.ids, choice, draws, search.allowed,
        )  # fmt: skip
        search_level_features(
            member, n_leaves, feature, rules, scales.histogram, cells, leaves, search.allowed, running,
            worth[member], bests[member],
        )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        own = scratch.floats[member][4:8]
        winner = choose_level_split(
            members, n_leaves, n_planes, feature.ids, rules, scales.histogram, leaves, own, bests
        )
        if barrier(sync, members) != 0:
            return
        if winner < 0:
            break
        if member == 0:
            set_level_split(members, n_leaves, n_planes, bests[winner], own[2], feature, cells, leaves, nodes)
            narrow_groups(0, 0, 0, np.int64(bests[winner, BEST_FEATURE]), choice)
            atomic_store(sync, COUNTER, 0)
        if barrier(sync, members) != 0:
            return
        more = depth + 1 < rules.max_depth and 4 * n_leaves <= rules.max_leaves
        if split_level(
            member, members, sync, bins, n_leaves, more,
            feature, rules, rows, scales, scratch, cells, leaves, search, nodes,
        ) != 0:  # fmt: skip
            return
        n_leaves *= 2
    set_leaf_values(
        member, members, sync, n_leaves, feature.monotone, rules, grad, rows, scales, scratch, leaves, nodes
    )
