"""Find the best threshold of a numeric feature in a leaf's histogram, missing values on either side."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_COUNTED, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum
from sapwood.kernels.split.gain import is_plain, leaf_value, split_gain, value_score, within
from sapwood.kernels.split.multi_output import locate_outputs, scan_outputs
from sapwood.kernels.split.numeric_vectorized import (
    IMPOSSIBLE,
    has_two_sides,
    least_hessian,
    locate_plain,
    locate_wide,
    scan_plain,
    scan_wide,
)
from sapwood.native.runtime.kernel import kernel

# Products of two smaller hessians could be lost.
LEAST_HESSIAN = 1e-100


@kernel()
def value_of(sums, k, low, high, rules, quantum):
    """The value of output k of a leaf with these sums, between its bounds."""
    g = gradient_sum(sums, k, rules.wide, quantum)
    h = hessian_sum(sums, k, rules.wide, quantum)
    return within(leaf_value(g, h, rules), low, high)


@kernel()
def score_of(sums, low, high, rules, quantum):
    """The score of a leaf with these sums, all outputs together."""
    score = 0.0
    for k in range(quantum.shape[0]):
        g = gradient_sum(sums, k, rules.wide, quantum)
        h = hessian_sum(sums, k, rules.wide, quantum)
        score += value_score(g, h, within(leaf_value(g, h, rules), low, high), rules)
    return score


@kernel()
def is_heavy(sums, rules, scales):
    """Tell whether a leaf with these sums may have enough hessian."""
    for k in range(scales.histogram.shape[0]):
        h = hessian_sum(sums, k, rules.wide, scales.histogram)
        if h < least_hessian(rules, scales, k) or h + rules.reg_lambda <= 0.0:
            return False
    return True


@kernel()
def cut_score(left, right, direction, low, high, rules, scales):
    """The score of both sides of a cut, or IMPOSSIBLE where it breaks a rule."""
    if not is_heavy(left, rules, scales) or not is_heavy(right, rules, scales):
        return IMPOSSIBLE
    if direction != 0:
        below = value_of(left, 0, low, high, rules, scales.histogram)
        above = value_of(right, 0, low, high, rules, scales.histogram)
        if np.float64(direction) * (above - below) < 0.0:
            return IMPOSSIBLE
    return score_of(left, low, high, rules, scales.histogram) + score_of(right, low, high, rules, scales.histogram)


@kernel()
def is_first(b, side, n_bins, limits):
    """Tell whether rows were counted and this is the first bin after which a cut leaves enough of them."""
    return b == limits[2 * side] and limits[2 * side + 1] <= n_bins


@kernel()
def scan_any(cells, stride, n_bins, direction, sums, low, high, limits, rules, scales, running, cut):
    """Scan one feature under every rule (several outputs, wide cells, L1, bounds); return the gain and fill ``cut``.

    ``cells`` begin with the feature's missing bin, planes are ``stride`` apart. ``limits`` are the first and last bin
    after which a cut is allowed with missing on the right, then on the left. After a bin whose sums are 0 a cut is that
    after the bin before, unless that one is not allowed.
    """
    n_planes = sums.shape[0]
    left = running[:n_planes]
    right = running[n_planes : 2 * n_planes]
    before = score_of(sums, low, high, rules, scales.histogram)
    missing = has_two_sides(limits)
    for p in range(n_planes):
        if cells[p * stride] != 0:
            missing = 1
    best = 0.0
    for side in range(1 + missing):
        for p in range(n_planes):
            left[p] = cells[p * stride] if side == 1 else np.int64(0)
        for b in range(1, n_bins + (missing if side == 0 else 0)):
            used = 0
            for p in range(n_planes):
                value = cells[p * stride + b]
                if value != 0:
                    used = 1
                left[p] += value
                right[p] = sums[p] - left[p]
            if used == 0 and not is_first(b, side, n_bins, limits):
                continue
            if b < limits[2 * side] or b > limits[2 * side + 1]:
                continue
            score = cut_score(left, right, direction, low, high, rules, scales)
            gain = split_gain(score, before, rules.min_split_gain)
            if score != IMPOSSIBLE and gain > best:
                best = gain
                cut[CANDIDATE_BIN] = b
                cut[CANDIDATE_MISSING_LEFT] = side
                for p in range(n_planes):
                    cut[CANDIDATE_SUMS + p] = left[p]
    return best


@kernel()
def is_quick(sums, rules, scales):
    """Tell whether the usual case holds: one output, no rule but λ, and nothing that divides by next to nothing."""
    usual = is_plain(rules) and sums.shape[0] == 1 + rules.wide
    return usual and least_hessian(rules, scales, 0) + rules.reg_lambda > LEAST_HESSIAN


@kernel()
def is_quick_for_all(rules, scales):
    """Tell whether the same holds for each of several outputs."""
    if scales.histogram.shape[0] == 1 or not is_plain(rules):
        return False
    for k in range(scales.histogram.shape[0]):
        if least_hessian(rules, scales, k) + rules.reg_lambda <= LEAST_HESSIAN:
            return False
    return True


@kernel()
def scan_feature(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut):
    """The largest gain of one feature in a leaf that ``limits`` allow, 0 when there is none.

    ``cut`` takes the cut, or bin 0 where it still has to be located.
    """
    cut[CANDIDATE_COUNTED] = 0
    cut[CANDIDATE_BIN] = 0
    cells = histogram[feature.offset[f] :]
    n_bins = feature.n_bins[f]
    stride = feature.offset[feature.offset.shape[0] - 1]
    room = running[2 * sums.shape[0] :]
    if is_quick(sums, rules, scales):
        floor = least_hessian(rules, scales, 0)
        price = rules.min_split_gain
        if rules.wide != 0:
            return scan_wide(
                cells, stride, n_bins, sums, floor, rules.reg_lambda, price, limits, scales.histogram, room
            )
        return scan_plain(cells, n_bins, sums[0], floor, rules.reg_lambda, price, limits, scales, room)
    if is_quick_for_all(rules, scales):
        return scan_outputs(cells, stride, n_bins, sums, limits, rules, scales, room)
    return locate_cut(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut)


@kernel()
def locate_cut(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut):
    """The first cut of a feature with the largest gain that ``limits`` allow; return the gain and fill ``cut``."""
    cells = histogram[feature.offset[f] :]
    n_bins = feature.n_bins[f]
    stride = feature.offset[feature.offset.shape[0] - 1]
    room = running[2 * sums.shape[0] :]
    if is_quick(sums, rules, scales):
        floor = least_hessian(rules, scales, 0)
        lam = rules.reg_lambda
        price = rules.min_split_gain
        if rules.wide != 0:
            return locate_wide(cells, stride, n_bins, sums, floor, lam, price, limits, scales.histogram, room, cut)
        return locate_plain(cells, n_bins, sums[0], floor, lam, price, limits, scales.histogram, cut)
    if is_quick_for_all(rules, scales):
        return locate_outputs(cells, stride, n_bins, sums, limits, rules, scales, room, cut)
    direction = feature.monotone[f]
    return scan_any(cells, stride, n_bins, direction, sums, low, high, limits, rules, scales, running, cut)
