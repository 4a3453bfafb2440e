"""Find the best threshold of a numeric feature in a leaf's histogram, missing values on either side."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.gain import is_plain, leaf_value, plain_score, split_gain, value_score, within
from sapwood.kernels.layout import CUT_BIN, CUT_SIDE, CUT_SUMS, CUT_SURE
from sapwood.native.kernel import kernel

LOW_HALF = np.int64(0xFFFFFFFF)
IMPOSSIBLE = -1.0


@kernel()
def gradient_sum(sums, k, wide, quantum):
    """G of output k from quantised sums."""
    if wide != 0:
        return np.float64(sums[2 * k]) / quantum[k, 0]
    return np.float64(sums[k] >> np.int64(32)) / quantum[k, 0]


@kernel()
def hessian_steps(sums, k, wide):
    """The quantised H of output k."""
    if wide != 0:
        return sums[2 * k + 1]
    return sums[k] & LOW_HALF


@kernel()
def hessian_sum(sums, k, wide, quantum):
    """H of output k from quantised sums."""
    return np.float64(hessian_steps(sums, k, wide)) / quantum[k, 1]


@kernel()
def least_hessian(rules, scales, k):
    """The H below which a leaf of output k certainly breaks a minimum."""
    rows = np.float64(rules.min_child_samples) * np.float64(scales.hessian_range[k, 0]) / scales.quantum[k, 1]
    return max(rules.min_child_weight, rows * (1.0 - 1e-12))


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
    for k in range(scales.quantum.shape[0]):
        h = hessian_sum(sums, k, rules.wide, scales.quantum)
        if h < least_hessian(rules, scales, k) or h + rules.reg_lambda <= 0.0:
            return False
    return True


@kernel()
def cut_score(left, right, direction, low, high, rules, scales):
    """The score of both sides of a cut, or IMPOSSIBLE where it breaks a rule."""
    if not is_heavy(left, rules, scales) or not is_heavy(right, rules, scales):
        return IMPOSSIBLE
    if direction != 0:
        below = value_of(left, 0, low, high, rules, scales.quantum)
        above = value_of(right, 0, low, high, rules, scales.quantum)
        if np.float64(direction) * (above - below) < 0.0:
            return IMPOSSIBLE
    return score_of(left, low, high, rules, scales.quantum) + score_of(right, low, high, rules, scales.quantum)


@kernel()
def scan_any(cells, stride, n_bins, direction, sums, low, high, limits, rules, scales, running, cut):
    """Scan one feature under every rule (several outputs, wide cells, L1, bounds); return the gain and fill ``cut``.

    ``cells`` begin with the feature's missing bin, planes are ``stride`` apart. ``limits`` are the first and last bin
    after which a cut is allowed with missing on the right, then on the left.
    """
    n_planes = sums.shape[0]
    left = running[:n_planes]
    right = running[n_planes : 2 * n_planes]
    before = score_of(sums, low, high, rules, scales.quantum)
    missing = 0
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
            if used == 0 or b < limits[2 * side] or b > limits[2 * side + 1]:
                continue
            score = cut_score(left, right, direction, low, high, rules, scales)
            gain = split_gain(score, before, rules.min_split_gain)
            if score != IMPOSSIBLE and gain > best:
                best = gain
                cut[CUT_BIN] = b
                cut[CUT_SIDE] = side
                for p in range(n_planes):
                    cut[CUT_SUMS + p] = left[p]
    return best


@kernel()
def scan_plain(cells, n_bins, total, floor, reg_lambda, price, limits, quantum, cut):
    """Scan one feature of packed cells with one output where λ is the only rule: the usual case."""
    unit_g = 1.0 / quantum[0, 0]
    unit_h = 1.0 / quantum[0, 1]
    g_all = np.float64(total >> np.int64(32)) * unit_g
    h_all = np.float64(total & LOW_HALF) * unit_h
    missing = cells[0]
    best = 0.0
    best_bin = np.int64(0)
    best_side = np.int64(0)
    best_sum = np.int64(0)
    for side in range(2 if missing != 0 else 1):
        left = missing if side == 1 else np.int64(0)
        first = limits[2 * side]
        last = limits[2 * side + 1]
        for b in range(1, n_bins + (1 if side == 0 and missing != 0 else 0)):
            value = cells[b]
            if value == 0:
                continue
            left += value
            h_left = np.float64(left & LOW_HALF) * unit_h
            h_right = h_all - h_left
            if h_left < floor:
                continue
            if h_right < floor:
                break
            g_left = np.float64(left >> np.int64(32)) * unit_g
            score = plain_score(g_left, h_left, reg_lambda) + plain_score(g_all - g_left, h_right, reg_lambda)
            if score > best and b >= first and b <= last:
                best = score
                best_bin = b
                best_side = side
                best_sum = left
    if best_bin == 0:
        return 0.0
    cut[CUT_BIN] = best_bin
    cut[CUT_SIDE] = best_side
    cut[CUT_SUMS] = best_sum
    return split_gain(best, plain_score(g_all, h_all, reg_lambda), price)


@kernel()
def scan_feature(histogram, f, feature, sums, low, high, limits, rules, scales, running, cut):
    """Find the best cut of one feature in a leaf; return its gain, 0 when there is none."""
    cut[CUT_SURE] = 0
    cells = histogram[feature.start[f] :]
    n_bins = feature.n_bins[f]
    if is_plain(rules) and rules.wide == 0 and sums.shape[0] == 1:
        floor = least_hessian(rules, scales, 0)
        if floor + rules.reg_lambda > 0.0:
            price = rules.min_split_gain
            return scan_plain(cells, n_bins, sums[0], floor, rules.reg_lambda, price, limits, scales.quantum, cut)
    stride = feature.start[feature.start.shape[0] - 1]
    direction = feature.monotone[f]
    return scan_any(cells, stride, n_bins, direction, sums, low, high, limits, rules, scales, running, cut)
