"""Find the best threshold for several outputs together and L2 regularisation only, by loops that become vector code.

The score of a split is the sum of its scores for each output. They are added up output by output, for all splits of a
feature; integers hold the bits of the sums.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum, high_half, int_to_float, low_half
from sapwood.kernels.split.cumulative_sums import PADDING, cumulate_side
from sapwood.kernels.split.gain import l2_score, l2_split_score, shared_score, split_gain
from sapwood.kernels.split.leaf_size import first_bin, has_two_sides, last_bin
from sapwood.kernels.split.numeric_vectorized import (
    INVALID_BITS,
    min_hessian,
)
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

NOT_ALLOWED = -np.inf


@kernel(noinline=True)
def score_output(sums, n, g_all, h_all, min_h, reg_lambda, unit_g, unit_h, scores):
    """Add one output's scores of n splits, from the packed sums on the left of each; −∞ where one is not allowed."""
    for b in range(np.uint64(n)):
        h_left = low_half(sums[b]) * unit_h
        score = l2_split_score(high_half(sums[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= min_h) & (h_all - h_left >= min_h)
        scores[b] = float_bits(bits_float(scores[b]) + (score if fits else NOT_ALLOWED))


@kernel(noinline=True)
def score_wide_output(sums_g, sums_h, n, g_all, h_all, min_h, reg_lambda, unit_g, unit_h, scores):
    """Add one output's scores of n splits, from separate gradient and hessian sums on the left of each."""
    for b in range(np.uint64(n)):
        h_left = int_to_float(sums_h[b]) * unit_h
        score = l2_split_score(int_to_float(sums_g[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= min_h) & (h_all - h_left >= min_h)
        scores[b] = float_bits(bits_float(scores[b]) + (score if fits else NOT_ALLOWED))


@kernel(noinline=True)
def add_squares(sums, n, g_all, unit_g, left, right):
    """Add the squares of one output's gradient sums on both sides of n splits to ``left`` and ``right``."""
    for b in range(np.uint64(n)):
        g_left = high_half(sums[b]) * unit_g
        g_right = g_all - g_left
        left[b] = float_bits(bits_float(left[b]) + g_left * g_left)
        right[b] = float_bits(bits_float(right[b]) + g_right * g_right)


@kernel(noinline=True)
def divide_squares(sums, n, h_all, min_h, reg_lambda, unit_h, right, scores):
    """Turn the squares of both sides, the left ones in ``scores``, into scores; the hessians are those of ``sums``."""
    for b in range(np.uint64(n)):
        h_left = low_half(sums[b]) * unit_h
        fits = (h_left >= min_h) & (h_all - h_left >= min_h)
        h_left += reg_lambda
        h_right = h_all + 2.0 * reg_lambda - h_left
        score = (bits_float(scores[b]) * h_right + bits_float(right[b]) * h_left) / (h_left * h_right)
        scores[b] = float_bits(score if fits else NOT_ALLOWED)


@kernel()
def score_shared_splits(cells, n_cells, n, missing_left, sums, params, scales, buffer, scores):
    """Do ``score_splits`` for packed outputs that share their hessians: those of the first one serve all."""
    right = buffer[n + PADDING :]
    for b in range(np.uint64(n)):
        scores[b] = 0
        right[b] = 0
    n_outputs = scales.histogram.shape[0]
    for back in range(n_outputs):
        k = n_outputs - 1 - back
        cumulate_side(cells[k * n_cells :], n, missing_left, buffer)
        g_all = gradient_sum(sums, k, params.wide, scales.histogram)
        add_squares(buffer, n, g_all, 1.0 / scales.histogram[k, 0], scores, right)
    h_all = hessian_sum(sums, 0, params.wide, scales.histogram)
    min_h = min_hessian(params, scales, 0)
    divide_squares(buffer, n, h_all, min_h, params.reg_lambda, 1.0 / scales.histogram[0, 1], right, scores)


@kernel()
def score_splits(cells, n_cells, n, missing_left, sums, params, scales, buffer, scores):
    """Fill ``scores`` with those of the first n splits of a feature, missing values on one side."""
    if params.shared_hessian != 0 and params.wide == 0:
        score_shared_splits(cells, n_cells, n, missing_left, sums, params, scales, buffer, scores)
        return
    size = n + PADDING
    for b in range(np.uint64(n)):
        scores[b] = 0
    for k in range(scales.histogram.shape[0]):
        unit_g = 1.0 / scales.histogram[k, 0]
        unit_h = 1.0 / scales.histogram[k, 1]
        g_all = gradient_sum(sums, k, params.wide, scales.histogram)
        h_all = hessian_sum(sums, k, params.wide, scales.histogram)
        min_h = min_hessian(params, scales, k)
        if params.wide != 0:
            cumulate_side(cells[2 * k * n_cells :], n, missing_left, buffer)
            cumulate_side(cells[(2 * k + 1) * n_cells :], n, missing_left, buffer[size:])
            score_wide_output(buffer, buffer[size:], n, g_all, h_all, min_h, params.reg_lambda, unit_g, unit_h, scores)
        else:
            cumulate_side(cells[k * n_cells :], n, missing_left, buffer)
            score_output(buffer, n, g_all, h_all, min_h, params.reg_lambda, unit_g, unit_h, scores)


@kernel()
def parent_score(sums, params, scale):
    """Return the score of a leaf that is not split."""
    if params.shared_hessian != 0 and params.wide == 0:
        return shared_score(sums, params, scale)
    score = 0.0
    for k in range(scale.shape[0]):
        g = gradient_sum(sums, k, params.wide, scale)
        score += l2_score(g, hessian_sum(sums, k, params.wide, scale), params.reg_lambda)
    return score


@kernel()
def has_missing_rows(cells, n_cells, n_planes, limits):
    """Return 1 if any row of the leaf misses the feature."""
    for p in range(n_planes):
        if cells[p * n_cells] != 0:
            return 1
    return has_two_sides(limits)


@kernel()
def scan_outputs(cells, n_cells, n_bins, sums, limits, params, scales, buffer):
    """Return the largest gain of a feature within ``limits``, 0 if there is none."""
    missing = has_missing_rows(cells, n_cells, sums.shape[0], limits)
    best = INVALID_BITS
    scores = buffer[2 * (n_bins + PADDING) :]
    for missing_left in range(1 + missing):
        n = n_bins - 1 + (missing if missing_left == 0 else 0)
        score_splits(cells, n_cells, n, missing_left, sums, params, scales, buffer, scores)
        first = np.uint64(max(first_bin(limits, missing_left) - 1, 0))
        for b in range(first, np.uint64(max(min(last_bin(limits, missing_left), n), 0))):
            best = max(best, scores[b])
    score = bits_float(best)
    if score > 0.0:
        return split_gain(score, parent_score(sums, params, scales.histogram), params.min_split_gain)
    return 0.0


@kernel()
def locate_outputs(cells, n_cells, n_bins, sums, limits, params, scales, buffer, candidate):
    """Find the first split of the largest gain within ``limits``; return the gain and fill ``candidate``."""
    missing = has_missing_rows(cells, n_cells, sums.shape[0], limits)
    best = INVALID_BITS
    scores = buffer[2 * (n_bins + PADDING) :]
    for missing_left in range(1 + missing):
        n = n_bins - 1 + (missing if missing_left == 0 else 0)
        score_splits(cells, n_cells, n, missing_left, sums, params, scales, buffer, scores)
        for b in range(max(first_bin(limits, missing_left), 1), min(last_bin(limits, missing_left), n) + 1):
            if scores[b - 1] > best:
                best = scores[b - 1]
                candidate[CANDIDATE_BIN] = b
                candidate[CANDIDATE_MISSING_LEFT] = missing_left
    score = bits_float(best)
    if score <= 0.0:
        return 0.0
    for p in range(sums.shape[0]):
        left = cells[p * n_cells] if candidate[CANDIDATE_MISSING_LEFT] == 1 else np.int64(0)
        for b in range(1, candidate[CANDIDATE_BIN] + 1):
            left += cells[p * n_cells + b]
        candidate[CANDIDATE_SUMS + p] = left
    return split_gain(score, parent_score(sums, params, scales.histogram), params.min_split_gain)
