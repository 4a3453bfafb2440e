"""Find the best threshold for several outputs together where λ is the only rule, as vector code.

The score of a cut is the sum of its scores for each output. They are added up output by output, for all cuts of a
feature; integers hold the bits of the sums.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum, high_half, int_to_float, low_half
from sapwood.kernels.split.gain import l2_score, split_gain
from sapwood.kernels.split.numeric_vectorized import (
    INVALID_BITS,
    PADDING,
    cumulate_side,
    has_two_sides,
    l2_split_score,
    min_hessian,
)
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

NOT_ALLOWED = -np.inf


@kernel(noinline=True)
def score_output(sums, n, g_all, h_all, floor, reg_lambda, unit_g, unit_h, scores):
    """Add one output's scores of n cuts, given the packed sums on the left of each; −∞ where one is not allowed."""
    for b in range(np.uint64(n)):
        h_left = low_half(sums[b]) * unit_h
        score = l2_split_score(high_half(sums[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= floor) & (h_all - h_left >= floor)
        scores[b] = float_bits(bits_float(scores[b]) + (score if fits else NOT_ALLOWED))


@kernel(noinline=True)
def score_wide_output(sums_g, sums_h, n, g_all, h_all, floor, reg_lambda, unit_g, unit_h, scores):
    """The same from gradient and hessian sums that are integers of their own."""
    for b in range(np.uint64(n)):
        h_left = int_to_float(sums_h[b]) * unit_h
        score = l2_split_score(int_to_float(sums_g[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= floor) & (h_all - h_left >= floor)
        scores[b] = float_bits(bits_float(scores[b]) + (score if fits else NOT_ALLOWED))


@kernel()
def score_splits(cells, stride, n, side, sums, rules, scales, room, scores):
    """Fill ``scores`` with those of the first n cuts of a feature, missing values on one side."""
    line = n + PADDING
    for b in range(np.uint64(n)):
        scores[b] = 0
    for k in range(scales.histogram.shape[0]):
        unit_g = 1.0 / scales.histogram[k, 0]
        unit_h = 1.0 / scales.histogram[k, 1]
        g_all = gradient_sum(sums, k, rules.wide, scales.histogram)
        h_all = hessian_sum(sums, k, rules.wide, scales.histogram)
        floor = min_hessian(rules, scales, k)
        if rules.wide != 0:
            cumulate_side(cells[2 * k * stride :], n, side, room)
            cumulate_side(cells[(2 * k + 1) * stride :], n, side, room[line:])
            score_wide_output(room, room[line:], n, g_all, h_all, floor, rules.reg_lambda, unit_g, unit_h, scores)
        else:
            cumulate_side(cells[k * stride :], n, side, room)
            score_output(room, n, g_all, h_all, floor, rules.reg_lambda, unit_g, unit_h, scores)


@kernel()
def parent_score(sums, rules, quantum):
    """The score of a leaf that is not cut."""
    score = 0.0
    for k in range(quantum.shape[0]):
        g = gradient_sum(sums, k, rules.wide, quantum)
        score += l2_score(g, hessian_sum(sums, k, rules.wide, quantum), rules.reg_lambda)
    return score


@kernel()
def has_missing_rows(cells, stride, n_planes, limits):
    """1 if rows of the leaf miss the feature."""
    for p in range(n_planes):
        if cells[p * stride] != 0:
            return 1
    return has_two_sides(limits)


@kernel()
def scan_outputs(cells, stride, n_bins, sums, limits, rules, scales, room):
    """The largest gain of a feature that ``limits`` allow."""
    missing = has_missing_rows(cells, stride, sums.shape[0], limits)
    best = INVALID_BITS
    scores = room[2 * (n_bins + PADDING) :]
    for side in range(1 + missing):
        n = n_bins - 1 + (missing if side == 0 else 0)
        score_splits(cells, stride, n, side, sums, rules, scales, room, scores)
        for b in range(np.uint64(max(limits[2 * side] - 1, 0)), np.uint64(max(min(limits[2 * side + 1], n), 0))):
            best = max(best, scores[b])
    score = bits_float(best)
    return split_gain(score, parent_score(sums, rules, scales.histogram), rules.min_split_gain) if score > 0.0 else 0.0


@kernel()
def locate_outputs(cells, stride, n_bins, sums, limits, rules, scales, room, cut):
    """The first cut of the largest gain that ``limits`` allow; return the gain and fill ``cut``."""
    missing = has_missing_rows(cells, stride, sums.shape[0], limits)
    best = INVALID_BITS
    scores = room[2 * (n_bins + PADDING) :]
    for side in range(1 + missing):
        n = n_bins - 1 + (missing if side == 0 else 0)
        score_splits(cells, stride, n, side, sums, rules, scales, room, scores)
        for b in range(max(limits[2 * side], 1), min(limits[2 * side + 1], n) + 1):
            if scores[b - 1] > best:
                best = scores[b - 1]
                cut[CANDIDATE_BIN] = b
                cut[CANDIDATE_MISSING_LEFT] = side
    score = bits_float(best)
    if score <= 0.0:
        return 0.0
    for p in range(sums.shape[0]):
        left = cells[p * stride] if cut[CANDIDATE_MISSING_LEFT] == 1 else np.int64(0)
        for b in range(1, cut[CANDIDATE_BIN] + 1):
            left += cells[p * stride + b]
        cut[CANDIDATE_SUMS + p] = left
    return split_gain(score, parent_score(sums, rules, scales.histogram), rules.min_split_gain)
