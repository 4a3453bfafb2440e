"""Search small leaves by their rows, sorted by every feature, in place of histograms.

A leaf of 60 rows has at most 60 of a feature's bins. Every feature keeps a list of the tree's rows, sorted inside each
leaf by its bins; a leaf owns the same range of all lists. A place in a list tells how many rows are on either side, so
that leaf sizes are exact. The cuts, their scores and which of equals is taken are those of histograms.

``lists`` holds the lists of the root, those of the tree at hand, and room for each member of the team.
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
from sapwood.kernels.split.gain import l2_score, split_gain
from sapwood.kernels.split.numeric_vectorized import (
    INVALID,
    l2_split_score,
    max_score_wide,
    min_hessian,
    pad_to_eight,
)
from sapwood.native.runtime.kernel import kernel

ONE = np.uint64(1)


@kernel()
def init_sorted_rows(own, end, n_features, lists):
    """Give the features ``own`` to ``end`` the lists of the root."""
    for f in range(own, end):
        source = lists[f]
        target = lists[n_features + f]
        for i in range(np.uint64(source.shape[0])):
            target[i] = source[i]


@kernel()
def partition_sorted_rows(member, own, end, bytes, split, n_left, lists):
    """Send the rows of the leaf whose integers are given to its sides, in the lists of some features."""
    n_features = bytes.shape[0]
    bins = bytes[split[SPLIT_FEATURE]]
    first = split[LEAF_BEGIN]
    last = split[LEAF_END]
    shift = np.uint32(1) if split[SPLIT_MISSING_LEFT] == 0 else np.uint32(0)
    most = np.uint32(split[SPLIT_BIN]) - shift
    spare = lists[2 * n_features + member]
    for f in range(own, end):
        line = lists[n_features + f]
        partition_by_bin(bins, shift, most, line, line, spare, first, last)
        copy_reversed(spare, line, last - 1, last - first - n_left, first + n_left)


@kernel(noinline=True)
def cumulate_sorted_rows(line, first, last, least, bins, gradients, hessians, sums_g, sums_h):
    """The sums up to each cut of a leaf that leaves ``least`` rows on both sides; return how many, in eights."""
    g = np.int64(0)
    h = np.int64(0)
    start = np.uint64(first + least - 1)
    for i in range(np.uint64(first), start):
        row = line[i]
        g += gradients[row]
        h += hessians[row]
    n = np.uint64(0)
    row = line[start]
    b = bins[row]
    for i in range(start, np.uint64(last - least)):
        g += gradients[row]
        h += hessians[row]
        sums_g[n] = g
        sums_h[n] = h
        row = line[i + ONE]
        after = bins[row]
        n += np.uint64(after != b)
        b = after
    if n == np.uint64(0):
        return np.int64(0)
    pad_to_eight(sums_g, np.int64(n))
    return pad_to_eight(sums_h, np.int64(n))


@kernel()
def search_sorted_rows(own, end, child, first, last, sums, bytes, pairs, lists, rules, scales, search, room):
    """Find the largest gain of each of the features ``own`` to ``end``, for a leaf with these rows and sums."""
    n_features = bytes.shape[0]
    least = max(1, rules.min_child_samples)
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    floor = min_hessian(rules, scales, 0)
    before = l2_score(g_all, h_all, rules.reg_lambda)
    sums_h = room[room.shape[0] // 2 :]
    for f in range(own, end):
        best = INVALID
        if search.allowed[child, f] != 0:
            n = cumulate_sorted_rows(
                lists[n_features + f], first, last, least, bytes[f], pairs[0], pairs[1], room, sums_h
            )
            best = max_score_wide(room, sums_h, 0, n, g_all, h_all, floor, rules.reg_lambda, unit_g, unit_h)
        search.gain[child, f] = split_gain(best, before, rules.min_split_gain) if best > 0.0 else 0.0


@kernel()
def first_best_split(sums_g, sums_h, n, sums, rules, scales):
    """The place of the first cut of the largest score."""
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    lam = rules.reg_lambda
    floor = min_hessian(rules, scales, 0)
    best = INVALID
    at = np.int64(0)
    for k in range(n):
        h_left = np.float64(sums_h[k]) * unit_h
        if h_left < floor or h_all - h_left < floor:
            continue
        score = l2_split_score(np.float64(sums_g[k]) * unit_g, h_left + lam, g_all, h_all + 2.0 * lam)
        if score > best:
            best = score
            at = k
    return at


@kernel()
def bin_of_split(line, start, bins, number):
    """The bin after which a cut lies: that of the row at ``start``, or the one so many occupied bins further."""
    b = bins[line[start]]
    i = start
    while number > 0:
        i += 1
        number -= np.int64(bins[line[i]] != b)
        b = bins[line[i]]
    return np.int64(b)


@kernel()
def choose_sorted_split(leaf, child, bytes, pairs, lists, rules, scales, leaves, search, room):
    """Give a leaf its best split, if it has one, from a line of gains."""
    integers = leaves.ints
    gain = search.gain[child]
    f = best_feature(gain, 0, gain.shape[0], integers[leaf, LEAF_NODE], rules)
    if gain[f] <= 0.0:
        return
    first = integers[leaf, LEAF_BEGIN]
    least = max(1, rules.min_child_samples)
    sums = integers[leaf, LEAF_SUMS : LEAF_SUMS + 2]
    sums_h = room[room.shape[0] // 2 :]
    line = lists[bytes.shape[0] + f]
    n = cumulate_sorted_rows(line, first, integers[leaf, LEAF_END], least, bytes[f], pairs[0], pairs[1], room, sums_h)
    at = first_best_split(room, sums_h, n, sums, rules, scales)
    cut = search.split[child, f]
    cut[CANDIDATE_BIN] = bin_of_split(line, first + least - 1, bytes[f], at)
    cut[CANDIDATE_MISSING_LEFT] = 0
    cut[CANDIDATE_SUMS] = room[at]
    cut[CANDIDATE_SUMS + 1] = sums_h[at]
    set_split(leaf, f, gain[f], cut, False, 1, leaves)
