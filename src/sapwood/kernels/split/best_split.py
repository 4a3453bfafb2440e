"""Choose a leaf's split among the best of each feature, with leaf sizes that are exact.

Histograms hold no row counts. What a hessian sum says about the number of rows is often enough: a side with H of at
least ``min_child_samples`` times the largest hessian of any row is certainly large enough. Where it leaves a doubt
the rows of the leaf are counted, and a feature whose best cut is not allowed is searched again between the cuts that
are.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import active_start
from sapwood.kernels.histogram.sparse_bins import copy_bin_counts
from sapwood.kernels.layout import (
    BITSET_SPLIT,
    BITSET_WORDS,
    CANDIDATE_BIN,
    CANDIDATE_BITSET,
    CANDIDATE_COUNTED,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    LEAF_BEGIN,
    LEAF_END,
    LEAF_GAIN,
    LEAF_HIST,
    LEAF_LOWER,
    LEAF_NODE,
    LEAF_SUMS,
    LEAF_UPPER,
    SPLIT_BIN,
    SPLIT_BITSET,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
)
from sapwood.kernels.numeric.fixed_point import quantised_hessian
from sapwood.kernels.numeric.random import draw
from sapwood.kernels.split.categorical import count_left_rows, scan_categories
from sapwood.kernels.split.numeric import locate_split, scan_feature
from sapwood.native.runtime.kernel import kernel

NOISE_UNIT = np.sqrt(3.0 / (65536.0**2 - 1.0))  # makes the variance of four numbers of 16 bits 1
# What is known of a cut once rows were counted. Missing rows may have sums of 0: they too must stay where they counted.
COUNTED, COUNTED_WITH_MISSING = 1, 2


@kernel()
def proves_min_rows(sums, least, wide, hessian_range):
    """Tell whether the hessian sum alone proves that a leaf has ``least`` rows."""
    for k in range(hessian_range.shape[0]):
        enough = np.float64(hessian_range[k, 1]) * np.float64(least) * (1.0 + 1e-12)
        if enough > 0.0 and np.float64(quantised_hessian(sums, k, wide)) >= enough:
            return True
    return False


@kernel()
def count_bins(bins, n_bins, order, first, last, counts):
    """Count the rows of a leaf in each bin of a feature."""
    for b in range(n_bins + 1):
        counts[b] = 0
    for i in range(first, last):
        counts[bins[order[i]]] += 1


@kernel()
def limit_bins(counts, n_bins, least, limits):
    """From the counts, the bins after which both sides keep ``least`` rows: missing right, then left."""
    for side in range(2 if counts[0] != 0 else 1):
        left = counts[0] if side == 1 else np.int64(0)
        right = counts[0] - left
        first = np.int64(0)
        while first < n_bins and (left < least or first == 0):
            first += 1
            left += counts[first]
        last = n_bins
        while last > 0 and right < least:
            right += counts[last]
            last -= 1
        is_any = left >= least and first <= last
        limits[2 * side] = first if is_any else n_bins + 1
        limits[2 * side + 1] = last if is_any else 0
    if counts[0] == 0:
        limits[2] = limits[0]
        limits[3] = limits[1]


@kernel()
def draw_split_noise(rules, node, f):
    """What chance adds to the gain of a feature in a node: four uniform numbers make nearly a normal one."""
    bits = draw(np.uint64(rules.split_noise_key), (np.uint64(node) << np.uint64(32)) + np.uint64(f))
    total = 0.0
    for k in range(4):
        total += np.float64((bits >> np.uint64(16 * k)) & np.uint64(0xFFFF))
    return rules.split_noise * NOISE_UNIT * (total - 131070.0)


@kernel()
def best_feature(gain, begin, end, node, rules):
    """The feature from ``begin`` to ``end`` of the largest gain and luck, the first of equals; else ``begin``."""
    best = begin
    most = -np.inf
    for f in range(begin, end):
        if gain[f] <= 0.0:
            continue
        value = gain[f] + draw_split_noise(rules, node, f) if rules.split_noise > 0.0 else gain[f]
        if value > most:
            best = f
            most = value
    return best


@kernel()
def best_active_feature(live, share, number, gain, node, rules):
    """``best_feature`` of those in a line, of equals that of the least ``number``; −1 if none has a gain."""
    best = np.int64(-1)
    most = -np.inf
    for lane in range(share.shape[0] - 3):
        place = active_start(share, lane)
        for k in range(place, place + live[lane]):
            f = np.int64(live[k])
            if gain[f] <= 0.0:
                continue
            value = gain[f] + draw_split_noise(rules, node, number[f]) if rules.split_noise > 0.0 else gain[f]
            if value > most or (value == most and number[f] < number[best]):
                best = f
                most = value
    return best


@kernel()
def set_split(leaf, f, gain, cut, missing, wide, leaves):
    """Make a cut the split of a leaf. Where no value is missing, missing ones will go to the heavier side."""
    integers = leaves.ints
    n_planes = cut.shape[0] - CANDIDATE_SUMS
    leaves.floats[leaf, LEAF_GAIN] = gain
    integers[leaf, SPLIT_FEATURE] = f
    integers[leaf, SPLIT_BIN] = cut[CANDIDATE_BIN]
    integers[leaf, SPLIT_MISSING_LEFT] = cut[CANDIDATE_MISSING_LEFT]
    for p in range(n_planes):
        integers[leaf, LEAF_SUMS + n_planes + p] = cut[CANDIDATE_SUMS + p]
    for w in range(BITSET_WORDS):
        integers[leaf, SPLIT_BITSET + w] = (
            cut[CANDIDATE_BITSET + w] if cut[CANDIDATE_BIN] == BITSET_SPLIT else np.int64(0)
        )
    if not missing and cut[CANDIDATE_BIN] != BITSET_SPLIT:
        left = quantised_hessian(cut[CANDIDATE_SUMS:], 0, wide)
        both = quantised_hessian(integers[leaf, LEAF_SUMS : LEAF_SUMS + n_planes], 0, wide)
        integers[leaf, SPLIT_MISSING_LEFT] = np.int64(left >= both - left)


@kernel()
def has_missing(histogram, cell, stride, n_planes):
    """Tell whether a leaf has seen a missing value of the feature whose first cell is given."""
    for p in range(n_planes):
        if histogram[p * stride + cell] != 0:
            return True
    return False


@kernel()
def choose_split(member, bins, leaf, line, order, feature, rules, scales, cells, leaves, search, running):
    """Give a leaf its best split, if it has one, from a ``line`` of search results."""
    integers = leaves.ints
    first = integers[leaf, LEAF_BEGIN]
    last = integers[leaf, LEAF_END]
    histogram = cells.pool[integers[leaf, LEAF_HIST]]
    live = cells.active[integers[leaf, LEAF_HIST]]
    n_planes = search.split.shape[2] - CANDIDATE_SUMS
    sums = integers[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
    rest = running[:n_planes]
    gain = search.gain[line]
    least = rules.min_child_samples
    counts = cells.bin_counts[member]
    limits = search.limits[member]
    low = leaves.floats[leaf, LEAF_LOWER]
    high = leaves.floats[leaf, LEAF_UPPER]
    everywhere = search.limits[search.limits.shape[0] - 1]
    may_be_proven = proves_min_rows(sums, 2 * least, rules.wide, scales.hessian_range)
    while True:
        f = best_active_feature(live, feature.slices, feature.ids, gain, integers[leaf, LEAF_NODE], rules)
        if f < 0:
            return
        cut = search.split[line, f]
        is_guarded = feature.category_kind[f] != 0 and max(rules.min_category_rows, rules.min_group_rows) > 1
        is_sure = cut[CANDIDATE_COUNTED] != 0 or (least <= 1 and not is_guarded)
        if cut[CANDIDATE_BIN] == 0 and (is_sure or may_be_proven):
            for k in range(4):
                limits[k] = cut[CANDIDATE_BITSET + k] if cut[CANDIDATE_COUNTED] != 0 else everywhere[k]
            locate_split(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut)
        if is_sure:
            break
        if cut[CANDIDATE_BIN] != 0 and not is_guarded:
            for p in range(n_planes):
                rest[p] = sums[p] - cut[CANDIDATE_SUMS + p]
            if proves_min_rows(cut[CANDIDATE_SUMS:], least, rules.wide, scales.hessian_range) and proves_min_rows(
                rest, least, rules.wide, scales.hessian_range
            ):
                break
        n_bins = feature.n_bins[f]
        column = feature.column[f]
        if column >= 0 and feature.log2_bin_bits == 3:
            count_bins(bins.bins_u8[column], n_bins, order, first, last, counts)
        elif column >= 0:
            count_bins(bins.bins_u16[column], n_bins, order, first, last, counts)
        else:
            copy_bin_counts(feature, f, last - first, cells.sparse_counts[integers[leaf, LEAF_HIST]], counts)
        if feature.category_kind[f] != 0:
            cut[CANDIDATE_COUNTED] = COUNTED
            on_left = count_left_rows(cut[CANDIDATE_BITSET : CANDIDATE_BITSET + BITSET_WORDS], counts, n_bins)
            if not is_guarded and on_left >= least and last - first - on_left >= least:
                break
            gain[f] = scan_categories(
                histogram, f, feature, sums, low, high, counts, last - first, rules, scales, running, cut
            )
            continue
        limit_bins(counts, n_bins, least, limits)
        side = cut[CANDIDATE_MISSING_LEFT]
        is_fine = cut[CANDIDATE_BIN] != 0 and limits[2 * side] <= cut[CANDIDATE_BIN] <= limits[2 * side + 1]
        if not is_fine:
            gain[f] = scan_feature(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut)
            for k in range(4):
                cut[CANDIDATE_BITSET + k] = limits[k]
        cut[CANDIDATE_COUNTED] = COUNTED_WITH_MISSING if counts[0] > 0 else COUNTED
        if is_fine:
            break
    start = feature.offset
    missing = has_missing(histogram, start[f], start[start.shape[0] - 1], n_planes)
    missing = missing or search.split[line, f, CANDIDATE_COUNTED] == COUNTED_WITH_MISSING
    set_split(leaf, f, gain[f], search.split[line, f], missing, rules.wide, leaves)
