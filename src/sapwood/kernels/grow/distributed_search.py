"""The best split among the features of one worker, for a leaf or for a level: workers compare theirs afterwards."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.symmetric_tree import set_level_split
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.layout import (
    CANDIDATE_COUNTED,
    CANDIDATE_SUMS,
    CANDIDATE_WORDS,
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_GAIN,
    LEAF_HIST,
    LEAF_LOWER,
    LEAF_NODE,
    LEAF_SUMS,
    LEAF_UPPER,
)
from sapwood.kernels.split.best_split import (
    COUNTED,
    COUNTED_WITH_MISSING,
    best_feature,
    draw_split_noise,
    has_missing,
    set_split,
)
from sapwood.kernels.split.categorical import count_left_rows, scan_categories
from sapwood.kernels.split.column_sampler import sample_features
from sapwood.kernels.split.leaf_size import count_bins, is_within_limits, limit_bins, proves_both_sides
from sapwood.kernels.split.numeric import locate_split
from sapwood.kernels.split.symmetric import best_member, choose_level_split, search_level_features
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
# In place of the one feature that is searched again with the numbers of its rows.
ALL_FEATURES = -1


@kernel("i64, i64, BinMatrix, RowPartition, FeatureMeta, LeafTable, i64[:]")
def count_bins_step(leaf, f, bins, partition, features, leaves, counts):
    """Count the rows of a leaf in each bin of feature f."""
    begin = leaves.ints[leaf, LEAF_BEGIN]
    end = leaves.ints[leaf, LEAF_END]
    if features.log2_bits == 3:
        count_bins(bins.bins_u8[features.column[f]], features.n_bins[f], partition.rows, begin, end, counts)
    else:
        count_bins(bins.bins_u16[features.column[f]], features.n_bins[f], partition.rows, begin, end, counts)


@kernel()
def has_min_groups(f, features, params):
    """Return whether splits of a feature depend on the number of rows of each category."""
    return features.category_kind[f] != 0 and max(params.min_category_rows, params.min_group_rows) > 1


@kernel()
def is_counted_split_allowed(f, counts, n_rows, features, params, limits, candidate):
    """Return whether the split of a feature leaves enough rows on both sides, by its rows per bin in ``counts``.

    ``limits`` takes the numeric splits that do.
    """
    min_rows = params.min_child_samples
    if features.category_kind[f] != 0:
        candidate[CANDIDATE_COUNTED] = COUNTED
        n_left = count_left_rows(candidate[CANDIDATE_WORDS], counts, features.n_bins[f])
        return not has_min_groups(f, features, params) and n_left >= min_rows and n_rows - n_left >= min_rows
    limit_bins(counts, features.n_bins[f], min_rows, limits)
    candidate[CANDIDATE_COUNTED] = COUNTED_WITH_MISSING if counts[0] > 0 else COUNTED
    return is_within_limits(candidate, limits)


@kernel()
def propose_split(leaf, first, last, features, params, scales, histograms, leaves, candidates, buffer, out):
    """Give a leaf the best split of the features ``first`` to ``last``.

    ``out`` takes the score that workers compare splits by, and 1 if both children are known to be large enough.
    """
    n_planes = candidates.split.shape[2] - CANDIDATE_SUMS
    leaves.floats[leaf, LEAF_GAIN] = 0.0
    out[0] = -INFINITE
    out[1] = 1.0
    if first == last:
        return
    node = leaves.ints[leaf, LEAF_NODE]
    f = best_feature(candidates.gain[0], first, last, node, params)
    gain = candidates.gain[0, f]
    if gain <= 0.0:
        return
    candidate = candidates.split[0, f]
    min_rows = params.min_child_samples
    if candidate[CANDIDATE_COUNTED] == 0 and has_min_groups(f, features, params):
        out[1] = 0.0
    elif candidate[CANDIDATE_COUNTED] == 0 and min_rows > 1:
        sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
        out[1] = np.float64(
            proves_both_sides(candidate, sums, min_rows, params.wide, scales.hessian_range, buffer[:n_planes])
        )
    out[0] = gain + draw_split_noise(params, node, f) if params.split_noise > 0.0 else gain
    histogram = histograms.pool[leaves.ints[leaf, LEAF_HIST]]
    missing = has_missing(histogram, features.offset[f], count_cells(features.offset), n_planes)
    missing = missing or candidate[CANDIDATE_COUNTED] == COUNTED_WITH_MISSING
    set_split(leaf, f, gain, candidate, missing, params.wide, leaves)


@kernel(
    "i64, i64, i64, FeatureMeta, GrowParams, Scales, Scratch, Histograms, LeafTable, SplitCandidates, ColumnSampler, "
    "RandomKey, f64[:]"
)
def search_leaf(
    member, members, sync, leaf, n_rows, counted,
    features, params, scales, scratch, histograms, leaves, candidates, sampler, random_key, out,
):  # fmt: skip
    """Search the features of this worker for the best split of a leaf; ``out`` is that of ``propose_split``.

    ``n_rows`` is the number of rows of the leaf at all workers. ``counted`` is ALL_FEATURES, or the feature whose rows
    were counted into ``bin_counts``, as its best split may leave a child too small: it alone is searched again, among
    the splits that do not.
    """
    n_planes = candidates.split.shape[2] - CANDIDATE_SUMS
    sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
    buffer = scratch.ints[member][2 * n_planes :]
    histogram = histograms.pool[leaves.ints[leaf, LEAF_HIST]]
    first = features.slices[member]
    last = features.slices[member + 1]
    limits = candidates.limits[candidates.limits.shape[0] - 1]
    counts = histograms.bin_counts[0]
    if counted == ALL_FEATURES:
        sample_features(
            member, first, last, 0, leaf, leaves.ints[leaf, LEAF_NODE], leaves.ints[leaf, LEAF_DEPTH],
            features.ids, sampler, random_key, candidates.allowed,
        )  # fmt: skip
    elif first <= counted < last:
        limits = candidates.limits[member]
        candidate = candidates.split[0, counted]
        is_allowed = is_counted_split_allowed(counted, counts, n_rows, features, params, limits, candidate)
        first = counted
        last = counted if is_allowed else counted + 1
    else:
        last = first
    for f in range(first, last):
        candidate = candidates.split[0, f]
        if counted == ALL_FEATURES:
            candidates.gain[0, f] = 0.0
            candidate[CANDIDATE_COUNTED] = 0
        if candidates.allowed[0, f] != 0:
            lower = leaves.floats[leaf, LEAF_LOWER]
            upper = leaves.floats[leaf, LEAF_UPPER]
            if features.category_kind[f] != 0:
                n_counted = 0 if counted == ALL_FEATURES else n_rows
                candidates.gain[0, f] = scan_categories(
                    histogram, f, features, sums, lower, upper, counts, n_counted, params, scales, buffer, candidate
                )
            else:
                candidates.gain[0, f] = locate_split(
                    histogram, f, features, sums, lower, upper, limits, params, scales, buffer, candidate
                )
    if barrier(sync, members) != 0 or member != 0:
        return
    begin = features.slices[0]
    propose_split(
        leaf, begin, features.slices[members], features, params, scales, histograms, leaves, candidates, buffer, out
    )  # fmt: skip


@kernel(
    "i64, i64, FeatureMeta, GrowParams, Scales, Scratch, Histograms, LeafTable, SplitCandidates, ColumnSampler, "
    "RandomKey, f64[:,:,:,:], f64[:,:], f64[:]"
)
def search_level(
    member, members, sync, n_leaves, depth,
    features, params, scales, scratch, histograms, leaves, candidates, sampler, random_key, scores, bests, out,
):  # fmt: skip
    """Find the best split of this worker's features for all leaves of a level, into the first row of ``bests``.

    ``out`` takes its gain, 0 if no split has any.
    """
    n_planes = candidates.split.shape[2] - CANDIDATE_SUMS
    buffer = scratch.ints[member][2 * n_planes :]
    sample_features(
        member, features.slices[member], features.slices[member + 1], 0, 0, depth, depth,
        features.ids, sampler, random_key, candidates.allowed,
    )  # fmt: skip
    search_level_features(
        member, n_leaves, features, params, scales.histogram, histograms, leaves, candidates.allowed, buffer,
        scratch.floats[member][4:6], scores[member], bests[member],
    )  # fmt: skip
    if barrier(sync, members) != 0 or member != 0:
        return
    winner = best_member(members, features.ids, bests)
    for j in range(bests.shape[1]):
        bests[0, j] = bests[winner, j]
    level_out = scratch.floats[member][4:8]
    choose_level_split(1, n_leaves, n_planes, features.ids, params, scales.histogram, leaves, level_out, bests)
    out[0] = level_out[2]


@kernel("i64, f64[:], f64, FeatureMeta, Histograms, LeafTable, TreeNodes")
def split_level_nodes(n_leaves, best, gain, features, histograms, leaves, nodes):
    """Give every leaf of a level the same split, and split their nodes.

    The sums of left sides are right where the histograms of this worker hold the feature.
    """
    set_level_split(1, n_leaves, best, gain, features, histograms, leaves, nodes)
