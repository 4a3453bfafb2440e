"""Divide the levels of a category into two sets: levels in the order of their best values, cut somewhere.

Every level has a bin; bin 0 holds the levels without one.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.gain import leaf_value, split_gain, value_score, within
from sapwood.kernels.layout import CUT_BIN, CUT_SET, CUT_SIDE, CUT_SUMS, IS_SET, SET_WORDS
from sapwood.kernels.sets import add_member, is_member
from sapwood.kernels.split_numeric import is_heavy, score_of
from sapwood.kernels.steps import gradient_sum, hessian_sum
from sapwood.native.intrinsics import float_bits
from sapwood.native.kernel import kernel

MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
FIRST_GAP = 103  # then 45, 20, 8, 3, 1


@kernel()
def sort_key(x):
    """The bits of a float as an integer of the same order."""
    bits = float_bits(x)
    return bits if bits >= 0 else bits ^ MAGNITUDE


@kernel(apart=True)
def sort_pairs(keys, order, n):
    """Sort n keys, equal ones by their bins (Shell's sort: in place, and few levels need no more)."""
    gap = np.int64(FIRST_GAP)
    while gap > 0:
        for i in range(gap, n):
            key = keys[i]
            b = order[i]
            place = i
            while place >= gap and (keys[place - gap] > key or (keys[place - gap] == key and order[place - gap] > b)):
                keys[place] = keys[place - gap]
                order[place] = order[place - gap]
                place -= gap
            keys[place] = key
            order[place] = b
        gap = gap * 4 // 9


@kernel()
def sort_levels(cells, stride, n_bins, n_planes, counts, n_rows, rules, quantum, sums, keys, order):
    """List the bins that hold anything by G/(H + smoothing), those with rows enough if ``n_rows`` > 0; count them."""
    n = 0
    for b in range(n_bins + 1):
        if n_rows > 0 and counts[b] < rules.level_rows:
            continue
        used = 0
        for p in range(n_planes):
            sums[p] = cells[p * stride + b]
            if sums[p] != 0:
                used = 1
        if used == 0:
            continue
        g = gradient_sum(sums, 0, rules.wide, quantum)
        h = hessian_sum(sums, 0, rules.wide, quantum)
        keys[n] = sort_key(g / (h + rules.level_smoothing))
        order[n] = b
        n += 1
    sort_pairs(keys, order, n)
    return n


@kernel()
def side_score(sums, low, high, rules, quantum):
    """The score of one side, whose value pays the penalty of levels too."""
    g = gradient_sum(sums, 0, rules.wide, quantum)
    h = hessian_sum(sums, 0, rules.wide, quantum) + rules.level_lambda
    return value_score(g, h, within(leaf_value(g, h, rules), low, high), rules)


@kernel()
def scan_levels(cells, stride, n_bins, sums, low, high, counts, n_rows, rules, scales, running, cut):
    """The largest gain of dividing the levels, 0 where there is none; fill ``cut`` with the set that goes left.

    With ``n_rows`` above 0 both sides must have ``min_child_samples`` by the rows per bin in ``counts``. From both
    ends of the order, at most ``max_levels`` levels are taken.
    """
    n_planes = sums.shape[0]
    left = running[:n_planes]
    right = running[n_planes : 2 * n_planes]
    keys = running[2 * n_planes : 2 * n_planes + n_bins + 1]
    order = running[2 * n_planes + n_bins + 1 : 2 * n_planes + 2 * n_bins + 2]
    n = sort_levels(cells, stride, n_bins, n_planes, counts, n_rows, rules, scales.quantum, left, keys, order)
    before = score_of(sums, low, high, rules, scales.quantum)
    most = min(rules.max_levels, (n + 1) // 2)
    all_there = n_rows > 0 and rules.level_rows > 1  # then levels outside the order stay on the other side
    least = max(rules.min_child_samples, rules.group_rows)
    best = 0.0
    best_size = 0
    best_end = 0
    for end in range(2):
        for p in range(n_planes):
            left[p] = 0
        rows = np.int64(0)
        judged = np.int64(0)
        for k in range(min(most, n if all_there else n - 1)):
            b = order[k] if end == 0 else order[n - 1 - k]
            for p in range(n_planes):
                left[p] += cells[p * stride + b]
                right[p] = sums[p] - left[p]
            if n_rows > 0:
                rows += counts[b]
                if rows < rules.min_child_samples or n_rows - rows < least or rows - judged < rules.group_rows:
                    continue
                judged = rows
            if not is_heavy(left, rules, scales) or not is_heavy(right, rules, scales):
                continue
            score = side_score(left, low, high, rules, scales.quantum)
            score += side_score(right, low, high, rules, scales.quantum)
            gain = split_gain(score, before, rules.min_split_gain)
            if gain > best:
                best = gain
                best_size = k + 1
                best_end = end
                for p in range(n_planes):
                    cut[CUT_SUMS + p] = left[p]
    if best > 0.0:
        for w in range(SET_WORDS):
            cut[CUT_SET + w] = 0
        for k in range(best_size):
            add_member(cut[CUT_SET : CUT_SET + SET_WORDS], order[k] if best_end == 0 else order[n - 1 - k])
        cut[CUT_BIN] = IS_SET
        cut[CUT_SIDE] = np.int64(is_member(cut[CUT_SET : CUT_SET + SET_WORDS], 0))
    return best


@kernel()
def divide_levels(histogram, f, feature, sums, low, high, counts, n_rows, rules, scales, running, cut):
    """The largest gain of dividing the levels of one feature of a leaf; see ``scan_levels``."""
    stride = feature.start[feature.start.shape[0] - 1]
    cells = histogram[feature.start[f] :]
    return scan_levels(
        cells, stride, feature.n_bins[f], sums, low, high, counts, n_rows, rules, scales, running, cut
    )  # fmt: skip


@kernel()
def count_chosen(words, counts, n_bins):
    """The rows in the bins of a set."""
    n = np.int64(0)
    for b in range(n_bins + 1):
        n += counts[b] * np.int64(is_member(words, b))
    return n


@kernel(
    "u8[:,:,:], i32[:], i32[:], u8[:], i32[:], i64[:,:], i32[:]",
    "u16[:,:,:], i32[:], i32[:], u8[:], i32[:], i64[:,:], i32[:]",
)
def find_leaves(member, members, sync, tiles, feature, bin, missing_left, left, sets, out):
    """Write the leaf in which each binned row ends; nodes whose bin is IS_SET send a set of bins to the left."""
    n, width = tiles.shape[1], tiles.shape[2]
    for row in range(member * n // members, (member + 1) * n // members):
        node = 0
        while feature[node] >= 0:
            f = np.int64(feature[node])
            b = np.int64(tiles[f // width, row, f % width])
            if bin[node] == IS_SET:
                goes_left = is_member(sets[node], b) != np.uint64(0)
            else:
                goes_left = missing_left[node] != 0 if b == 0 else b <= np.int64(bin[node])
            node = np.int64(left[node]) + (0 if goes_left else 1)
        out[row] = node
