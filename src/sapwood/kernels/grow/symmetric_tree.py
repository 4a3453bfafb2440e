"""Grow a symmetric (oblivious) tree: one split for all nodes of a level."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.child_leaves import make_children, partition_children, replace_leaf, smaller_child
from sapwood.kernels.grow.histogram_tree import GROW_SIGNATURE
from sapwood.kernels.grow.leaf_queue import add_leaf, can_split, count_planes, init_node, split_node
from sapwood.kernels.grow.leaf_scheduler import ALONE_ROWS, is_small
from sapwood.kernels.grow.level_columns import build_and_search_level, builds_columns
from sapwood.kernels.histogram.active_features import fill_default_bins
from sapwood.kernels.histogram.builder import build_histogram, sum_root
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.histogram.subtraction import build_children
from sapwood.kernels.layout import (
    LEAF_ALONE,
    LEAF_BEGIN,
    LEAF_END,
    LEAF_GAIN,
    LEAF_HIST,
    LEAF_SUMS,
    N_NODES,
    SPLIT_BIN,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
    GrowState,
    NewLeaf,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_values
from sapwood.kernels.split.column_sampler import follow_split, sample_features
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
ZERO = np.int64(0)


@kernel()
def sum_left_side(cells, n_cells, b, missing_left, left):
    """Write the sums of the left side of a split of the feature whose cells begin a histogram."""
    for p in range(left.shape[0]):
        total = cells[p * n_cells] if missing_left == 1 else np.int64(0)
        for j in range(1, b + 1):
            total += cells[p * n_cells + j]
        left[p] = total


@kernel()
def split_leaf(member, members, sync, alone, leaf, new, node, builds_histograms, state):
    """Split a leaf by the level's split, its right child becoming leaf ``new``; return nonzero to stop.

    The member does it ``alone``, or all members together. The nodes of the children are ``node`` and the next. Their
    histograms are built if ``builds_histograms``: another level follows that does not build them itself.
    """
    leaf_ints = state.leaves.ints[leaf]
    n_planes = state.partition.pairs.shape[0]
    sums = state.scratch.ints[member][: 2 * n_planes]
    bounds = state.scratch.floats[member][:4]
    n_left = partition_children(member, members, sync, alone, leaf, sums, bounds, state)
    if n_left < 0:
        return 1
    # The smaller child has the new histogram, the larger one that of the leaf.
    smaller = smaller_child(n_left, leaf_ints[LEAF_END] - leaf_ints[LEAF_BEGIN] - n_left)
    left_hist = new if smaller == 0 else leaf_ints[LEAF_HIST]
    right_hist = leaf_ints[LEAF_HIST] if smaller == 0 else new
    children = make_children(leaf_ints, n_left, node, left_hist, right_hist, True, True, sums, bounds)
    if builds_histograms:
        active = state.features.all_active
        if build_children(member, members, sync, alone, children, active, True, state) != 0:
            return 1
    n_parts = 1 if alone else members
    if barrier(sync, n_parts) != 0:
        return 1
    if alone or member == 0:
        replace_leaf(leaf, new, children, state.leaves, state.nodes)
    return barrier(sync, n_parts)


@kernel()
def init_symmetric_root(member, members, sync, state):
    """Make the root a leaf, with its histogram unless the first level builds it; return nonzero to stop."""
    partition = state.partition
    histograms = state.histograms
    features = state.features
    n = partition.rows.shape[0]
    sums = state.scratch.ints[member][: partition.pairs.shape[0]]
    if sum_root(member, members, sync, partition.rows, partition.pairs, state.scratch.ints, sums) != 0:
        return 1
    if not builds_columns(state):
        active = features.all_active
        if build_histogram(
            member, members, sync, False, state.bins.tiles, partition, 0, n, active, histograms.pool[0], features,
            histograms.partial,
        ) != 0:  # fmt: skip
            return 1
        fill_default_bins(active, member, member + 1, features, sums, histograms.pool[0], histograms.sparse_counts[0])
    if member == 0:
        add_leaf(0, NewLeaf(ZERO, n, ZERO, ZERO, ZERO, sums, -INFINITE, INFINITE), state.leaves)
        init_node(0, state.nodes)
    return barrier(sync, members)


@kernel()
def set_level_split(members, n_leaves, best, gain, features, histograms, leaves, nodes):
    """Give every leaf of the level the same split; if there are many, note which small ones one member splits alone."""
    n_planes = count_planes(leaves)
    f = np.int64(best[BEST_FEATURE])
    b = np.int64(best[BEST_BIN])
    missing_left = np.int64(best[BEST_MISSING_LEFT])
    n_cells = count_cells(features.offset)
    are_many = members > 1 and n_leaves >= 2 * members and features.csr_start.shape[0] == 0
    for leaf in range(n_leaves):
        leaf_ints = leaves.ints[leaf]
        leaf_ints[SPLIT_FEATURE] = f
        leaf_ints[SPLIT_BIN] = b
        leaf_ints[SPLIT_MISSING_LEFT] = missing_left
        leaf_ints[LEAF_ALONE] = 1 if are_many and is_small(leaf, members, leaves.ints, ALONE_ROWS) else 0
        cells = histograms.pool[leaf_ints[LEAF_HIST]][features.offset[f] :]
        left_sums = leaf_ints[LEAF_SUMS + n_planes : LEAF_SUMS + 2 * n_planes]
        sum_left_side(cells, n_cells, b, missing_left, left_sums)
        leaves.floats[leaf, LEAF_GAIN] = gain / np.float64(n_leaves)
        split_node(leaf, leaves, nodes)


@kernel()
def split_level(member, members, sync, n_leaves, builds_histograms, state):
    """Split all leaves of a level: large ones together, then small ones each by the member that is free."""
    first_node = state.nodes.info[N_NODES] - 2 * n_leaves
    for phase in range(2):
        alone = phase == 1
        leaf = atomic_add(sync, COUNTER, 1) if alone else np.int64(0)
        while leaf < n_leaves:
            if (state.leaves.ints[leaf, LEAF_ALONE] != 0) == alone:
                node = first_node + 2 * leaf
                if split_leaf(member, members, sync, alone, leaf, n_leaves + leaf, node, builds_histograms, state) != 0:
                    return 1
            leaf = atomic_add(sync, COUNTER, 1) if alone else leaf + 1
        if barrier(sync, members) != 0:
            return 1
    return 0


@kernel(GROW_SIGNATURE + ", f64[:,:,:,:], f64[:,:]")
def grow_symmetric_tree(
    member, members, sync, bins, features, params, gradients, partition, scales, scratch, histograms, leaves,
    candidates, sampler, random_key, nodes, scores, bests,
):  # fmt: skip
    """Grow a symmetric tree of at most ``max_depth`` levels from the quantised rows."""
    state = GrowState(
        bins, features, params, partition, scales, scratch, histograms, leaves, candidates, sampler, random_key, nodes
    )
    n_planes = partition.pairs.shape[0]
    if init_symmetric_root(member, members, sync, state) != 0:
        return
    is_columnar = builds_columns(state)
    buffer = scratch.ints[member][2 * n_planes :]
    n_leaves = 1
    for depth in range(params.max_depth):
        if 2 * n_leaves > params.max_leaves or not can_split(partition.rows.shape[0], depth, params):
            break
        sample_features(
            member, features.slices[member], features.slices[member + 1], 0, 0, depth, depth,
            features.ids, sampler, random_key, candidates.allowed,
        )  # fmt: skip
        terms = scratch.floats[member][4:6]
        if is_columnar:
            if build_and_search_level(
                member, members, sync, n_leaves, depth, state, buffer, terms, scores[member], bests[member]
            ) != 0:  # fmt: skip
                return
        else:
            search_level_features(
                member, n_leaves, features, params, scales.histogram, histograms, leaves, candidates.allowed, buffer,
                terms, scores[member], bests[member],
            )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        out = scratch.floats[member][4:8]
        winner = choose_level_split(
            members, n_leaves, n_planes, features.ids, params, scales.histogram, leaves, out, bests
        )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        if winner < 0:
            break
        if member == 0:
            set_level_split(members, n_leaves, bests[winner], out[2], features, histograms, leaves, nodes)
            follow_split(0, 0, 0, 0, np.int64(bests[winner, BEST_FEATURE]), sampler)
            atomic_store(sync, COUNTER, 0)
        if barrier(sync, members) != 0:
            return
        builds_histograms = depth + 1 < params.max_depth and 4 * n_leaves <= params.max_leaves and not is_columnar
        if split_level(member, members, sync, n_leaves, builds_histograms, state) != 0:
            return
        n_leaves *= 2
    set_leaf_values(
        member, members, sync, n_leaves, features.monotone, params, gradients, partition, scales, scratch, leaves, nodes
    )
