"""The steps of growing a tree, one by one, for workers that exchange what they have found in between.

``histogram_tree.py`` and ``symmetric_tree.py`` grow a tree in a single call. Where rows or features are split between
workers, each step is a kernel here, made of the same parts with the same results.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.leaf_queue import (
    add_children,
    add_leaf,
    init_node,
    next_leaf,
    release_histograms,
    reserve_histograms,
    set_child_bounds,
    set_child_sums,
    split_node,
)
from sapwood.kernels.grow.row_partition import partition_leaf
from sapwood.kernels.grow.symmetric_tree import set_level_split
from sapwood.kernels.histogram.builder import sum_root
from sapwood.kernels.histogram.dense_bins import add_planes, clear_cells
from sapwood.kernels.histogram.quantised_gradients import (
    add_up,
    find_max,
    merge_hessian_ranges,
    number_rows,
    reset_range,
    round_rows,
    set_safe_scales,
    set_scales,
)
from sapwood.kernels.layout import (
    CANDIDATE_BIN,
    CANDIDATE_COUNTED,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_GAIN,
    LEAF_HIST,
    LEAF_LOWER,
    LEAF_NODE,
    LEAF_SUMS,
    LEAF_UPPER,
    N_LEAVES,
    N_NODES,
    SPLIT_FEATURE,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_sums, set_node_values, sum_leaf_pairs
from sapwood.kernels.split.best_split import (
    COUNTED,
    COUNTED_WITH_MISSING,
    best_feature,
    count_bins,
    draw_split_noise,
    has_missing,
    limit_bins,
    proves_min_rows,
    set_split,
)
from sapwood.kernels.split.column_sampler import narrow_groups, sample_features
from sapwood.kernels.split.numeric import locate_split
from sapwood.kernels.split.symmetric import best_member, choose_level_split, search_level_features
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
# Steps of quantising: after each, workers combine what they have found.
FIND_MAX, ADD_UP, ROUND = range(3)
# In place of the one feature that is searched again with the numbers of its rows.
ALL_FEATURES = -1


# --- quantising -------------------------------------------------------------------------------------------------------


@kernel("i64, RowPartition, Gradients, i64, RandomKey, Scales, Scratch, i64[:]")
def quantise_step(member, members, sync, step, rows, grad, wide, draws, scales, scratch, info):
    """Do a step of ``quantise`` for the rows of this worker; each member writes what it finds to ``scratch``."""
    n = rows.rows.shape[0]
    start = member * n // members
    stop = (member + 1) * n // members
    n_outputs = grad.pairs.shape[0]
    if step == FIND_MAX:
        number_rows(rows.rows, grad.pairs.shape[1] // 2, start, stop)
        for k in range(n_outputs):
            top = scratch.floats[member, 2 * k : 2 * k + 2]
            find_max(grad.pairs[k], grad.weight, rows.rows, start, stop, top, info)
    elif step == ADD_UP:
        for k in range(n_outputs):
            out = scratch.ints[member, 2 * k : 2 * k + 2]
            add_up(grad.pairs[k], grad.weight, rows.rows, start, stop, scales.exact[k], out)
    else:
        for k in range(n_outputs):
            reset_range(scratch.ints[member, 2 * k : 2 * k + 2])
        round_rows(rows, grad, start, stop, wide, False, draws, scales.histogram, scratch.ints[member])


@kernel("i64, i64, i64, Scales, Scratch")
def set_scales_step(step, n, wide, scales, scratch):
    """Set scales from what a step has found in the n rows of all workers, in the first row of ``scratch``."""
    if step == FIND_MAX:
        set_safe_scales(1, n, scales, scratch)
    elif step == ADD_UP:
        set_scales(1, n, wide, scales, scratch)
    else:
        merge_hessian_ranges(1, scales, scratch)


# --- leaves -----------------------------------------------------------------------------------------------------------


@kernel("RowPartition, Scratch")
def sum_root_step(member, members, sync, rows, scratch):
    """Sum the quantised pairs of the rows of this worker, into the first row of ``scratch``."""
    sum_root(member, members, sync, rows.rows, rows.pairs, scratch.ints, scratch.ints[member][: rows.pairs.shape[0]])


@kernel("i64, i64[:], LeafTable, TreeNodes")
def init_root_step(n_rows, sums, leaves, nodes):
    """Make the root a leaf with ``n_rows`` rows of this worker and the sums of all workers."""
    add_leaf(0, 0, n_rows, 0, 0, 0, sums, -INFINITE, INFINITE, leaves)
    init_node(0, nodes)


@kernel("i64, i64, LeafTable, i64[:]")
def find_next_leaf(n_leaves, growth, leaves, out):
    """Find the leaf to split next; -1 if there is none."""
    out[0] = next_leaf(n_leaves, growth, leaves.ints, leaves.floats, False)


@kernel("i64, BinMatrix, FeatureMeta, RowPartition, LeafTable, SplitCandidates, i64[:]")
def partition_step(member, members, sync, leaf, bins, feature, rows, leaves, search, out):
    """Partition the rows of a leaf by its split; ``out`` takes the number of rows that went left."""
    decoded = bins.decoded[member]
    n_left = partition_leaf(member, members, sync, bins, decoded, leaves.ints[leaf], feature, rows, search.n_left)
    if member == 0:
        out[0] = n_left


@kernel("i64, i64, i64, i64, FeatureMeta, GrowParams, Scales, Scratch, LeafTable, ColumnSampler, TreeNodes")
def split_leaf_step(leaf, new, child, n_left, feature, rules, scales, scratch, leaves, choice, nodes):
    """Replace a leaf whose rows are partitioned by its children, the right one as leaf ``new``.

    The node of the left child is ``child``, or -1 if the leaf's node is to be split first. The left child takes the
    leaf's histogram.
    """
    n_planes = (leaves.ints.shape[1] - LEAF_SUMS) // 2
    sums = scratch.ints[0][: 2 * n_planes]
    bounds = scratch.floats[0][:4]
    f = leaves.ints[leaf, SPLIT_FEATURE]
    set_child_sums(leaves.ints[leaf], sums)
    set_child_bounds(leaf, sums, bounds, feature.monotone[f], rules, scales.histogram, leaves)
    narrow_groups(0, leaf, new, f, choice)
    node = split_node(leaf, leaves, nodes) if child < 0 else child
    add_children(leaf, new, node, n_left, leaves.ints[leaf, LEAF_HIST], -1, sums, bounds, leaves, nodes)


@kernel("i64, i64, i64, i64, LeafTable, i64[:]")
def assign_histograms(leaf, new, small, free, leaves, hists):
    """Give the smaller of two children a ``free`` histogram (-1: none) and the other that of their parent.

    A histogram that is missing is taken from the leaf of least gain. ``small`` is ``leaf`` or ``new``.
    """
    hists[0] = free
    hists[1] = leaves.ints[leaf, LEAF_HIST]
    reserve_histograms(new + 1, hists, leaves)
    release_histograms(new + 1, hists[0], hists[1], leaves.ints)
    leaves.ints[small, LEAF_HIST] = hists[0]
    leaves.ints[leaf + new - small, LEAF_HIST] = hists[1]


# --- histograms and splits --------------------------------------------------------------------------------------------


@kernel("i64, i64, BinMatrix, RowPartition, FeatureMeta, i64[:]")
def build_slices(member, members, sync, begin, end, bins, rows, feature, histogram):
    """Build the histogram of the rows at ``begin`` to ``end``, each member for its slice of the features."""
    first = feature.slices[member]
    last = feature.slices[member + 1]
    offset = feature.offset
    n_cells = offset[offset.shape[0] - 1]
    for p in range(rows.pairs.shape[0]):
        clear_cells(histogram, p * n_cells + offset[first], p * n_cells + offset[last])
    add_planes(bins.tiles, rows.rows, rows.pairs, begin, end, first, last, feature.log2_bin_bits, offset, histogram)


@kernel("i64, i64, BinMatrix, RowPartition, FeatureMeta, LeafTable, i64[:]")
def count_bins_step(leaf, f, bins, rows, feature, leaves, counts):
    """Count the rows of a leaf in each bin of feature f."""
    begin = leaves.ints[leaf, LEAF_BEGIN]
    end = leaves.ints[leaf, LEAF_END]
    if feature.log2_bin_bits == 3:
        count_bins(bins.bins_u8[feature.column[f]], feature.n_bins[f], rows.rows, begin, end, counts)
    else:
        count_bins(bins.bins_u16[feature.column[f]], feature.n_bins[f], rows.rows, begin, end, counts)


@kernel()
def propose_split(leaf, first, last, feature, rules, scales, cells, leaves, search, running, out):
    """Give a leaf the best split of the features ``first`` to ``last``.

    ``out`` takes the score that workers compare splits by, and 1 if both children are known to be large enough.
    """
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    leaves.floats[leaf, LEAF_GAIN] = 0.0
    out[0] = -INFINITE
    out[1] = 1.0
    if first == last:
        return
    node = leaves.ints[leaf, LEAF_NODE]
    f = best_feature(search.gain[0], first, last, node, rules)
    gain = search.gain[0, f]
    if gain <= 0.0:
        return
    split = search.split[0, f]
    right = running[:n_planes]
    for p in range(n_planes):
        right[p] = leaves.ints[leaf, LEAF_SUMS + p] - split[CANDIDATE_SUMS + p]
    min_rows = rules.min_child_samples
    if split[CANDIDATE_COUNTED] == 0 and min_rows > 1:
        is_proven = proves_min_rows(split[CANDIDATE_SUMS:], min_rows, rules.wide, scales.hessian_range)
        is_proven = is_proven and proves_min_rows(right, min_rows, rules.wide, scales.hessian_range)
        out[1] = np.float64(is_proven)
    out[0] = gain + draw_split_noise(rules, node, f) if rules.split_noise > 0.0 else gain
    histogram = cells.pool[leaves.ints[leaf, LEAF_HIST]]
    missing = has_missing(histogram, feature.offset[f], feature.offset[feature.offset.shape[0] - 1], n_planes)
    missing = missing or split[CANDIDATE_COUNTED] == COUNTED_WITH_MISSING
    set_split(leaf, f, gain, split, missing, rules.wide, leaves)


@kernel(
    "i64, i64, FeatureMeta, GrowParams, Scales, Scratch, Histograms, LeafTable, SplitCandidates, ColumnSampler, "
    "RandomKey, f64[:]"
)
def search_leaf(
    member, members, sync, leaf, counted,
    feature, rules, scales, scratch, cells, leaves, search, choice, draws, out,
):  # fmt: skip
    """Search the features of this worker for the best split of a leaf; ``out`` is that of ``propose_split``.

    ``counted`` is ALL_FEATURES, or the feature whose rows were counted into ``bin_counts``, as its best split may leave
    a child too small: it alone is searched again, among the splits that do not.
    """
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
    running = scratch.ints[member][2 * n_planes :]
    histogram = cells.pool[leaves.ints[leaf, LEAF_HIST]]
    first = feature.slices[member]
    last = feature.slices[member + 1]
    limits = search.limits[search.limits.shape[0] - 1]
    if counted == ALL_FEATURES:
        sample_features(
            member, first, last, 0, leaf, leaves.ints[leaf, LEAF_NODE], leaves.ints[leaf, LEAF_DEPTH],
            feature.ids, choice, draws, search.allowed,
        )  # fmt: skip
    elif first <= counted < last:
        limits = search.limits[member]
        split = search.split[0, counted]
        counts = cells.bin_counts[0]
        limit_bins(counts, feature.n_bins[counted], rules.min_child_samples, limits)
        split[CANDIDATE_COUNTED] = COUNTED_WITH_MISSING if counts[0] > 0 else COUNTED
        side = split[CANDIDATE_MISSING_LEFT]
        is_allowed = limits[2 * side] <= split[CANDIDATE_BIN] <= limits[2 * side + 1]
        first = counted
        last = counted if is_allowed else counted + 1
    else:
        last = first
    for f in range(first, last):
        split = search.split[0, f]
        if counted == ALL_FEATURES:
            search.gain[0, f] = 0.0
            split[CANDIDATE_COUNTED] = 0
        if search.allowed[0, f] != 0:
            lower = leaves.floats[leaf, LEAF_LOWER]
            upper = leaves.floats[leaf, LEAF_UPPER]
            search.gain[0, f] = locate_split(
                histogram, f, feature, sums, lower, upper, limits, rules, scales, running, split
            )
    if barrier(sync, members) != 0 or member != 0:
        return
    begin = feature.slices[0]
    propose_split(
        leaf, begin, feature.slices[members], feature, rules, scales, cells, leaves, search, running, out
    )  # fmt: skip


@kernel(
    "i64, i64, FeatureMeta, GrowParams, Scales, Scratch, Histograms, LeafTable, SplitCandidates, ColumnSampler, "
    "RandomKey, f64[:,:,:,:], f64[:,:], f64[:]"
)
def search_level(
    member, members, sync, n_leaves, depth,
    feature, rules, scales, scratch, cells, leaves, search, choice, draws, scores, bests, out,
):  # fmt: skip
    """Find the best split of this worker's features for all leaves of a level, into the first row of ``bests``.

    ``out`` takes its gain, 0 if no split has any.
    """
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    running = scratch.ints[member][2 * n_planes :]
    sample_features(
        member, feature.slices[member], feature.slices[member + 1], 0, 0, depth, depth,
        feature.ids, choice, draws, search.allowed,
    )  # fmt: skip
    search_level_features(
        member, n_leaves, feature, rules, scales.histogram, cells, leaves, search.allowed, running,
        scores[member], bests[member],
    )  # fmt: skip
    if barrier(sync, members) != 0 or member != 0:
        return
    winner = best_member(members, feature.ids, bests)
    for j in range(bests.shape[1]):
        bests[0, j] = bests[winner, j]
    found = scratch.floats[member][4:8]
    choose_level_split(1, n_leaves, n_planes, feature.ids, rules, scales.histogram, leaves, found, bests)
    out[0] = found[2]


@kernel("i64, f64[:], f64, FeatureMeta, Histograms, LeafTable, TreeNodes")
def split_level_nodes(n_leaves, best, gain, feature, cells, leaves, nodes):
    """Give every leaf of a level the same split, and split their nodes.

    The sums of left sides are right where the histograms of this worker hold the feature.
    """
    n_planes = (leaves.ints.shape[1] - LEAF_SUMS) // 2
    set_level_split(1, n_leaves, n_planes, best, gain, feature, cells, leaves, nodes)


# --- leaf values ------------------------------------------------------------------------------------------------------


@kernel("i64, Gradients, u32[:], f64[:,:], i64[:,:], i64[:,:]")
def sum_leaf_rows(member, members, sync, n_leaves, grad, order, exact, leaf_ints, leaf_sums):
    """Add the true pairs and weights of this worker's rows, leaf by leaf, to the member's row of ``leaf_sums``."""
    sum_leaf_pairs(member, members, n_leaves, leaf_ints, grad, order, exact, leaf_sums)


@kernel("i64[:,:], f64, i64[:], GrowParams, f64[:,:], i64[:,:], TreeNodes")
def set_true_values(leaf_ints, weight_scale, monotone, rules, exact, leaf_sums, nodes):
    """Give the nodes their true sums and values, from the sums of all workers in the first row of ``leaf_sums``."""
    n_leaves = leaf_ints.shape[0]
    nodes.info[N_LEAVES] = n_leaves
    set_leaf_sums(1, n_leaves, leaf_ints, weight_scale, exact, leaf_sums, nodes)
    set_node_values(nodes.ints, nodes.floats, nodes.info[N_NODES], exact.shape[0], rules, monotone)
