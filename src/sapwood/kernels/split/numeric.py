"""Find the best threshold of a numeric feature in a leaf's histogram, missing values on either side."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_COUNTED, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum
from sapwood.kernels.split.gain import clip_value, is_l2_only, leaf_value, split_gain, value_score
from sapwood.kernels.split.multi_output import locate_outputs, scan_outputs
from sapwood.kernels.split.numeric_vectorized import (
    INVALID,
    has_two_sides,
    locate_packed,
    locate_wide,
    min_hessian,
    scan_packed,
    scan_wide,
)
from sapwood.native.runtime.kernel import kernel

# Products of two smaller hessians could be lost.
MIN_DIVISOR = 1e-100


@kernel()
def bounded_value(sums, k, low, high, rules, quantum):
    """The value of output k of a leaf with these sums, between its bounds."""
    g = gradient_sum(sums, k, rules.wide, quantum)
    h = hessian_sum(sums, k, rules.wide, quantum)
    return clip_value(leaf_value(g, h, rules), low, high)


@kernel()
def leaf_score(sums, low, high, rules, quantum):
    """The score of a leaf with these sums, all outputs together."""
    score = 0.0
    for k in range(quantum.shape[0]):
        g = gradient_sum(sums, k, rules.wide, quantum)
        h = hessian_sum(sums, k, rules.wide, quantum)
        score += value_score(g, h, clip_value(leaf_value(g, h, rules), low, high), rules)
    return score


@kernel()
def has_min_hessian(sums, rules, scales):
    """Tell whether a leaf with these sums may have enough hessian."""
    for k in range(scales.histogram.shape[0]):
        h = hessian_sum(sums, k, rules.wide, scales.histogram)
        if h < min_hessian(rules, scales, k) or h + rules.reg_lambda <= 0.0:
            return False
    return True


@kernel()
def split_score(left, right, direction, low, high, rules, scales):
    """The score of both sides of a cut, or IMPOSSIBLE where it breaks a rule."""
    if not has_min_hessian(left, rules, scales) or not has_min_hessian(right, rules, scales):
        return INVALID
    if direction != 0:
        below = bounded_value(left, 0, low, high, rules, scales.histogram)
        above = bounded_value(right, 0, low, high, rules, scales.histogram)
        if np.float64(direction) * (above - below) < 0.0:
            return INVALID
    return leaf_score(left, low, high, rules, scales.histogram) + leaf_score(right, low, high, rules, scales.histogram)


@kernel()
def is_first_allowed(b, side, n_bins, limits):
    """Tell whether rows were counted and this is the first bin after which a cut leaves enough of them."""
    return b == limits[2 * side] and limits[2 * side + 1] <= n_bins


@kernel()
def scan_general(cells, stride, n_bins, direction, sums, low, high, limits, rules, scales, running, cut):
    """Scan one feature under every rule (several outputs, wide cells, L1, bounds); return the gain and fill ``cut``.

    ``cells`` begin with the feature's missing bin, planes are ``stride`` apart. ``limits`` are the first and last bin
    after which a cut is allowed with missing on the right, then on the left. After a bin whose sums are 0 a cut is that
    after the bin before, unless that one is not allowed.
    """
    n_planes = sums.shape[0]
    left = running[:n_planes]
    right = running[n_planes : 2 * n_planes]
    before = leaf_score(sums, low, high, rules, scales.histogram)
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
            if used == 0 and not is_first_allowed(b, side, n_bins, limits):
                continue
            if b < limits[2 * side] or b > limits[2 * side + 1]:
                continue
            score = split_score(left, right, direction, low, high, rules, scales)
            gain = split_gain(score, before, rules.min_split_gain)
            if score != INVALID and gain > best:
                best = gain
                cut[CANDIDATE_BIN] = b
                cut[CANDIDATE_MISSING_LEFT] = side
                for p in range(n_planes):
                    cut[CANDIDATE_SUMS + p] = left[p]
    return best


@kernel()
def is_vectorizable(sums, rules, scales):
    """Tell whether the usual case holds: one output, no rule but λ, and nothing that divides by next to nothing."""
    usual = is_l2_only(rules) and sums.shape[0] == 1 + rules.wide
    return usual and min_hessian(rules, scales, 0) + rules.reg_lambda > MIN_DIVISOR


@kernel()
def are_outputs_vectorizable(rules, scales):
    """Tell whether the same holds for each of several outputs."""
    if scales.histogram.shape[0] == 1 or not is_l2_only(rules):
        return False
    for k in range(scales.histogram.shape[0]):
        if min_hessian(rules, scales, k) + rules.reg_lambda <= MIN_DIVISOR:
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
    if is_vectorizable(sums, rules, scales):
        floor = min_hessian(rules, scales, 0)
        price = rules.min_split_gain
        if rules.wide != 0:
            return scan_wide(
                cells, stride, n_bins, sums, floor, rules.reg_lambda, price, limits, scales.histogram, room
            )
        return scan_packed(cells, n_bins, sums[0], floor, rules.reg_lambda, price, limits, scales, room)
    if are_outputs_vectorizable(rules, scales):
        return scan_outputs(cells, stride, n_bins, sums, limits, rules, scales, room)
    return locate_split(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut)


@kernel()
def locate_split(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut):
    """The first cut of a feature with the largest gain that ``limits`` allow; return the gain and fill ``cut``."""
    cells = histogram[feature.offset[f] :]
    n_bins = feature.n_bins[f]
    stride = feature.offset[feature.offset.shape[0] - 1]
    room = running[2 * sums.shape[0] :]
    if is_vectorizable(sums, rules, scales):
        floor = min_hessian(rules, scales, 0)
        lam = rules.reg_lambda
        price = rules.min_split_gain
        if rules.wide != 0:
            return locate_wide(cells, stride, n_bins, sums, floor, lam, price, limits, scales.histogram, room, cut)
        return locate_packed(cells, n_bins, sums[0], floor, lam, price, limits, scales.histogram, cut)
    if are_outputs_vectorizable(rules, scales):
        return locate_outputs(cells, stride, n_bins, sums, limits, rules, scales, room, cut)
    direction = feature.monotone[f]
    return scan_general(cells, stride, n_bins, direction, sums, low, high, limits, rules, scales, running, cut)
