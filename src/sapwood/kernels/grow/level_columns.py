"""Build and search the histograms of a level of a symmetric tree, a few features at a time.

Used where trees grow combinations of categorical columns: most features are then unusable at most levels, and only
those that the level may use are built. A member takes the next few features, builds their histograms for all leaves
and scores their splits while the cells are in its cache.

The list of features to build is a row of ``Histograms.active``: those that the level before built too, whose larger
children are the parents minus the smaller children, then those that become usable. Which ones the level before built is
row 1 of ``SplitCandidates.allowed``.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.column_bins import FEW, build_few, subtract_few
from sapwood.kernels.layout import LEAF_BEGIN, LEAF_END, LEAF_HIST
from sapwood.kernels.split.symmetric import clear_best, search_level_feature
from sapwood.kernels.threads.barrier import COUNTER, barrier
from sapwood.native.runtime.intrinsics import atomic_add, atomic_store
from sapwood.native.runtime.kernel import kernel

# Words of ``SplitCandidates.schedule``, which symmetric trees do not need otherwise: the numbers of listed features
# that the level before built, and of the others.
N_KEPT, N_NEW = range(2)


@kernel()
def builds_columns(state):
    """Return whether histograms are built feature by feature: if splits decide which features are usable.

    Bins must be bytes and dense, and planes not interleaved.
    """
    return (
        state.sampler.extends.shape[0] > 0
        and state.bins.bins_u8.shape[0] == state.features.n_bins.shape[0]
        and state.features.csr_start.shape[0] == 0
        and state.partition.pairs_by_row.shape[0] == 0
    )


@kernel()
def list_features(allowed, depth, listed):
    """List the features that a level may use, those that the level before built first; return how many of each kind."""
    n_kept = 0
    n_listed = 0
    for is_new in range(2):
        for f in range(allowed.shape[1]):
            was_built = depth > 0 and allowed[1, f] != 0
            if allowed[0, f] != 0 and was_built == (is_new == 0):
                listed[n_listed] = np.int32(f)
                n_listed += 1
        if is_new == 0:
            n_kept = n_listed
    return n_kept, n_listed - n_kept


@kernel()
def build_leaf_pair(leaf, half, features, n, is_kept, state):
    """Build the histograms of a leaf and of its sibling, ``half`` further on, for a few features."""
    meta = state.features
    pool = state.histograms.pool
    left = state.leaves.ints[leaf]
    right = state.leaves.ints[leaf + half]
    is_left_smaller = left[LEAF_END] - left[LEAF_BEGIN] <= right[LEAF_END] - right[LEAF_BEGIN]
    small = left if is_left_smaller else right
    large = right if is_left_smaller else left
    columns = state.bins.bins_u8
    build_few(
        columns, state.partition, small[LEAF_BEGIN], small[LEAF_END], features, n, meta.column, meta.offset,
        pool[small[LEAF_HIST]],
    )  # fmt: skip
    if is_kept:
        n_planes = state.partition.pairs.shape[0]
        subtract_few(features, n, meta.offset, n_planes, pool[small[LEAF_HIST]], pool[large[LEAF_HIST]])
    else:
        build_few(
            columns, state.partition, large[LEAF_BEGIN], large[LEAF_END], features, n, meta.column, meta.offset,
            pool[large[LEAF_HIST]],
        )  # fmt: skip


@kernel()
def build_level_features(n_leaves, features, n, is_kept, state):
    """Build the histograms of all leaves of a level for a few features."""
    if n_leaves == 1:
        root = state.leaves.ints[0]
        build_few(
            state.bins.bins_u8, state.partition, root[LEAF_BEGIN], root[LEAF_END], features, n,
            state.features.column, state.features.offset, state.histograms.pool[root[LEAF_HIST]],
        )  # fmt: skip
    for leaf in range(n_leaves // 2):
        build_leaf_pair(leaf, n_leaves // 2, features, n, is_kept, state)


@kernel()
def build_and_search_level(member, members, sync, n_leaves, depth, state, buffer, terms, scores, best):
    """Build the histograms of a level for the features that it may use and find the best split among some of them.

    Every member takes the next few features until none are left; ``best`` is the best split of those it took. Return
    nonzero to stop.
    """
    allowed = state.candidates.allowed
    if barrier(sync, members) != 0:
        return 1
    counts = state.candidates.schedule
    if member == 0:
        counts[N_KEPT], counts[N_NEW] = list_features(allowed, depth, state.histograms.active[0])
        atomic_store(sync, COUNTER, 0)
    if barrier(sync, members) != 0:
        return 1
    n_kept = counts[N_KEPT]
    n_new = counts[N_NEW]
    kept_groups = (n_kept + FEW - 1) // FEW
    n_groups = kept_groups + (n_new + FEW - 1) // FEW
    clear_best(best)
    group = atomic_add(sync, COUNTER, 1)
    while group < n_groups:
        is_kept = group < kept_groups
        first = FEW * group if is_kept else n_kept + FEW * (group - kept_groups)
        last = min(first + FEW, n_kept if is_kept else n_kept + n_new)
        features = state.histograms.active[0][first:last]
        build_level_features(n_leaves, features, last - first, is_kept, state)
        for j in range(last - first):
            f = np.int64(features[j])
            search_level_feature(
                f, n_leaves, state.features, state.params, state.scales.histogram, state.histograms, state.leaves,
                buffer, terms, scores, best,
            )  # fmt: skip
        group = atomic_add(sync, COUNTER, 1)
    for f in range(state.features.slices[member], state.features.slices[member + 1]):
        allowed[1, f] = allowed[0, f]
    return 0
