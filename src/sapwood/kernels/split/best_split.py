"""Choose a leaf's split among the candidates of all features; see ``leaf_size.py`` for ``min_child_samples``."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import active_start
from sapwood.kernels.histogram.cells import count_cells, count_slices
from sapwood.kernels.layout import (
    BITSET_SPLIT,
    BITSET_WORDS,
    CANDIDATE_BIN,
    CANDIDATE_BITSET,
    CANDIDATE_COUNTED,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    CANDIDATE_WORDS,
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
from sapwood.kernels.split.leaf_size import (
    count_leaf_bins,
    is_within_limits,
    limit_bins,
    proves_both_sides,
    proves_min_rows,
)
from sapwood.kernels.split.numeric import locate_split, scan_feature
from sapwood.kernels.split.random_threshold import narrow_limits
from sapwood.native.runtime.kernel import kernel

NOISE_UNIT = np.sqrt(3.0 / (65536.0**2 - 1.0))  # makes the variance of a sum of four 16-bit numbers 1
# Values of CANDIDATE_COUNTED once rows were counted; 0 before. Missing rows may have sums of 0: they too must go to the
# side with which they were counted.
COUNTED, COUNTED_WITH_MISSING = 1, 2


@kernel()
def draw_split_noise(params, node, f):
    """Return the noise added to the gain of a feature in a node: nearly normal, a sum of four uniform numbers."""
    bits = draw(np.uint64(params.split_noise_key), (np.uint64(node) << np.uint64(32)) + np.uint64(f))
    total = 0.0
    for k in range(4):
        total += np.float64((bits >> np.uint64(16 * k)) & np.uint64(0xFFFF))
    return params.split_noise * NOISE_UNIT * (total - 131070.0)


@kernel()
def best_feature(gain, from_feature, to_feature, node, params):
    """Return the feature of the largest gain with noise, the first of equal ones; ``from_feature`` if there is none."""
    best = from_feature
    best_gain = -np.inf
    for f in range(from_feature, to_feature):
        if gain[f] <= 0.0:
            continue
        value = gain[f] + draw_split_noise(params, node, f) if params.split_noise > 0.0 else gain[f]
        if value > best_gain:
            best = f
            best_gain = value
    return best


@kernel()
def best_active_feature(active, slices, feature_ids, gain, node, params):
    """Return the active feature of the largest gain with noise, of equal ones that of the smallest id; −1 if none."""
    best = np.int64(-1)
    best_gain = -np.inf
    for t in range(count_slices(slices)):
        start = active_start(slices, t)
        for k in range(start, start + active[t]):
            f = np.int64(active[k])
            if gain[f] <= 0.0:
                continue
            value = gain[f] + draw_split_noise(params, node, feature_ids[f]) if params.split_noise > 0.0 else gain[f]
            if value > best_gain or (value == best_gain and feature_ids[f] < feature_ids[best]):
                best = f
                best_gain = value
    return best


@kernel()
def set_split(leaf, f, gain, candidate, has_missing_rows, wide, leaves):
    """Make a candidate the split of a leaf. If no row is missing, missing values go to the side with more hessian."""
    ints = leaves.ints
    n_planes = candidate.shape[0] - CANDIDATE_SUMS
    leaves.floats[leaf, LEAF_GAIN] = gain
    ints[leaf, SPLIT_FEATURE] = f
    ints[leaf, SPLIT_BIN] = candidate[CANDIDATE_BIN]
    ints[leaf, SPLIT_MISSING_LEFT] = candidate[CANDIDATE_MISSING_LEFT]
    for p in range(n_planes):
        ints[leaf, LEAF_SUMS + n_planes + p] = candidate[CANDIDATE_SUMS + p]
    for w in range(BITSET_WORDS):
        ints[leaf, SPLIT_BITSET + w] = (
            candidate[CANDIDATE_BITSET + w] if candidate[CANDIDATE_BIN] == BITSET_SPLIT else np.int64(0)
        )
    if not has_missing_rows and candidate[CANDIDATE_BIN] != BITSET_SPLIT:
        left = quantised_hessian(candidate[CANDIDATE_SUMS:], 0, wide)
        both = quantised_hessian(ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes], 0, wide)
        ints[leaf, SPLIT_MISSING_LEFT] = np.int64(left >= both - left)


@kernel()
def has_missing(histogram, first_cell, n_cells, n_planes):
    """Return whether any row of a leaf misses the feature that begins at ``first_cell``."""
    for p in range(n_planes):
        if histogram[p * n_cells + first_cell] != 0:
            return True
    return False


@kernel()
def has_min_groups(f, features, params):
    """Return whether splits of a feature depend on the number of rows of each category."""
    return features.category_kind[f] != 0 and max(params.min_category_rows, params.min_group_rows) > 1


@kernel()
def is_large_enough(candidate, f, features, params):
    """Return whether both sides of a candidate are known to be large enough without a proof by their hessians."""
    if candidate[CANDIDATE_COUNTED] != 0:
        return True
    return params.min_child_samples <= 1 and not has_min_groups(f, features, params)


@kernel()
def locate_candidate(member, leaf, f, row, buffer, state):
    """Find the bin of a candidate that is still to be located, within its limits if rows were counted."""
    candidates = state.candidates
    candidate = candidates.split[row, f]
    leaf_ints = state.leaves.ints[leaf]
    sums = leaf_ints[LEAF_SUMS : LEAF_SUMS + candidate.shape[0] - CANDIDATE_SUMS]
    limits = candidates.limits[member]
    no_limits = candidates.limits[candidates.limits.shape[0] - 1]
    for k in range(4):
        limits[k] = candidate[CANDIDATE_BITSET + k] if candidate[CANDIDATE_COUNTED] != 0 else no_limits[k]
    locate_split(
        state.histograms.pool[leaf_ints[LEAF_HIST]], f, state.features, sums, state.leaves.floats[leaf, LEAF_LOWER],
        state.leaves.floats[leaf, LEAF_UPPER], limits, state.params, state.scales, buffer, candidate,
    )  # fmt: skip


@kernel()
def apply_counts(member, leaf, n_rows, f, row, counts, buffer, state):
    """Return whether the candidate of a feature leaves enough of a leaf's rows on both sides, by the rows per bin.

    If not, the feature is searched again among the splits that do.
    """
    features = state.features
    params = state.params
    candidate = state.candidates.split[row, f]
    gain = state.candidates.gain[row]
    limits = state.candidates.limits[member]
    leaf_ints = state.leaves.ints[leaf]
    histogram = state.histograms.pool[leaf_ints[LEAF_HIST]]
    sums = leaf_ints[LEAF_SUMS : LEAF_SUMS + candidate.shape[0] - CANDIDATE_SUMS]
    lower = state.leaves.floats[leaf, LEAF_LOWER]
    upper = state.leaves.floats[leaf, LEAF_UPPER]
    min_rows = params.min_child_samples
    if features.category_kind[f] != 0:
        candidate[CANDIDATE_COUNTED] = COUNTED
        n_left = count_left_rows(candidate[CANDIDATE_WORDS], counts, features.n_bins[f])
        if not has_min_groups(f, features, params) and n_left >= min_rows and n_rows - n_left >= min_rows:
            return True
        gain[f] = scan_categories(
            histogram, f, features, sums, lower, upper, counts, n_rows, params, state.scales, buffer, candidate
        )  # fmt: skip
        return False
    limit_bins(counts, features.n_bins[f], min_rows, limits)
    is_allowed = candidate[CANDIDATE_BIN] != 0 and is_within_limits(candidate, limits)
    if not is_allowed and params.random_thresholds != 0:
        narrow_limits(features.n_bins[f], leaf_ints[LEAF_NODE], features.ids[f], state.random_key, limits)
        gain[f] = locate_split(
            histogram, f, features, sums, lower, upper, limits, params, state.scales, buffer, candidate
        )  # fmt: skip
    elif not is_allowed:
        gain[f] = scan_feature(
            histogram, f, features, sums, lower, upper, limits, params, state.scales, buffer, candidate
        )  # fmt: skip
        for k in range(4):
            candidate[CANDIDATE_BITSET + k] = limits[k]
    candidate[CANDIDATE_COUNTED] = COUNTED_WITH_MISSING if counts[0] > 0 else COUNTED
    return is_allowed


@kernel()
def adopt_candidate(leaf, f, row, state):
    """Make the candidate of a feature the split of a leaf."""
    candidate = state.candidates.split[row, f]
    n_planes = candidate.shape[0] - CANDIDATE_SUMS
    histogram = state.histograms.pool[state.leaves.ints[leaf, LEAF_HIST]]
    offset = state.features.offset
    missing = has_missing(histogram, offset[f], count_cells(offset), n_planes)
    missing = missing or candidate[CANDIDATE_COUNTED] == COUNTED_WITH_MISSING
    set_split(leaf, f, state.candidates.gain[row, f], candidate, missing, state.params.wide, state.leaves)


@kernel()
def choose_split(member, leaf, row, buffer, state):
    """Give a leaf its best split, if it has one, from a ``row`` of the candidates."""
    features = state.features
    params = state.params
    candidates = state.candidates
    leaf_ints = state.leaves.ints[leaf]
    n_rows = leaf_ints[LEAF_END] - leaf_ints[LEAF_BEGIN]
    active = state.histograms.active[leaf_ints[LEAF_HIST]]
    n_planes = candidates.split.shape[2] - CANDIDATE_SUMS
    sums = leaf_ints[LEAF_SUMS : LEAF_SUMS + n_planes]
    gain = candidates.gain[row]
    min_rows = params.min_child_samples
    counts = state.histograms.bin_counts[member]
    hessian_range = state.scales.hessian_range
    may_be_proven = proves_min_rows(sums, 2 * min_rows, params.wide, hessian_range)
    while True:
        f = best_active_feature(active, features.slices, features.ids, gain, leaf_ints[LEAF_NODE], params)
        if f < 0:
            return
        candidate = candidates.split[row, f]
        is_valid = is_large_enough(candidate, f, features, params)
        if candidate[CANDIDATE_BIN] == 0 and (is_valid or may_be_proven):
            locate_candidate(member, leaf, f, row, buffer, state)
        if is_valid:
            break
        is_located = candidate[CANDIDATE_BIN] != 0
        if is_located and not has_min_groups(f, features, params) and proves_both_sides(
            candidate, sums, min_rows, params.wide, hessian_range, buffer[:n_planes]
        ):  # fmt: skip
            break
        count_leaf_bins(f, leaf_ints, state, counts)
        if apply_counts(member, leaf, n_rows, f, row, counts, buffer, state):
            break
    adopt_candidate(leaf, f, row, state)
