"""Search small leaves by their rows, sorted by every feature, instead of histograms.

A leaf of 60 rows occupies at most 60 of a feature's bins. Every feature keeps the rows of the tree, sorted by its bins
inside each leaf; a leaf owns the same range of positions in all of them. The position of a row says how many rows are
on either side of a split, so that leaf sizes are exact. The candidate splits, their scores and the choice among equal
ones are those of histograms.

``sorted_rows`` (2 F + T, n) holds for each feature the rows of the root, then those of the tree that is being grown,
and scratch memory for each member.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.row_partition import copy_reversed, partition_by_bin
from sapwood.kernels.layout import (
    CANDIDATE_BIN,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    LEAF_BEGIN,
    LEAF_END,
    LEAF_NODE,
    LEAF_SUMS,
    SPLIT_BIN,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
)
from sapwood.kernels.split.best_split import best_feature, set_split
from sapwood.kernels.split.cumulative_sums import pad_to_eight
from sapwood.kernels.split.gain import l2_score, l2_split_score, split_gain
from sapwood.kernels.split.numeric_vectorized import INVALID, max_score_wide, min_hessian
from sapwood.native.runtime.kernel import kernel

ONE = np.uint64(1)


@kernel()
def init_sorted_rows(from_feature, to_feature, n_features, sorted_rows):
    """Copy the sorted rows of the root for some features."""
    for f in range(from_feature, to_feature):
        source = sorted_rows[f]
        target = sorted_rows[n_features + f]
        for i in range(np.uint64(source.shape[0])):
            target[i] = source[i]


@kernel()
def partition_sorted_rows(member, from_feature, to_feature, bins_u8, leaf_ints, n_left, sorted_rows):
    """Partition the sorted rows of a leaf by its split, for some features."""
    n_features = bins_u8.shape[0]
    bins = bins_u8[leaf_ints[SPLIT_FEATURE]]
    first = leaf_ints[LEAF_BEGIN]
    last = leaf_ints[LEAF_END]
    shift = np.uint32(1) if leaf_ints[SPLIT_MISSING_LEFT] == 0 else np.uint32(0)
    max_bin = np.uint32(leaf_ints[SPLIT_BIN]) - shift
    scratch = sorted_rows[2 * n_features + member]
    for f in range(from_feature, to_feature):
        rows = sorted_rows[n_features + f]
        partition_by_bin(bins, shift, max_bin, rows, rows, scratch, first, last)
        copy_reversed(scratch, rows, last - 1, last - first - n_left, first + n_left)


@kernel(noinline=True)
def cumulate_sorted_rows(rows, first, last, min_rows, bins, gradients, hessians, sums_g, sums_h):
    """Write the sums on the left of each split of a leaf with ``min_rows`` on both sides; return how many, padded."""
    g = np.int64(0)
    h = np.int64(0)
    start = np.uint64(first + min_rows - 1)
    for i in range(np.uint64(first), start):
        row = rows[i]
        g += gradients[row]
        h += hessians[row]
    n = np.uint64(0)
    row = rows[start]
    b = bins[row]
    for i in range(start, np.uint64(last - min_rows)):
        g += gradients[row]
        h += hessians[row]
        sums_g[n] = g
        sums_h[n] = h
        row = rows[i + ONE]
        after = bins[row]
        n += np.uint64(after != b)
        b = after
    if n == np.uint64(0):
        return np.int64(0)
    pad_to_eight(sums_g, np.int64(n))
    return pad_to_eight(sums_h, np.int64(n))


@kernel()
def search_sorted_rows(from_feature, to_feature, row, leaf, buffer, state):
    """Find the largest gain of each of some features for a new leaf, into a ``row`` of the candidates."""
    params = state.params
    scales = state.scales
    bins_u8 = state.bins.bins_u8
    pairs = state.partition.pairs
    sorted_rows = state.histograms.sorted_rows
    n_features = bins_u8.shape[0]
    min_rows = max(1, params.min_child_samples)
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = np.float64(leaf.sums[0]) * unit_g
    h_all = np.float64(leaf.sums[1]) * unit_h
    min_h = min_hessian(params, scales, 0)
    parent_score = l2_score(g_all, h_all, params.reg_lambda)
    sums_h = buffer[buffer.shape[0] // 2 :]
    for f in range(from_feature, to_feature):
        best = INVALID
        if state.candidates.allowed[row, f] != 0:
            n = cumulate_sorted_rows(
                sorted_rows[n_features + f], leaf.begin, leaf.end, min_rows, bins_u8[f], pairs[0], pairs[1],
                buffer, sums_h,
            )  # fmt: skip
            best = max_score_wide(buffer, sums_h, 0, n, g_all, h_all, min_h, params.reg_lambda, unit_g, unit_h)
        gain = split_gain(best, parent_score, params.min_split_gain) if best > 0.0 else 0.0
        state.candidates.gain[row, f] = gain


@kernel()
def first_best_split(sums_g, sums_h, n, sums, params, scales):
    """Return the index of the first split of the largest score."""
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    lam = params.reg_lambda
    min_h = min_hessian(params, scales, 0)
    best = INVALID
    best_index = np.int64(0)
    for k in range(n):
        h_left = np.float64(sums_h[k]) * unit_h
        if h_left < min_h or h_all - h_left < min_h:
            continue
        score = l2_split_score(np.float64(sums_g[k]) * unit_g, h_left + lam, g_all, h_all + 2.0 * lam)
        if score > best:
            best = score
            best_index = k
    return best_index


@kernel()
def bin_of_split(rows, start, bins, n_further):
    """Return the bin of a split: that of the row at ``start``, or the one ``n_further`` occupied bins further."""
    b = bins[rows[start]]
    i = start
    while n_further > 0:
        i += 1
        n_further -= np.int64(bins[rows[i]] != b)
        b = bins[rows[i]]
    return np.int64(b)


@kernel()
def choose_sorted_split(leaf, row, buffer, state):
    """Give a leaf its best split, if it has one, from the gains in a ``row`` of the candidates."""
    params = state.params
    leaf_ints = state.leaves.ints[leaf]
    bins_u8 = state.bins.bins_u8
    pairs = state.partition.pairs
    gain = state.candidates.gain[row]
    f = best_feature(gain, 0, gain.shape[0], leaf_ints[LEAF_NODE], params)
    if gain[f] <= 0.0:
        return
    first = leaf_ints[LEAF_BEGIN]
    min_rows = max(1, params.min_child_samples)
    sums = leaf_ints[LEAF_SUMS : LEAF_SUMS + 2]
    sums_h = buffer[buffer.shape[0] // 2 :]
    rows = state.histograms.sorted_rows[bins_u8.shape[0] + f]
    n = cumulate_sorted_rows(
        rows, first, leaf_ints[LEAF_END], min_rows, bins_u8[f], pairs[0], pairs[1], buffer, sums_h
    )  # fmt: skip
    best = first_best_split(buffer, sums_h, n, sums, params, state.scales)
    candidate = state.candidates.split[row, f]
    candidate[CANDIDATE_BIN] = bin_of_split(rows, first + min_rows - 1, bins_u8[f], best)
    candidate[CANDIDATE_MISSING_LEFT] = 0
    candidate[CANDIDATE_SUMS] = buffer[best]
    candidate[CANDIDATE_SUMS + 1] = sums_h[best]
    set_split(leaf, f, gain[f], candidate, False, 1, state.leaves)
