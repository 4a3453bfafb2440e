"""Find the best threshold where λ is the only rule and there is one output: the usual case, as vector code."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import LOW_HALF, high_half, int_to_float, low_half
from sapwood.kernels.split.gain import l2_score, split_gain
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

INVALID = -1.0
INVALID_BITS = np.int64(-0x4010000000000000)  # the bits of -1.0
# Room behind the sums of a feature, so that vector code can do eight at a time.
PADDING = 8


@kernel()
def has_two_sides(limits):
    """1 if rows were counted and the sides of missing differ: there are missing rows, though their sums may be 0."""
    return 1 if limits[0] != limits[2] or limits[1] != limits[3] else 0


@kernel()
def min_hessian(rules, scales, k):
    """The H below which a leaf of output k certainly breaks a minimum."""
    rows = np.float64(rules.min_child_samples) * np.float64(scales.hessian_range[k, 0]) / scales.histogram[k, 1]
    return max(rules.min_child_weight, rows * (1.0 - 1e-12))


@kernel()
def l2_split_score(g_left, h_left, g_all, h_all):
    """The score of both sides of a cut where λ, already in both h, is the only rule; one division for the two."""
    g_right = g_all - g_left
    h_right = h_all - h_left
    return (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right)


@kernel(noinline=True)
def max_score(sums, first, last, g_all, h_all, floor, reg_lambda, unit_g, unit_h):
    """The largest score of the cuts after bins ``first`` to ``last``, given the sums up to each; −1 if none is allowed.

    Scores are positive, and positive floats are ordered like the integers that have their bits.
    """
    best = INVALID_BITS
    for b in range(np.uint64(first), np.uint64(last)):
        h_left = low_half(sums[b]) * unit_h
        score = l2_split_score(high_half(sums[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= floor) & (h_all - h_left >= floor)
        best = max(best, float_bits(score) if fits else INVALID_BITS)
    return bits_float(best)


@kernel(noinline=True)
def max_score_few_bins(cells, start, n_bins, g_all, h_all, floor, reg_lambda, unit_g, unit_h):
    """``max_score`` of all cuts of a feature without missing values, whose cells begin at ``start``."""
    best = INVALID_BITS
    left = np.int64(0)
    for b in range(np.uint64(start + 1), np.uint64(start + n_bins)):
        left += cells[b]
        h_left = low_half(left) * unit_h
        score = l2_split_score(high_half(left) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= floor) & (h_all - h_left >= floor)
        best = max(best, float_bits(score) if fits else INVALID_BITS)
    return bits_float(best)


@kernel()
def has_empty_bins(total, n_bins, hessian_range):
    """Tell whether a leaf of so many hessian steps may have fewer rows than a feature has bins."""
    return total < n_bins * hessian_range[0, 1]


@kernel()
def pad_to_eight(sums, n):
    """Repeat the last of n sums until there are eights; return how many there are."""
    stop = (n + 7) & ~np.int64(7)
    for k in range(np.uint64(n), np.uint64(stop)):
        sums[k] = sums[np.uint64(n - 1)]
    return stop


@kernel()
def sum_bins_before(cells, stop):
    """The sum of the value bins before ``stop``."""
    total = np.int64(0)
    for b in range(np.uint64(1), np.uint64(stop)):
        total += cells[b]
    return total


@kernel()
def cumulate_nonempty(cells, first, stop, sums):
    """The sums up to each bin from ``first`` to before ``stop``, but for further bins of sum 0, which repeat them.

    Return how many there are, in eights.
    """
    if stop <= first:
        return np.int64(0)
    running = sum_bins_before(cells, first + 1)
    sums[0] = running
    n = np.uint64(1)
    for b in range(np.uint64(first + 1), np.uint64(stop)):
        value = cells[b]
        running += value
        sums[n] = running
        n += np.uint64(value != 0)
    return pad_to_eight(sums, np.int64(n))


@kernel()
def cumulate_side(cells, n, side, sums):
    """The sums of a plane up to each of n bins, with missing values where they go left."""
    running = cells[0] if side == 1 else np.int64(0)
    for b in range(np.uint64(n)):
        running += cells[b + np.uint64(1)]
        sums[b] = running


@kernel()
def cumulate(cells, first, stop, sums):
    """The sums up to each bin from ``first`` to before ``stop``; return how many."""
    running = sum_bins_before(cells, first)
    for b in range(np.uint64(first), np.uint64(stop)):
        running += cells[b]
        sums[b - np.uint64(first)] = running
    return max(stop - first, 0)


@kernel()
def scan_packed(cells, n_bins, total, floor, reg_lambda, price, limits, scales, sums):
    """The largest gain of a feature of packed cells with one output where λ is the only rule: the usual case."""
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    missing = 1 if cells[0] != 0 else has_two_sides(limits)
    stop = min(n_bins + missing, limits[1] + 1)
    if has_empty_bins(total & LOW_HALF, n_bins, scales.hessian_range):
        n = cumulate_nonempty(cells, limits[0], stop, sums)
    else:
        n = cumulate(cells, limits[0], stop, sums)
    best = max_score(sums, 0, n, g_all, h_all, floor, reg_lambda, unit_g, unit_h)
    if missing != 0:
        n = cumulate(cells, limits[2], min(n_bins, limits[3] + 1), sums)
        for b in range(np.uint64(n)):
            sums[b] += cells[0]
        best = max(best, max_score(sums, 0, n, g_all, h_all, floor, reg_lambda, unit_g, unit_h))
    return split_gain(best, l2_score(g_all, h_all, reg_lambda), price) if best > 0.0 else 0.0


@kernel()
def locate_packed(cells, n_bins, total, floor, reg_lambda, price, limits, quantum, cut):
    """The first cut of the largest gain that ``limits`` allow; return the gain and fill ``cut``."""
    unit_g = 1.0 / quantum[0, 0]
    unit_h = 1.0 / quantum[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    missing = 1 if cells[0] != 0 else has_two_sides(limits)
    best = INVALID
    for side in range(1 + missing):
        left = cells[0] if side == 1 else np.int64(0)
        for b in range(1, n_bins + (missing if side == 0 else 0)):
            left += cells[b]
            h_left = low_half(left) * unit_h
            if h_left < floor or h_all - h_left < floor or b < limits[2 * side] or b > limits[2 * side + 1]:
                continue
            score = l2_split_score(high_half(left) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
            if score > best:
                best = score
                cut[CANDIDATE_BIN] = b
                cut[CANDIDATE_MISSING_LEFT] = side
                cut[CANDIDATE_SUMS] = left
    return split_gain(best, l2_score(g_all, h_all, reg_lambda), price) if best > 0.0 else 0.0


@kernel(noinline=True)
def max_score_wide(sums_g, sums_h, first, last, g_all, h_all, floor, reg_lambda, unit_g, unit_h):
    """``max_score`` from gradient and hessian sums that are integers of their own."""
    best = INVALID_BITS
    for b in range(np.uint64(first), np.uint64(last)):
        h_left = int_to_float(sums_h[b]) * unit_h
        score = l2_split_score(int_to_float(sums_g[b]) * unit_g, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
        fits = (h_left >= floor) & (h_all - h_left >= floor)
        best = max(best, float_bits(score) if fits else INVALID_BITS)
    return bits_float(best)


@kernel()
def cumulate_nonempty_wide(gradients, hessians, first, stop, sums_g, sums_h):
    """``cumulate_nonempty`` of two planes."""
    if stop <= first:
        return np.int64(0)
    g = sum_bins_before(gradients, first + 1)
    h = sum_bins_before(hessians, first + 1)
    sums_g[0] = g
    sums_h[0] = h
    n = np.uint64(1)
    for b in range(np.uint64(first + 1), np.uint64(stop)):
        more_g = gradients[b]
        more_h = hessians[b]
        g += more_g
        h += more_h
        sums_g[n] = g
        sums_h[n] = h
        n += np.uint64((more_g | more_h) != 0)
    pad_to_eight(sums_g, np.int64(n))
    return pad_to_eight(sums_h, np.int64(n))


@kernel()
def scan_wide(cells, stride, n_bins, sums, floor, reg_lambda, price, limits, quantum, room):
    """The largest gain of a feature of wide cells with one output where λ is the only rule."""
    unit_g = 1.0 / quantum[0, 0]
    unit_h = 1.0 / quantum[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    gradients = cells
    hessians = cells[stride:]
    sums_g = room
    sums_h = room[n_bins + PADDING :]
    missing = 1 if gradients[0] != 0 or hessians[0] != 0 else has_two_sides(limits)
    stop = min(n_bins + missing, limits[1] + 1)
    n = cumulate_nonempty_wide(gradients, hessians, limits[0], stop, sums_g, sums_h)
    best = max_score_wide(sums_g, sums_h, 0, n, g_all, h_all, floor, reg_lambda, unit_g, unit_h)
    if missing != 0:
        n = cumulate_nonempty_wide(gradients, hessians, limits[2], min(n_bins, limits[3] + 1), sums_g, sums_h)
        for b in range(np.uint64(n)):
            sums_g[b] += gradients[0]
            sums_h[b] += hessians[0]
        other = max_score_wide(sums_g, sums_h, 0, n, g_all, h_all, floor, reg_lambda, unit_g, unit_h)
        best = max(best, other)
    return split_gain(best, l2_score(g_all, h_all, reg_lambda), price) if best > 0.0 else 0.0


@kernel()
def list_nonempty(gradients, hessians, stop, always, used):
    """List the bins before ``stop`` with a sum other than 0, and the bin ``always``; return how many."""
    n = np.uint64(0)
    for b in range(np.uint64(1), np.uint64(stop)):
        used[n] = np.int64(b)
        n += np.uint64(((gradients[b] | hessians[b]) != 0) | (np.int64(b) == always))
    return n


@kernel()
def locate_wide(cells, stride, n_bins, sums, floor, reg_lambda, price, limits, quantum, used, cut):
    """``locate_packed`` with wide cells.

    A cut after a first bin without rows is that after the last with the sides exchanged: rounding may set the two
    apart. It is never taken, but the gain is the larger of both, as ``scan_wide`` has it.
    """
    unit_g = 1.0 / quantum[0, 0]
    unit_h = 1.0 / quantum[0, 1]
    g_all = np.float64(sums[0]) * unit_g
    h_all = np.float64(sums[1]) * unit_h
    gradients = cells
    hessians = cells[stride:]
    missing = 1 if gradients[0] != 0 or hessians[0] != 0 else has_two_sides(limits)
    best = INVALID
    largest = INVALID
    for side in range(1 + missing):
        left_g = gradients[0] if side == 1 else np.int64(0)
        left_h = hessians[0] if side == 1 else np.int64(0)
        first = limits[2 * side]
        last = limits[2 * side + 1]
        stop = min(n_bins + (missing if side == 0 else 0), last + 1)
        n = list_nonempty(gradients, hessians, stop, first, used)
        for k in range(n):
            b = used[k]
            left_g += gradients[b]
            left_h += hessians[b]
            h_left = np.float64(left_h) * unit_h
            if h_left < floor or h_all - h_left < floor or b < first:
                continue
            g_left = np.float64(left_g) * unit_g
            score = l2_split_score(g_left, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
            largest = max(largest, score)
            is_taken = gradients[b] != 0 or hessians[b] != 0 or last <= n_bins
            if score > best and is_taken:
                best = score
                cut[CANDIDATE_BIN] = b
                cut[CANDIDATE_MISSING_LEFT] = side
                cut[CANDIDATE_SUMS] = left_g
                cut[CANDIDATE_SUMS + 1] = left_h
    return split_gain(largest, l2_score(g_all, h_all, reg_lambda), price) if best > 0.0 else 0.0
