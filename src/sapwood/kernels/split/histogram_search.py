"""Search the histogram of a leaf, features shared out."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import active_start
from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_COUNTED
from sapwood.kernels.numeric.fixed_point import LOW_HALF, high_half, low_half
from sapwood.kernels.split.categorical import scan_categories
from sapwood.kernels.split.gain import l2_score, split_gain
from sapwood.kernels.split.numeric import is_vectorizable, scan_feature
from sapwood.kernels.split.numeric_vectorized import max_score_few_bins, min_hessian
from sapwood.native.runtime.kernel import kernel

# Features of so many bins are quicker scanned cut by cut.
FEW_BINS = 8


@kernel()
def can_split_feature(hessians, total, wide, least_steps, f, feature, least_rows, listed):
    """Tell whether a listed or bundled feature has enough hessian beside its usual bin: a side of a cut has no more.

    Where rows are counted, these must be enough too.
    ``hessians`` is the plane of a histogram that has those of the first output, ``total`` the leaf's sum of it.
    """
    usual = feature.default_bin[f]
    if usual < 0:
        return True
    cell = np.uint64(feature.offset[f] + usual)
    if listed.shape[0] > 0 and listed[cell] < least_rows:
        return False
    rest = total - hessians[cell]
    steps = rest if wide != 0 else rest & LOW_HALF
    return np.float64(steps) >= least_steps


@kernel()
def search_features(
    from_lane, to_lane, given, live, histogram, listed, child, sums, low, high,
    feature, rules, scales, search, running,
):  # fmt: skip
    """Find the best split of each feature of some lanes of the line ``given``, for a leaf with these sums and bounds.

    Those that may be split there, or below, are written to the line ``live``, which may be the same.
    """
    limits = search.limits[search.limits.shape[0] - 1]
    is_plain_packed = rules.wide == 0 and is_vectorizable(sums, rules, scales)
    plane = rules.wide  # of the hessian of the first output
    hessians = histogram[plane * feature.offset[feature.offset.shape[0] - 1] :]
    floor = min_hessian(rules, scales, 0)
    least_steps = floor * scales.histogram[0, 1]
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = high_half(sums[0]) * unit_g
    h_all = low_half(sums[0]) * unit_h
    before = l2_score(g_all, h_all, rules.reg_lambda) if is_plain_packed else 0.0
    for lane in range(from_lane, to_lane):
        place = active_start(feature.slices, lane)
        n = place
        for k in range(place, place + given[lane]):
            f = np.int64(given[k])
            if not can_split_feature(
                hessians, sums[plane], rules.wide, least_steps, f, feature, rules.min_child_samples, listed
            ):
                continue
            live[n] = f
            n += 1
            search.gain[child, f] = 0.0
            if search.allowed[child, f] == 0:
                continue
            cut = search.split[child, f]
            if feature.category_kind[f] != 0:
                search.gain[child, f] = scan_categories(
                    histogram, f, feature, sums, low, high, limits, 0, rules, scales, running, cut
                )
            elif is_plain_packed and feature.n_bins[f] <= FEW_BINS and histogram[feature.offset[f]] == 0:
                cut[CANDIDATE_COUNTED] = 0
                cut[CANDIDATE_BIN] = 0
                score = max_score_few_bins(
                    histogram, feature.offset[f], feature.n_bins[f], g_all, h_all, floor, rules.reg_lambda,
                    unit_g, unit_h,
                )  # fmt: skip
                if score > 0.0:
                    search.gain[child, f] = split_gain(score, before, rules.min_split_gain)
            else:
                search.gain[child, f] = scan_feature(
                    histogram, f, feature, sums, low, high, limits, rules, scales, running, cut
                )
        live[lane] = n - place
