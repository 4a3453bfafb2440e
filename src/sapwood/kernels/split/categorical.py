"""Divide the levels of a category into two sets: levels in the order of their best values, cut somewhere.

Every level has a bin; bin 0 holds the levels without one. Where there are few levels, one goes left and the rest right.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import (
    BITSET_SPLIT,
    BITSET_WORDS,
    CANDIDATE_BIN,
    CANDIDATE_BITSET,
    CANDIDATE_COUNTED,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    CATEGORY_ONE_HOT,
    MAX_CATEGORY_BINS,
    UNPENALISED,
)
from sapwood.kernels.numeric.fixed_point import LOW_HALF
from sapwood.kernels.split.category_bitset import add_to_bitset, in_bitset
from sapwood.kernels.split.gain import clip_value, is_l2_only, l2_score, leaf_value, split_gain, value_score
from sapwood.kernels.split.numeric import leaf_score
from sapwood.kernels.split.numeric_vectorized import min_hessian
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
BUCKETS = 128
FULL_BUCKET = 12  # levels, beyond which neighbours are not sorted one by one
FIRST_GAP = 103  # then 45, 20, 8, 3, 1
MIN_SPAN, MAX_SPAN = 1e-290, 1e290  # of keys that can be told apart by multiplying
HIGH_HALF = np.int64(32)
BIN_BITS = np.int64(8)
CATEGORY_SCRATCH = 4 * (MAX_CATEGORY_BINS + 1) + BUCKETS + 1  # integers that the search needs


@kernel()
def sort_key(x):
    """The bits of a float as an integer of the same order."""
    bits = float_bits(x)
    return bits if bits >= 0 else bits ^ MAGNITUDE


@kernel(noinline=True)
def shell_sort(keys, order, first, last, gap):
    """Sort keys by size, equal ones by their bins, from farther and farther neighbours to next ones (Shell's sort)."""
    while gap > 0:
        for i in range(first + gap, last):
            key = keys[i]
            b = order[i]
            place = i
            while place >= first + gap and (
                keys[place - gap] > key or (keys[place - gap] == key and order[place - gap] > b)
            ):
                keys[place] = keys[place - gap]
                order[place] = order[place - gap]
                place -= gap
            keys[place] = key
            order[place] = b
        gap = gap * 4 // 9


@kernel(noinline=True)
def sort_ends(keys, bins, starts, sorted_keys, order, low, high):
    """Fill ``order`` with bins by their keys, equal ones by number: the ends in order, ``starts[0]`` bins of each.

    Keys are the bits of floats between ``low`` and ``high``. They go into buckets of equal width first.
    """
    n = keys.shape[0]
    most = starts[0]
    span = high - low
    is_spread = MIN_SPAN < span < MAX_SPAN
    scale = (BUCKETS - 0.5) / span if is_spread else 0.0
    for c in range(BUCKETS + 1):
        starts[c] = 0
    for i in range(n):
        bucket = np.int64((bits_float(keys[i]) - low) * scale) if is_spread else np.int64(0)
        starts[bucket + 1] += 1
        bins[i] |= bucket << BIN_BITS
    fullest = np.int64(0)
    for c in range(BUCKETS):
        fullest = max(fullest, starts[c + 1])
        starts[c + 1] += starts[c]
    for i in range(n):
        bucket = bins[i] >> BIN_BITS
        place = starts[bucket]
        starts[bucket] = place + 1
        sorted_keys[place] = sort_key(bits_float(keys[i]))
        order[place] = bins[i] & np.int64(MAX_CATEGORY_BINS)
    # Now ``starts`` are the ends of buckets. The ends of the order reach to the ends of their last buckets.
    gap = np.int64(1) if fullest <= FULL_BUCKET else np.int64(FIRST_GAP)
    below = n
    above = n
    if n > 2 * most:
        above = 0
        for c in range(BUCKETS):
            if starts[c] >= most:
                below = min(below, starts[c])
            if starts[c] <= n - most:
                above = max(above, starts[c])
    if below > above:
        shell_sort(sorted_keys, order, 0, n, gap)
    else:
        shell_sort(sorted_keys, order, 0, below, gap)
        shell_sort(sorted_keys, order, above, n, gap)


@kernel()
def cell_sums(cells, stride, b, wide):
    """The quantised G and H of a bin."""
    if wide != 0:
        return cells[b], cells[stride + b]
    return cells[b] >> HIGH_HALF, cells[b] & LOW_HALF


@kernel()
def penalised_score(g, h, penalty, low, high, rules, plain):
    """The score of one side, whose value pays a penalty beside λ."""
    penalised = h + penalty
    if plain:
        return l2_score(g, penalised, rules.reg_lambda)
    return value_score(g, penalised, clip_value(leaf_value(g, penalised, rules), low, high), rules)


@kernel()
def order_categories(cells, stride, n_bins, counts, n_rows, rules, scales, floor, total, running):
    """Order the bins that hold anything by G/(H + smoothing), those with rows enough if ``n_rows`` > 0; count them.

    The order is at the end of ``running``. None are listed where one bin leaves the others too little hessian.
    """
    room = n_bins + 1
    keys = running[:room]
    bins = running[room : 2 * room]
    n = 0
    low = np.inf
    high = -np.inf
    heaviest = np.int64(0)
    for b in range(room):
        if cells[b] == 0 and (rules.wide == 0 or cells[stride + b] == 0):
            continue
        g, h = cell_sums(cells, stride, b, rules.wide)
        heaviest = max(heaviest, h)
        if n_rows > 0 and counts[b] < rules.min_category_rows:
            continue
        key = (
            np.float64(g) / scales.histogram[0, 0] / (np.float64(h) / scales.histogram[0, 1] + rules.category_smoothing)
        )
        keys[n] = float_bits(key)
        bins[n] = b
        low = min(low, key)
        high = max(high, key)
        n += 1
    if np.float64(total - heaviest) / scales.histogram[0, 1] < floor:
        return 0
    starts = running[4 * room : 4 * room + BUCKETS + 1]
    starts[0] = min(rules.max_categories, (n + 1) // 2)
    sort_ends(keys[:n], bins[:n], starts, running[2 * room : 3 * room], running[3 * room : 4 * room], low, high)
    return n


@kernel(noinline=True)
def scan_partitions(cells, stride, n_bins, sums, low, high, counts, n_rows, rules, scales, running, cut):
    """The largest gain of dividing the levels, 0 where there is none; fill ``cut`` with the set that goes left.

    With ``n_rows`` above 0 both sides must have ``min_child_samples`` by the rows per bin in ``counts``. From both
    ends of the order, at most ``max_levels`` levels are taken.
    """
    wide = rules.wide
    all_g, all_h = cell_sums(sums, 1, 0, wide)
    floor = min_hessian(rules, scales, 0)
    n = order_categories(cells, stride, n_bins, counts, n_rows, rules, scales, floor, all_h, running)
    order = running[3 * (n_bins + 1) : 4 * (n_bins + 1)]
    before = leaf_score(sums, low, high, rules, scales.histogram)
    plain = is_l2_only(rules)
    of_g = 1.0 / scales.histogram[0, 0]  # scales are powers of two
    of_h = 1.0 / scales.histogram[0, 1]
    all_there = n_rows > 0 and rules.min_category_rows > 1  # then levels outside the order stay on the other side
    most = min(rules.max_categories, (n + 1) // 2, n if all_there else n - 1)
    least = max(rules.min_child_samples, rules.min_group_rows)
    best = 0.0
    best_size = 0
    best_end = 0
    best_g = np.int64(0)
    best_h = np.int64(0)
    for end in range(2):
        g = np.int64(0)
        h = np.int64(0)
        rows = np.int64(0)
        judged = np.int64(0)
        for k in range(most):
            b = order[k] if end == 0 else order[n - 1 - k]
            own_g, own_h = cell_sums(cells, stride, b, wide)
            g += own_g
            h += own_h
            if n_rows > 0:
                rows += counts[b]
                if rows < rules.min_child_samples or n_rows - rows < least or rows - judged < rules.min_group_rows:
                    continue
                judged = rows
            left = np.float64(h) * of_h
            right = np.float64(all_h - h) * of_h
            if min(left, right) < floor or min(left, right) + rules.reg_lambda <= 0.0:
                continue
            score = penalised_score(np.float64(g) * of_g, left, rules.category_lambda, low, high, rules, plain)
            score += penalised_score(
                np.float64(all_g - g) * of_g, right, rules.category_lambda, low, high, rules, plain
            )
            gain = split_gain(score, before, rules.min_split_gain)
            if gain > best:
                best = gain
                best_size = k + 1
                best_end = end
                best_g = g
                best_h = h
    if best > 0.0:
        for w in range(BITSET_WORDS):
            cut[CANDIDATE_BITSET + w] = 0
        for k in range(best_size):
            add_to_bitset(
                cut[CANDIDATE_BITSET : CANDIDATE_BITSET + BITSET_WORDS], order[k] if best_end == 0 else order[n - 1 - k]
            )
        cut[CANDIDATE_BIN] = BITSET_SPLIT
        cut[CANDIDATE_MISSING_LEFT] = np.int64(in_bitset(cut[CANDIDATE_BITSET : CANDIDATE_BITSET + BITSET_WORDS], 0))
        cut[CANDIDATE_SUMS] = best_g if wide != 0 else (best_g << HIGH_HALF) + best_h
        if wide != 0:
            cut[CANDIDATE_SUMS + 1] = best_h
    return best


@kernel(noinline=True)
def scan_one_hot(cells, stride, n_bins, sums, low, high, counts, n_rows, rules, scales, cut):
    """``scan_partitions`` where a single level goes left: one of few, so that no penalty is due for choosing it."""
    all_g, all_h = cell_sums(sums, 1, 0, rules.wide)
    floor = min_hessian(rules, scales, 0)
    before = leaf_score(sums, low, high, rules, scales.histogram)
    plain = is_l2_only(rules)
    best = 0.0
    best_bin = 0
    for b in range(n_bins + 1):
        g, h = cell_sums(cells, stride, b, rules.wide)
        if n_rows > 0 and min(counts[b], n_rows - counts[b]) < rules.min_child_samples:
            continue
        left = np.float64(h) / scales.histogram[0, 1]
        right = np.float64(all_h - h) / scales.histogram[0, 1]
        if (g == 0 and h == 0) or min(left, right) < floor or min(left, right) + rules.reg_lambda <= 0.0:
            continue
        score = penalised_score(np.float64(g) / scales.histogram[0, 0], left, 0.0, low, high, rules, plain)
        score += penalised_score(np.float64(all_g - g) / scales.histogram[0, 0], right, 0.0, low, high, rules, plain)
        gain = split_gain(score, before, rules.min_split_gain)
        if gain > best:
            best = gain
            best_bin = b
    if best > 0.0:
        for w in range(BITSET_WORDS):
            cut[CANDIDATE_BITSET + w] = 0
        add_to_bitset(cut[CANDIDATE_BITSET : CANDIDATE_BITSET + BITSET_WORDS], best_bin)
        cut[CANDIDATE_BIN] = BITSET_SPLIT
        cut[CANDIDATE_MISSING_LEFT] = UNPENALISED + (1 if best_bin == 0 else 0)
        for p in range(1 + rules.wide):
            cut[CANDIDATE_SUMS + p] = cells[p * stride + best_bin]
    return best


@kernel()
def scan_categories(histogram, f, feature, sums, low, high, counts, n_rows, rules, scales, running, cut):
    """The largest gain of dividing the levels of one feature of a leaf; see ``scan_partitions``.

    Where rows were not counted, the cut is not sure to leave both sides enough of them.
    """
    if n_rows == 0:
        cut[CANDIDATE_COUNTED] = 0
    stride = feature.offset[feature.offset.shape[0] - 1]
    cells = histogram[feature.offset[f] :]
    if feature.category_kind[f] == CATEGORY_ONE_HOT:
        return scan_one_hot(cells, stride, feature.n_bins[f], sums, low, high, counts, n_rows, rules, scales, cut)
    return scan_partitions(
        cells, stride, feature.n_bins[f], sums, low, high, counts, n_rows, rules, scales, running, cut
    )  # fmt: skip


@kernel()
def count_left_rows(words, counts, n_bins):
    """The rows in the bins of a set."""
    n = np.int64(0)
    for b in range(n_bins + 1):
        n += counts[b] * np.int64(in_bitset(words, b))
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
            if bin[node] == BITSET_SPLIT:
                goes_left = in_bitset(sets[node], b) != np.uint64(0)
            else:
                goes_left = missing_left[node] != 0 if b == 0 else b <= np.int64(bin[node])
            node = np.int64(left[node]) + (0 if goes_left else 1)
        out[row] = node
