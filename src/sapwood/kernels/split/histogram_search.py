"""Search the histogram of a leaf for the best split of each feature."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import active_start
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_COUNTED, CANDIDATE_WORDS
from sapwood.kernels.numeric.fixed_point import LOW_HALF, high_half, low_half
from sapwood.kernels.split.categorical import scan_categories
from sapwood.kernels.split.gain import l2_score, split_gain
from sapwood.kernels.split.numeric import is_vectorizable, locate_split, scan_feature
from sapwood.kernels.split.numeric_vectorized import max_score_few_bins, min_hessian
from sapwood.kernels.split.random_threshold import draw_limits
from sapwood.native.runtime.kernel import kernel

# Features of at most so many bins are scanned faster without cumulative sums.
FEW_BINS = 8


@kernel()
def can_split_feature(hessians, total, wide, min_quantised, f, features, min_rows, sparse_counts):
    """Return whether a sparse or bundled feature has enough hessian outside its default bin: a side has no more.

    Where rows are counted, they must be enough too. ``hessians`` is the plane of a histogram that holds the hessians of
    the first output, ``total`` the leaf's sum of them, ``min_quantised`` the minimum as a quantised hessian.
    """
    default_bin = features.default_bin[f]
    if default_bin < 0:
        return True
    cell = np.uint64(features.offset[f] + default_bin)
    if sparse_counts.shape[0] > 0 and sparse_counts[cell] < min_rows:
        return False
    rest = total - hessians[cell]
    quantised = rest if wide != 0 else rest & LOW_HALF
    return np.float64(quantised) >= min_quantised


@kernel()
def search_features(from_slice, to_slice, row, leaf, parent_active, buffer, state):
    """Find the largest gain of each active feature of some slices for a new leaf, into a ``row`` of the candidates.

    Of the features that were active in the parent, those that may be split in the leaf or below it become its active
    features; these may be the same array.
    """
    features = state.features
    params = state.params
    scales = state.scales
    candidates = state.candidates
    histogram = state.histograms.pool[leaf.hist]
    active = state.histograms.active[leaf.hist]
    sparse_counts = state.histograms.sparse_counts[leaf.hist]
    sums = leaf.sums
    limits = candidates.limits[candidates.limits.shape[0] - 1]
    is_packed_l2 = params.wide == 0 and is_vectorizable(sums, params, scales)
    plane = params.wide  # of the hessian of the first output
    hessians = histogram[plane * count_cells(features.offset) :]
    min_h = min_hessian(params, scales, 0)
    min_quantised = min_h * scales.histogram[0, 1]
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = high_half(sums[0]) * unit_g
    h_all = low_half(sums[0]) * unit_h
    parent_score = l2_score(g_all, h_all, params.reg_lambda) if is_packed_l2 else 0.0
    for t in range(from_slice, to_slice):
        start = active_start(features.slices, t)
        end = start
        for k in range(start, start + parent_active[t]):
            f = np.int64(parent_active[k])
            if not can_split_feature(
                hessians, sums[plane], params.wide, min_quantised, f, features, params.min_child_samples, sparse_counts
            ):
                continue
            active[end] = f
            end += 1
            candidates.gain[row, f] = 0.0
            if candidates.allowed[row, f] == 0:
                continue
            candidate = candidates.split[row, f]
            if features.category_kind[f] != 0:
                candidates.gain[row, f] = scan_categories(
                    histogram, f, features, sums, leaf.lower, leaf.upper, limits, 0, params, scales, buffer, candidate
                )
            elif params.random_thresholds != 0:
                random_limits = candidate[CANDIDATE_WORDS]
                draw_limits(
                    histogram[features.offset[f] :], count_cells(features.offset), features.n_bins[f], sums.shape[0],
                    leaf.node, features.ids[f], state.random_key, random_limits,
                )  # fmt: skip
                candidate[CANDIDATE_COUNTED] = 0
                candidates.gain[row, f] = locate_split(
                    histogram, f, features, sums, leaf.lower, leaf.upper, random_limits, params, scales, buffer,
                    candidate,
                )  # fmt: skip
            elif is_packed_l2 and features.n_bins[f] <= FEW_BINS and histogram[features.offset[f]] == 0:
                candidate[CANDIDATE_COUNTED] = 0
                candidate[CANDIDATE_BIN] = 0
                score = max_score_few_bins(
                    histogram, features.offset[f], features.n_bins[f], g_all, h_all, min_h, params.reg_lambda,
                    unit_g, unit_h,
                )  # fmt: skip
                if score > 0.0:
                    candidates.gain[row, f] = split_gain(score, parent_score, params.min_split_gain)
            else:
                candidates.gain[row, f] = scan_feature(
                    histogram, f, features, sums, leaf.lower, leaf.upper, limits, params, scales, buffer, candidate
                )
        active[t] = end - start
