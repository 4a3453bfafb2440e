"""Find the cut that is best for all leaves of a level together.

With the *l2* score the worth of a cut is the sum of the leaves' scores; with *cosine* it is Σ G w / √Σ H w² over all
sides, w the value of the side, which is not a sum over leaves. A side of a leaf that is empty or lighter than
``min_child_weight`` leaves that leaf as it was: it adds what the leaf is worth unsplit.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import LEAF_HIST, LEAF_LOWER, LEAF_SUMS, LEAF_UPPER
from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum, high_half, low_half
from sapwood.kernels.split.best_split import draw_split_noise, has_missing
from sapwood.kernels.split.gain import clip_value, is_l2_only, l2_score, leaf_value, split_gain, value_score
from sapwood.kernels.split.numeric import MIN_DIVISOR, bounded_value
from sapwood.kernels.split.numeric_vectorized import cumulate_side, l2_split_score
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
# What a member keeps of its best cut: worth with luck, feature, bin, side of missing, and worth without luck.
BEST_SCORE, BEST_FEATURE, BEST_BIN, BEST_MISSING_LEFT, BEST_NOISELESS_SCORE = range(5)


@kernel()
def add_leaf_score(sums, low, high, rules, quantum, out):
    """Add the score of a leaf to ``out[0]``, and to ``out[1]`` the sum that cosine divides by."""
    for k in range(quantum.shape[0]):
        g = gradient_sum(sums, k, rules.wide, quantum)
        h = hessian_sum(sums, k, rules.wide, quantum)
        value = clip_value(leaf_value(g, h, rules), low, high)
        if rules.cosine_score != 0:
            out[0] += -g * value
            out[1] += h * value * value
        else:
            out[0] += value_score(g, h, value, rules)


@kernel()
def is_too_light(sums, rules, quantum):
    """Tell whether a side is empty or too light to be a leaf of its own."""
    for k in range(quantum.shape[0]):
        h = hessian_sum(sums, k, rules.wide, quantum)
        if h < rules.min_child_weight or h + rules.reg_lambda <= 0.0:
            return True
    return False


@kernel()
def score_leaf(cells, stride, n_bins, n_sides, direction, sums, low, high, rules, quantum, running, worth):
    """Add one leaf's part to the worth of every cut of a feature; worth is (2 sides of missing, 2, bins + 1)."""
    n_planes = sums.shape[0]
    left = running[:n_planes]
    right = running[n_planes : 2 * n_planes]
    for side in range(n_sides):
        for p in range(n_planes):
            left[p] = cells[p * stride] if side == 1 else np.int64(0)
        for b in range(1, n_bins + 1):
            for p in range(n_planes):
                left[p] += cells[p * stride + b]
                right[p] = sums[p] - left[p]
            if is_too_light(left, rules, quantum) or is_too_light(right, rules, quantum):
                add_leaf_score(sums, low, high, rules, quantum, worth[side, :, b])
                continue
            if direction != 0:
                below = bounded_value(left, 0, low, high, rules, quantum)
                above = bounded_value(right, 0, low, high, rules, quantum)
                if np.float64(direction) * (above - below) < 0.0:
                    worth[side, 0, b] = -INFINITE
            add_leaf_score(left, low, high, rules, quantum, worth[side, :, b])
            add_leaf_score(right, low, high, rules, quantum, worth[side, :, b])


