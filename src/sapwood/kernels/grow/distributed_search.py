"""The best splits among the features of one worker, for leaves or for a level: workers compare theirs afterwards."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.leaf_batches import STATE_SIGNATURE
from sapwood.kernels.grow.symmetric_tree import set_level_split, sum_left_side
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.layout import (
    CANDIDATE_BIN,
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
    GrowState,
    NewLeaf,
)
from sapwood.kernels.split.best_split import (
    adopt_candidate,
    apply_counts,
    best_active_feature,
    draw_split_noise,
    has_min_groups,
    is_large_enough,
    locate_candidate,
)
from sapwood.kernels.split.column_sampler import sample_features
from sapwood.kernels.split.histogram_search import search_features
from sapwood.kernels.split.leaf_size import count_leaf_bins, proves_both_sides
from sapwood.kernels.split.symmetric import (
    BEST_BIN,
    BEST_FEATURE,
    BEST_MISSING_LEFT,
    best_member,
    choose_level_split,
    search_level_features,
)
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf


@kernel()
def read_leaf(leaf, leaves):
    """Return a leaf of the leaf table."""
    ints = leaves.ints[leaf]
    floats = leaves.floats[leaf]
    n_planes = (ints.shape[0] - LEAF_SUMS) // 2
    return NewLeaf(
        ints[LEAF_BEGIN], ints[LEAF_END], ints[LEAF_NODE], ints[LEAF_DEPTH], ints[LEAF_HIST],
        ints[LEAF_SUMS : LEAF_SUMS + n_planes], floats[LEAF_LOWER], floats[LEAF_UPPER],
    )  # fmt: skip


@kernel()
def is_known_large(member, leaf, f, row, buffer, state):
    """Return whether both sides of the candidate of a feature, which is located, are known to be large enough."""
    features = state.features
    params = state.params
    candidate = state.candidates.split[row, f]
    n_planes = candidate.shape[0] - CANDIDATE_SUMS
    if candidate[CANDIDATE_BIN] == 0:
        locate_candidate(member, leaf, f, row, buffer, state)
    if is_large_enough(candidate, f, features, params):
        return True
    sums = state.leaves.ints[leaf][LEAF_SUMS : LEAF_SUMS + n_planes]
    return not has_min_groups(f, features, params) and proves_both_sides(
        candidate, sums, params.min_child_samples, params.wide, state.scales.hessian_range, buffer[:n_planes]
    )


@kernel()
def list_uncounted(member, leaf, row, buffer, state, uncounted):
    """List the features that have to be counted before the split of a leaf is known, followed by −1.

    They are those of the highest gains, before the first one whose candidate is known to leave enough rows.
    """
    features = state.features
    gain = state.candidates.gain[row]
    n = 0
    while n < uncounted.shape[0]:
        f = best_active_feature(
            features.all_active, features.slices, features.ids, gain, state.leaves.ints[leaf, LEAF_NODE], state.params
        )
        if f < 0 or is_known_large(member, leaf, f, row, buffer, state):
            break
        uncounted[n] = f
        gain[f] = -gain[f]  # not considered any more
        n += 1
    for k in range(n):
        gain[uncounted[k]] = -gain[uncounted[k]]
    for k in range(n, uncounted.shape[0]):
        uncounted[k] = -1


@kernel()
def propose_split(member, leaf, row, buffer, state, score, uncounted):
    """Give a leaf the best split of this worker's features, from a ``row`` of the candidates.

    ``score`` takes the score that workers compare splits by, −inf without a split.
    """
    features = state.features
    params = state.params
    node = state.leaves.ints[leaf, LEAF_NODE]
    gain = state.candidates.gain[row]
    state.leaves.floats[leaf, LEAF_GAIN] = 0.0
    score[0] = -INFINITE
    list_uncounted(member, leaf, row, buffer, state, uncounted)
    f = best_active_feature(features.all_active, features.slices, features.ids, gain, node, params)
    if f < 0:
        return
    noise = draw_split_noise(params, node, features.ids[f]) if params.split_noise > 0.0 else 0.0
    score[0] = gain[f] + noise
    adopt_candidate(leaf, f, row, state)


@kernel("i64[:], i64[:], " + STATE_SIGNATURE + ", f64[:], i64[:,:]")
def search_leaves(
    member, members, sync, searched, rows, bins, features, params, partition, scales, scratch, histograms, leaves,
    candidates, sampler, random_key, nodes, scores, uncounted,
):  # fmt: skip
    """Search the features of this worker for the best splits of some leaves.

    They are those at the positions ``rows`` of ``searched``, which are also their rows of the candidates.
    """
    state = GrowState(
        bins, features, params, partition, scales, scratch, histograms, leaves, candidates, sampler, random_key, nodes
    )
    buffer = scratch.ints[member][2 * partition.pairs.shape[0] :]
    for k in range(rows.shape[0]):
        row = rows[k]
        new = read_leaf(searched[row], leaves)
        sample_features(
            member, features.slices[member], features.slices[member + 1], row, searched[row], new.node, new.depth,
            features.ids, sampler, random_key, candidates.allowed,
        )  # fmt: skip
        search_features(member, member + 1, row, new, features.all_active, buffer, state)
    if barrier(sync, members) != 0:
        return
    for k in range(member, rows.shape[0], members):
        row = rows[k]
        propose_split(member, searched[row], row, buffer, state, scores[row : row + 1], uncounted[row])


@kernel("i64[:], i64[:,:], " + STATE_SIGNATURE + ", i64[:,:]")
def count_split_rows(
    member, members, sync, searched, pairs, bins, features, params, partition, scales, scratch, histograms, leaves,
    candidates, sampler, random_key, nodes, counts,
):  # fmt: skip
    """Count the rows that this worker has in each bin, for pairs of a searched leaf (its position) and a feature."""
    state = GrowState(
        bins, features, params, partition, scales, scratch, histograms, leaves, candidates, sampler, random_key, nodes
    )
    for k in range(member, pairs.shape[0], members):
        count_leaf_bins(pairs[k, 1], leaves.ints[searched[pairs[k, 0]]], state, counts[k])


@kernel("i64[:], i64[:,:], " + STATE_SIGNATURE + ", i64[:], i64[:,:], f64[:], i64[:,:]")
def search_counted(
    member, members, sync, searched, pairs, bins, features, params, partition, scales, scratch, histograms, leaves,
    candidates, sampler, random_key, nodes, n_rows, counts, scores, uncounted,
):  # fmt: skip
    """Search some of the searched leaves again whose splits may leave a child too small, by the rows of all workers.

    ``counts`` are those of each bin, for pairs of a leaf and a feature, a leaf's pairs one after the other; ``n_rows``
    are the rows of all leaves. The worker that has a feature searches it again among the splits that leave enough rows
    on both sides.
    """
    state = GrowState(
        bins, features, params, partition, scales, scratch, histograms, leaves, candidates, sampler, random_key, nodes
    )
    buffer = scratch.ints[member][2 * partition.pairs.shape[0] :]
    for k in range(pairs.shape[0]):
        row = pairs[k, 0]
        if row % members != member:
            continue
        leaf = searched[row]
        f = pairs[k, 1]
        if features.slices[0] <= f < features.slices[members]:
            apply_counts(member, leaf, n_rows[leaf], f, row, counts[k], buffer, state)
        if k + 1 == pairs.shape[0] or pairs[k + 1, 0] != row:
            propose_split(member, leaf, row, buffer, state, scores[row : row + 1], uncounted[row])


# --- symmetric trees --------------------------------------------------------------------------------------------------


@kernel(
    "i64, i64, FeatureMeta, GrowParams, Scales, Scratch, Histograms, LeafTable, SplitCandidates, ColumnSampler, "
    "RandomKey, f64[:,:,:,:], f64[:,:], f64[:]"
)
def search_level(
    member, members, sync, n_leaves, depth,
    features, params, scales, scratch, histograms, leaves, candidates, sampler, random_key, scores, bests, out,
):  # fmt: skip
    """Find the best split of this worker's features for all leaves of a level, into the first row of ``bests``.

    ``out`` takes its gain, 0 if no split has any; leaves take the sums of their left sides.
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
    if level_out[2] > 0.0:
        sum_left_sides(n_leaves, bests[0], n_planes, features, histograms, leaves)


@kernel()
def sum_left_sides(n_leaves, best, n_planes, features, histograms, leaves):
    """Give all leaves of a level the sums of the left sides of a split, from their histograms."""
    offset = features.offset
    for leaf in range(n_leaves):
        leaf_ints = leaves.ints[leaf]
        cells = histograms.pool[leaf_ints[LEAF_HIST]][offset[np.int64(best[BEST_FEATURE])] :]
        left = leaf_ints[LEAF_SUMS + n_planes : LEAF_SUMS + 2 * n_planes]
        sum_left_side(cells, count_cells(offset), np.int64(best[BEST_BIN]), np.int64(best[BEST_MISSING_LEFT]), left)


@kernel("i64, f64[:], f64, FeatureMeta, Histograms, LeafTable, TreeNodes")
def split_level_nodes(n_leaves, best, gain, features, histograms, leaves, nodes):
    """Give every leaf of a level the same split, and split their nodes.

    The sums of left sides are right where the histograms of this worker hold the feature.
    """
    set_level_split(1, n_leaves, best, gain, features, histograms, leaves, nodes)
