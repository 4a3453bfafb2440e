"""The steps of growing a tree, one by one, for ranks that talk to each other in between.

``histogram_tree.py`` grows a tree in a single call. Where rows or features are spread over ranks, what one rank knows
has to reach the others between steps, so each step is a kernel here: made of the same parts, with the same results.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.dense_bins import add_planes, clear_cells
from sapwood.kernels.histogram.quantised_gradients import (
    OUTPUT_KEY_STEP,
    add_up,
    find_max,
    number_rows,
    reset_range,
    round_packed,
    round_wide,
)
from sapwood.kernels.layout import (
    CANDIDATE_BIN,
    CANDIDATE_COUNTED,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    LEAF_GAIN,
    LEAF_LOWER,
    LEAF_NODE,
    LEAF_SUMS,
    LEAF_UPPER,
    N_LEAVES,
    N_NODES,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_sums, set_node_values, sum_leaf_pairs
from sapwood.kernels.numeric.random import ROUNDING, stream_key
from sapwood.kernels.split.best_split import (
    COUNTED,
    COUNTED_WITH_MISSING,
    best_feature,
    has_missing,
    limit_bins,
    proves_min_rows,
    set_split,
)
from sapwood.kernels.split.numeric import bounded_value, locate_split
from sapwood.kernels.split.symmetric import best_member, choose_level_split, search_level_features
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

# Steps of quantising: after each, ranks agree on what they have found.
FIND_MAX, ADD_UP, ROUND = range(3)
# What to search: every feature, or one of them again, whose rows were counted.
ALL_FEATURES = -1


@kernel("i64, RowPartition, Gradients, i64, RandomKey, Scales, Scratch, i64[:]")
def quantise_step(member, members, sync, step, rows, grad, wide, draws, scales, scratch, info):
    """Do a step of ``quantise.quantise`` for the rank's rows; every member leaves its findings in ``scratch``."""
    n = rows.rows.shape[0]
    start = member * n // members
    stop = (member + 1) * n // members
    order = rows.rows
    weight = grad.weight
    key = stream_key(draws.seed, ROUNDING, draws.round)
    if step == FIND_MAX:
        number_rows(order, grad.pairs.shape[1] // 2, start, stop)
    for k in range(grad.pairs.shape[0]):
        pairs = grad.pairs[k]
        out = scratch.ints[member, 2 * k : 2 * k + 2]
        quantum = scales.histogram[k]
        if step == FIND_MAX:
            find_max(pairs, weight, order, start, stop, scratch.floats[member, 2 * k : 2 * k + 2], info)
        elif step == ADD_UP:
            add_up(pairs, weight, order, start, stop, scales.exact[k], out)
        elif wide != 0:
            reset_range(out)
            round_wide(pairs, weight, order, start, stop, quantum, rows.pairs[2 * k : 2 * k + 2], out)
        else:
            reset_range(out)
            own = key + np.uint64(k) * OUTPUT_KEY_STEP
            round_packed(pairs, weight, grad.row_ids, order, start, stop, quantum, own, rows.pairs[k], out)


@kernel("u64[:,:,:], u32[:], i64[:,:], i64, i64, i64[:], i64, i64[:], i64[:]")
def build_slice(member, members, sync, tiles, order, pairs, first, last, share, bits, start, histogram):
    """Build the histogram of the rows at ``first`` to ``last`` for the features that are shared out."""
    own = share[member]
    end = share[member + 1]
    n_cells = start[start.shape[0] - 1]
    for p in range(pairs.shape[0]):
        clear_cells(histogram, p * n_cells + start[own], p * n_cells + start[end])
    add_planes(tiles, order, pairs, first, last, own, end, bits, start, histogram)


@kernel("u8[:], u32[:], u32[:], i64[:]")
def partition_marked(marks, order, spare, span):
    """Move the rows at ``span`` that are marked to the front, the others behind them, each in their order.

    ``marks`` has an entry for every position of the span. The end of it becomes that of the marked ones.
    """
    at = np.uint64(span[0])
    behind = np.uint64(0)
    for k in range(np.uint64(marks.shape[0])):
        i = np.uint64(span[0]) + k
        if marks[k] != 0:
            order[at] = order[i]
            at += np.uint64(1)
        else:
            spare[behind] = order[i]
            behind += np.uint64(1)
    span[1] = np.int64(at)
    for k in range(behind):
        order[at + k] = spare[k]


@kernel("i64[:], i64[:], f64, f64, GrowParams, f64[:,:], f64[:]")
def find_midpoint(left, right, low, high, rules, quantum, out):
    """The middle of what two leaves with these sums would answer between their bounds. One output."""
    below = bounded_value(left, 0, low, high, rules, quantum)
    above = bounded_value(right, 0, low, high, rules, quantum)
    out[0] = 0.5 * below + 0.5 * above


@kernel()
def propose_split(leaf, own, end, histogram, feature, rules, scales, leaves, search, running, out):
    """Give a leaf the best cut of the features ``own`` to ``end``; say whether its sides surely have enough rows."""
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    leaves.floats[leaf, LEAF_GAIN] = 0.0
    out[0] = 1
    if own == end:
        return
    f = best_feature(search.gain[0], own, end, leaves.ints[leaf, LEAF_NODE], rules)
    if search.gain[0, f] <= 0.0:
        return
    cut = search.split[0, f]
    rest = running[:n_planes]
    for p in range(n_planes):
        rest[p] = leaves.ints[leaf, LEAF_SUMS + p] - cut[CANDIDATE_SUMS + p]
    least = rules.min_child_samples
    if cut[CANDIDATE_COUNTED] == 0 and least > 1:
        is_sure = proves_min_rows(cut[CANDIDATE_SUMS:], least, rules.wide, scales.hessian_range)
        out[0] = np.int64(is_sure and proves_min_rows(rest, least, rules.wide, scales.hessian_range))
    missing = has_missing(histogram, feature.offset[f], feature.offset[feature.offset.shape[0] - 1], n_planes)
    missing = missing or cut[CANDIDATE_COUNTED] == COUNTED_WITH_MISSING
    set_split(leaf, f, search.gain[0, f], cut, missing, rules.wide, leaves)


@kernel("i64[:], i64, i64, i64, FeatureMeta, GrowParams, Scales, Scratch, i64[:], LeafTable, SplitCandidates, i64[:]")
def search_leaf(
    member, members, sync, histogram, leaf, again, n_rows, feature, rules, scales, scratch, counts, leaves, search, out
):
    """Search the rank's features for the best cut of a leaf of ``n_rows`` rows in all ranks.

    ``again`` is a feature whose cut may leave too few rows on a side: with its ``counts`` of rows in each bin, it is
    searched between the cuts that do not. ``out`` says whether the sides of the best cut surely have enough.
    """
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
    running = scratch.ints[member][2 * n_planes :]
    own = feature.slices[member]
    end = feature.slices[member + 1]
    limits = search.limits[search.limits.shape[0] - 1]
    if again != ALL_FEATURES:
        limits = search.limits[member]
        if own <= again < end:
            cut = search.split[0, again]
            limit_bins(counts, feature.n_bins[again], rules.min_child_samples, limits)
            cut[CANDIDATE_COUNTED] = COUNTED_WITH_MISSING if counts[0] > 0 else COUNTED
            side = cut[CANDIDATE_MISSING_LEFT]
            is_allowed = limits[2 * side] <= cut[CANDIDATE_BIN] <= limits[2 * side + 1]
            own = again
            end = again if is_allowed else again + 1
        else:
            end = own
    for f in range(own, end):
        cut = search.split[0, f]
        if again == ALL_FEATURES:
            search.gain[0, f] = 0.0
            cut[CANDIDATE_COUNTED] = 0
        if search.allowed[0, f] != 0:
            low = leaves.floats[leaf, LEAF_LOWER]
            high = leaves.floats[leaf, LEAF_UPPER]
            search.gain[0, f] = locate_split(
                histogram, f, feature, sums, low, high, limits, rules, scales, running, cut
            )
    if barrier(sync, members) != 0 or member != 0:
        return
    first = feature.slices[0]
    propose_split(
        leaf, first, feature.slices[members], histogram, feature, rules, scales, leaves, search, running, out
    )  # fmt: skip


@kernel(
    "i64, FeatureMeta, GrowParams, Scales, Scratch, Histograms, LeafTable, SplitCandidates, "
    "f64[:,:,:,:], f64[:,:], f64[:]"
)
def search_level(
    member, members, sync, n_leaves, feature, rules, scales, scratch, cells, leaves, search, worth, bests, out
):
    """Find the best cut of the rank's features for all leaves of a level, into the first line of ``bests``.

    ``out`` takes its gain, 0 if no cut is worth anything.
    """
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    running = scratch.ints[member][2 * n_planes :]
    search_level_features(
        member, n_leaves, feature, rules, scales.histogram, cells, leaves, search.allowed, running,
        worth[member], bests[member],
    )  # fmt: skip
    if barrier(sync, members) != 0 or member != 0:
        return
    winner = best_member(members, feature.ids, bests)
    for j in range(bests.shape[1]):
        bests[0, j] = bests[winner, j]
    found = scratch.floats[member][4:8]
    choose_level_split(1, n_leaves, n_planes, feature.ids, rules, scales.histogram, leaves, found, bests)
    out[0] = found[2]


@kernel("i64, Gradients, u32[:], f64[:,:], i64[:,:], i64[:,:]")
def sum_leaf_rows(member, members, sync, n_leaves, grad, order, exact, leaf_integers, partial):
    """Add the true pairs and weights of the rank's rows, leaf by leaf, into the member's line of ``partial``."""
    sum_leaf_pairs(member, members, n_leaves, leaf_integers, grad, order, exact, partial)


@kernel("i64[:,:], f64, i64[:], GrowParams, f64[:,:], i64[:,:], TreeNodes")
def set_true_values(leaf_integers, weight_scale, monotone, rules, exact, partial, nodes):
    """Give the nodes their true sums and values, from the sums of all ranks in the first line of ``partial``."""
    n_leaves = leaf_integers.shape[0]
    nodes.info[N_LEAVES] = n_leaves
    set_leaf_sums(1, n_leaves, leaf_integers, weight_scale, exact, partial, nodes)
    set_node_values(nodes.ints, nodes.floats, nodes.info[N_NODES], exact.shape[0], rules, monotone)