@kernel()
def score_leaf_l2(cells, n_bins, n_sides, total, floor, reg_lambda, quantum, running, worth):
    """The same for packed cells with one output where λ is the only rule, as vector code."""
    unit_g = 1.0 / quantum[0, 0]
    unit_h = 1.0 / quantum[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    before = l2_score(g_all, h_all, reg_lambda) if h_all + reg_lambda > 0.0 else 0.0
    for side in range(n_sides):
        cumulate_side(cells, n_bins, side, running[1:])
        line = worth[side, 0]
        for b in range(np.uint64(1), np.uint64(n_bins + 1)):
            h_left = low_half(running[b]) * unit_h
            g_left = high_half(running[b]) * unit_g
            score = l2_split_score(g_left, h_left + reg_lambda, g_all, h_all + 2.0 * reg_lambda)
            fits = (h_left >= floor) & (h_all - h_left >= floor)
            line[b] += score if fits else before


@kernel()
def score_leaf_cosine(cells, n_bins, n_sides, total, floor, reg_lambda, quantum, running, worth):
    """The same for the cosine score: the numbers of ``score_leaf``, in its order."""
    unit_g = 1.0 / quantum[0, 0]
    unit_h = 1.0 / quantum[0, 1]
    g_all = high_half(total) * unit_g
    h_all = low_half(total) * unit_h
    value = g_all / (h_all + reg_lambda) if h_all + reg_lambda > 0.0 else 0.0
    before = g_all * value
    before_below = h_all * value * value
    for side in range(n_sides):
        cumulate_side(cells, n_bins, side, running[1:])
        line = worth[side, 0]
        below = worth[side, 1]
        for b in range(np.uint64(1), np.uint64(n_bins + 1)):
            g_left = high_half(running[b]) * unit_g
            h_left = low_half(running[b]) * unit_h
            g_right = g_all - g_left
            h_right = h_all - h_left
            value_left = g_left / (h_left + reg_lambda)
            value_right = g_right / (h_right + reg_lambda)
            fits = (h_left >= floor) & (h_right >= floor)
            line[b] += g_left * value_left if fits else before
            line[b] += g_right * value_right if fits else 0.0
            below[b] += h_left * value_left * value_left if fits else before_below
            below[b] += h_right * value_right * value_right if fits else 0.0


@kernel()
def total_score(pair, cosine):
    """The worth of a cut from its two sums."""
    if cosine != 0:
        return pair[0] / np.sqrt(pair[1]) if pair[1] > 0.0 else 0.0
    return pair[0]


@kernel()
def is_better(worth, f, best, number):
    """Tell whether a cut of feature f is worth more than the best, or as much and its feature has a lower number."""
    if worth != best[BEST_SCORE] or best[BEST_FEATURE] < 0.0:
        return worth > best[BEST_SCORE]
    return number[f] < number[np.int64(best[BEST_FEATURE])]


@kernel()
def search_level_features(member, n_leaves, feature, rules, quantum, cells, leaves, allowed, running, worth, best):
    """Find the best cut of the member's share of features over all leaves; ``best`` takes it."""
    n_planes = cells.pool.shape[1] // feature.offset[feature.offset.shape[0] - 1]
    stride = feature.offset[feature.offset.shape[0] - 1]
    usual = is_l2_only(rules) and rules.wide == 0 and n_planes == 1
    quick = usual and rules.cosine_score == 0 and rules.min_child_weight > MIN_DIVISOR
    quick_cosine = usual and rules.cosine_score != 0 and rules.min_child_weight + rules.reg_lambda > MIN_DIVISOR
    best[BEST_SCORE] = -INFINITE
    best[BEST_FEATURE] = -1.0
    for f in range(feature.slices[member], feature.slices[member + 1]):
        n_bins = feature.n_bins[f]
        if allowed[0, f] == 0:
            continue
        missing = 0
        for leaf in range(n_leaves):
            if has_missing(cells.pool[leaves.ints[leaf, LEAF_HIST]], feature.offset[f], stride, n_planes):
                missing = 1
        for side in range(1 + missing):
            for b in range(n_bins + 1):
                worth[side, 0, b] = 0.0
                worth[side, 1, b] = 0.0
        for leaf in range(n_leaves):
            histogram = cells.pool[leaves.ints[leaf, LEAF_HIST]][feature.offset[f] :]
            sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
            if quick:
                floor = rules.min_child_weight
                score_leaf_l2(histogram, n_bins, 1 + missing, sums[0], floor, rules.reg_lambda, quantum, running, worth)
                continue
            if quick_cosine:
                floor = rules.min_child_weight
                score_leaf_cosine(
                    histogram, n_bins, 1 + missing, sums[0], floor, rules.reg_lambda, quantum, running, worth
                )
                continue
            low = leaves.floats[leaf, LEAF_LOWER]
            high = leaves.floats[leaf, LEAF_UPPER]
            direction = feature.monotone[f]
            score_leaf(
                histogram, stride, n_bins, 1 + missing, direction, sums, low, high, rules, quantum, running, worth
            )
        chance = draw_split_noise(rules, n_leaves, feature.ids[f]) if rules.split_noise > 0.0 else 0.0
        for side in range(1 + missing):
            for b in range(1, n_bins + (missing if side == 0 else 0)):
                value = total_score(worth[side, :, b], rules.cosine_score)
                if is_better(value + chance, f, best, feature.ids):
                    best[BEST_SCORE] = value + chance
                    best[BEST_NOISELESS_SCORE] = value
                    best[BEST_FEATURE] = np.float64(f)
                    best[BEST_BIN] = np.float64(b)
                    best[BEST_MISSING_LEFT] = np.float64(side if missing != 0 else 1)


@kernel()
def best_member(members, number, bests):
    """The number of the member with the best cut."""
    winner = 0
    for t in range(1, members):
        if is_better(bests[t, BEST_SCORE], np.int64(bests[t, BEST_FEATURE]), bests[winner], number):
            winner = t
    return winner


@kernel()
def choose_level_split(members, n_leaves, n_planes, number, rules, quantum, leaves, scratch, bests):
    """The number of the member with the best cut, or −1 when no cut is worth anything."""
    winner = best_member(members, number, bests)
    pair = scratch[:2]
    pair[0] = 0.0
    pair[1] = 0.0
    for leaf in range(n_leaves):
        sums = leaves.ints[leaf, LEAF_SUMS : LEAF_SUMS + n_planes]
        add_leaf_score(sums, leaves.floats[leaf, LEAF_LOWER], leaves.floats[leaf, LEAF_UPPER], rules, quantum, pair)
    before = total_score(pair, rules.cosine_score)
    gain = (
        split_gain(bests[winner, BEST_NOISELESS_SCORE], before, rules.min_split_gain)
        if bests[winner, BEST_FEATURE] >= 0.0
        else 0.0
    )
    scratch[2] = gain
    return winner if gain > 0.0 else -1
