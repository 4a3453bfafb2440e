"""Find the best threshold for one output and L2 regularisation only, by loops that become vector code."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import LOW_HALF, high_half, int_to_float, low_half
from sapwood.kernels.split.cumulative_sums import (
    PADDING,
    cumulate,
    cumulate_nonempty,
    cumulate_nonempty_wide,
    list_nonempty,
)
from sapwood.kernels.split.gain import l2_score, l2_split_score, split_gain
from sapwood.kernels.split.leaf_size import first_bin, has_two_sides, last_bin
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

INVALID = -1.0
INVALID_BITS = np.int64(-0x4010000000000000)  # the bits of -1.0


@kernel()
def min_hessian(params, scales, k):
    """Return the H below which a leaf certainly breaks ``min_child_weight`` or ``min_child_samples``, in output k."""
    of_rows = np.float64(params.min_child_samples) * np.float64(scales.hessian_range[k, 0]) / scales.histogram[k, 1]
    return max(params.min_child_weight, of_rows * (1.0 - 1e-12))


@kernel(noinline=True)
def max_score(sums, first, last, g_all, h_all, min_h, reg_lambda, unit_g, unit_h):
    """Return the largest score of some splits, from the packed sums on the left of each; −1 if none is allowed.

    Scores are positive, and positive floats are ordered like the integers that have their bits.
    """
    best = INVALID_BITS
    for b in range(np.uint64(first), np.uint64(last)):
        h_left = low_half(sums[b]) * unit_h
        score = l2_split_score(high_half(sums[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= min_h) & (h_all - h_left >= min_h)
        best = max(best, float_bits(score) if fits else INVALID_BITS)
    return bits_float(best)


@kernel(noinline=True)
def max_score_few_bins(cells, start, n_bins, g_all, h_all, min_h, reg_lambda, unit_g, unit_h):
    """Return ``max_score`` of all splits of a feature without missing values, whose cells begin at ``start``."""
    best = INVALID_BITS
    left = np.int64(0)
    for b in range(np.uint64(start + 1), np.uint64(start + n_bins)):
        left += cells[b]
        h_left = low_half(left) * unit_h
        score = l2_split_score(high_half(left) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= min_h) & (h_all - h_left >= min_h)
        best = max(best, float_bits(score) if fits else INVALID_BITS)
    return bits_float(best)


@kernel()
def has_empty_bins(total, n_bins, hessian_range):
    """Return whether a leaf with the quantised hessian ``total`` may have fewer rows than a feature has bins."""
    return total < n_bins * hessian_range[0, 1]


@kernel()
def scan_packed(cells, n_bins, total, min_h, reg_lambda, min_split_gain, limits, scales, sums):
    """Return the largest gain of a feature within ``limits``, 0 if there is none. Packed cells."""
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    missing = 1 if cells[0] != 0 else has_two_sides(limits)
    stop = min(n_bins + missing, last_bin(limits, 0) + 1)
    if has_empty_bins(total & LOW_HALF, n_bins, scales.hessian_range):
        n = cumulate_nonempty(cells, first_bin(limits, 0), stop, sums)
    else:
        n = cumulate(cells, first_bin(limits, 0), stop, sums)
    best = max_score(sums, 0, n, g_all, h_all, min_h, reg_lambda, unit_g, unit_h)
    if missing != 0:
        n = cumulate(cells, first_bin(limits, 1), min(n_bins, last_bin(limits, 1) + 1), sums)
        for b in range(np.uint64(n)):
            sums[b] += cells[0]
        best = max(best, max_score(sums, 0, n, g_all, h_all, min_h, reg_lambda, unit_g, unit_h))
    return split_gain(best, l2_score(g_all, h_all, reg_lambda), min_split_gain) if best > 0.0 else 0.0


@kernel()
def locate_packed(cells, n_bins, total, min_h, reg_lambda, min_split_gain, limits, scale, candidate):
    """Find the first split of the largest gain within ``limits``; return the gain, fill ``candidate``. Packed cells."""
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    missing = 1 if cells[0] != 0 else has_two_sides(limits)
    best = INVALID
    for missing_left in range(1 + missing):
        left = cells[0] if missing_left == 1 else np.int64(0)
        for b in range(1, n_bins + (missing if missing_left == 0 else 0)):
            left += cells[b]
            h_left = low_half(left) * unit_h
            if h_left < min_h or h_all - h_left < min_h:
                continue
            if b < first_bin(limits, missing_left) or b > last_bin(limits, missing_left):
                continue
            score = l2_split_score(high_half(left) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
            if score > best:
                best = score
                candidate[CANDIDATE_BIN] = b
                candidate[CANDIDATE_MISSING_LEFT] = missing_left
                candidate[CANDIDATE_SUMS] = left
    return split_gain(best, l2_score(g_all, h_all, reg_lambda), min_split_gain) if best > 0.0 else 0.0


@kernel(noinline=True)
def max_score_wide(sums_g, sums_h, first, last, g_all, h_all, min_h, reg_lambda, unit_g, unit_h):
    """Return ``max_score`` from separate gradient and hessian sums."""
    best = INVALID_BITS
    for b in range(np.uint64(first), np.uint64(last)):
        h_left = int_to_float(sums_h[b]) * unit_h
        score = l2_split_score(int_to_float(sums_g[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= min_h) & (h_all - h_left >= min_h)
        best = max(best, float_bits(score) if fits else INVALID_BITS)
    return bits_float(best)


@kernel()
def scan_wide(cells, n_cells, n_bins, sums, min_h, reg_lambda, min_split_gain, limits, scale, buffer):
    """Return the largest gain of a feature within ``limits``, 0 if there is none. Wide cells."""
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    gradients = cells
    hessians = cells[n_cells:]
    sums_g = buffer
    sums_h = buffer[n_bins + PADDING :]
    missing = 1 if gradients[0] != 0 or hessians[0] != 0 else has_two_sides(limits)
    stop = min(n_bins + missing, last_bin(limits, 0) + 1)
    n = cumulate_nonempty_wide(gradients, hessians, first_bin(limits, 0), stop, sums_g, sums_h)
    best = max_score_wide(sums_g, sums_h, 0, n, g_all, h_all, min_h, reg_lambda, unit_g, unit_h)
    if missing != 0:
        stop = min(n_bins, last_bin(limits, 1) + 1)
        n = cumulate_nonempty_wide(gradients, hessians, first_bin(limits, 1), stop, sums_g, sums_h)
        for b in range(np.uint64(n)):
            sums_g[b] += gradients[0]
            sums_h[b] += hessians[0]
        other = max_score_wide(sums_g, sums_h, 0, n, g_all, h_all, min_h, reg_lambda, unit_g, unit_h)
        best = max(best, other)
    return split_gain(best, l2_score(g_all, h_all, reg_lambda), min_split_gain) if best > 0.0 else 0.0


@kernel()
def locate_wide(cells, n_cells, n_bins, sums, min_h, reg_lambda, min_split_gain, limits, scale, nonempty, candidate):
    """Find the first split of the largest gain within ``limits``; return the gain and fill ``candidate``. Wide cells.

    A split after a first bin without rows is that after the last with the sides exchanged, but rounding may give it
    another score. It is not taken where that one is allowed, so that the choice does not depend on whether rows were
    counted, but the gain returned is the larger of both, as in ``scan_wide``.
    """
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    gradients = cells
    hessians = cells[n_cells:]
    missing = 1 if gradients[0] != 0 or hessians[0] != 0 else has_two_sides(limits)
    best = INVALID
    largest = INVALID
    for missing_left in range(1 + missing):
        left_g = gradients[0] if missing_left == 1 else np.int64(0)
        left_h = hessians[0] if missing_left == 1 else np.int64(0)
        first = first_bin(limits, missing_left)
        last = last_bin(limits, missing_left)
        stop = min(n_bins + (missing if missing_left == 0 else 0), last + 1)
        n = list_nonempty(gradients, hessians, stop, first, nonempty)
        for k in range(n):
            b = nonempty[k]
            left_g += gradients[b]
            left_h += hessians[b]
            h_left = np.float64(left_h) * unit_h
            if h_left < min_h or h_all - h_left < min_h or b < first:
                continue
            g_left = np.float64(left_g) * unit_g
            score = l2_split_score(g_left, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
            largest = max(largest, score)
            has_known = left_g != gradients[0] or left_h != hessians[0]
            has_exchanged = missing_left == 1 and not has_known and last_bin(limits, 0) >= n_bins
            is_taken = gradients[b] != 0 or hessians[b] != 0 or (last <= n_bins and not has_exchanged)
            if score > best and is_taken:
                best = score
                candidate[CANDIDATE_BIN] = b
                candidate[CANDIDATE_MISSING_LEFT] = missing_left
                candidate[CANDIDATE_SUMS] = left_g
                candidate[CANDIDATE_SUMS + 1] = left_h
    return split_gain(largest, l2_score(g_all, h_all, reg_lambda), min_split_gain) if best > 0.0 else 0.0
