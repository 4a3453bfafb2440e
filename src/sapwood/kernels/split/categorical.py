"""Find the best split of a categorical feature: a set of categories goes left, as a bitset of bins.

Every category has a bin; bin 0 holds those without one. With many categories, the set is a prefix or suffix of their
order by gradient statistics (``category_order.py``); with few, it is one category.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.layout import CANDIDATE_COUNTED, CANDIDATE_SUMS, CATEGORY_ONE_HOT
from sapwood.kernels.split.category_bitset import in_bitset, set_one_category, set_partition
from sapwood.kernels.split.category_order import HIGH_SHIFT, cell_sums, order_categories
from sapwood.kernels.split.gain import (
    clip_value,
    is_l2_only,
    l2_score,
    leaf_score,
    leaf_value,
    split_gain,
    value_score,
)
from sapwood.kernels.split.numeric_vectorized import min_hessian
from sapwood.kernels.split.ordered_categories import scan_ordered_categories
from sapwood.native.runtime.kernel import kernel


@kernel()
def penalised_score(g, h, penalty, lower, upper, params, is_l2):
    """Return the score of one side, with ``penalty`` added to λ."""
    penalised = h + penalty
    if is_l2:
        return l2_score(g, penalised, params.reg_lambda)
    return value_score(g, penalised, clip_value(leaf_value(g, penalised, params), lower, upper), params)


@kernel(noinline=True)
def scan_partitions(cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate):
    """Find the best partition of the categories; return its gain, 0 if there is none, and fill ``candidate``.

    Categories are taken from either end of their order, at most ``max_categories`` of them. With ``n_rows`` above 0
    both sides must have ``min_child_samples`` rows by the rows per bin in ``counts``.
    """
    wide = params.wide
    all_g, all_h = cell_sums(sums, 1, 0, wide)
    min_h = min_hessian(params, scales, 0)
    n = order_categories(cells, n_cells, n_bins, counts, n_rows, params, scales, min_h, all_h, buffer)
    order = buffer[3 * (n_bins + 1) : 4 * (n_bins + 1)]
    parent_score = leaf_score(sums, lower, upper, params, scales.histogram)
    is_l2 = is_l2_only(params)
    unit_g = 1.0 / scales.histogram[0, 0]  # scales are powers of two
    unit_h = 1.0 / scales.histogram[0, 1]
    all_in_order = n_rows > 0 and params.min_category_rows > 1  # categories outside the order stay on the other side
    max_size = min(params.max_categories, (n + 1) // 2, n if all_in_order else n - 1)
    min_rest = max(params.min_child_samples, params.min_group_rows)
    best = 0.0
    best_size = 0
    best_end = 0
    best_g = np.int64(0)
    best_h = np.int64(0)
    for end in range(2):
        g = np.int64(0)
        h = np.int64(0)
        rows = np.int64(0)
        scored_rows = np.int64(0)
        for k in range(max_size):
            b = order[k] if end == 0 else order[n - 1 - k]
            bin_g, bin_h = cell_sums(cells, n_cells, b, wide)
            g += bin_g
            h += bin_h
            if n_rows > 0:
                rows += counts[b]
                n_added = rows - scored_rows
                if rows < params.min_child_samples or n_rows - rows < min_rest or n_added < params.min_group_rows:
                    continue
                scored_rows = rows
            left = np.float64(h) * unit_h
            right = np.float64(all_h - h) * unit_h
            if min(left, right) < min_h or min(left, right) + params.reg_lambda <= 0.0:
                continue
            score = penalised_score(np.float64(g) * unit_g, left, params.category_lambda, lower, upper, params, is_l2)
            score += penalised_score(
                np.float64(all_g - g) * unit_g, right, params.category_lambda, lower, upper, params, is_l2
            )
            gain = split_gain(score, parent_score, params.min_split_gain)
            if gain > best:
                best = gain
                best_size = k + 1
                best_end = end
                best_g = g
                best_h = h
    if best > 0.0:
        set_partition(order, n, best_size, best_end, candidate)
        candidate[CANDIDATE_SUMS] = best_g if wide != 0 else (best_g << HIGH_SHIFT) + best_h
        if wide != 0:
            candidate[CANDIDATE_SUMS + 1] = best_h
    return best


@kernel(noinline=True)
def scan_one_hot(cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, candidate):
    """Find the best category to send left alone; return its gain, 0 if there is none, and fill ``candidate``.

    It is one of few, so that ``category_lambda`` is not added.
    """
    all_g, all_h = cell_sums(sums, 1, 0, params.wide)
    min_h = min_hessian(params, scales, 0)
    parent_score = leaf_score(sums, lower, upper, params, scales.histogram)
    is_l2 = is_l2_only(params)
    best = 0.0
    best_bin = 0
    for b in range(n_bins + 1):
        g, h = cell_sums(cells, n_cells, b, params.wide)
        if n_rows > 0 and min(counts[b], n_rows - counts[b]) < params.min_child_samples:
            continue
        left = np.float64(h) / scales.histogram[0, 1]
        right = np.float64(all_h - h) / scales.histogram[0, 1]
        if (g == 0 and h == 0) or min(left, right) < min_h or min(left, right) + params.reg_lambda <= 0.0:
            continue
        g_left = np.float64(g) / scales.histogram[0, 0]
        g_right = np.float64(all_g - g) / scales.histogram[0, 0]
        score = penalised_score(g_left, left, 0.0, lower, upper, params, is_l2)
        score += penalised_score(g_right, right, 0.0, lower, upper, params, is_l2)
        gain = split_gain(score, parent_score, params.min_split_gain)
        if gain > best:
            best = gain
            best_bin = b
    if best > 0.0:
        set_one_category(best_bin, candidate)
        for p in range(1 + params.wide):
            candidate[CANDIDATE_SUMS + p] = cells[p * n_cells + best_bin]
    return best


@kernel()
def scan_categories(histogram, f, features, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate):
    """Find the best categorical split of a feature; return its gain, 0 if there is none, and fill ``candidate``.

    ``n_rows`` is 0 if rows were not counted: the split may then leave too few of them on a side.
    """
    if n_rows == 0:
        candidate[CANDIDATE_COUNTED] = 0
    n_cells = count_cells(features.offset)
    n_bins = features.n_bins[f]
    cells = histogram[features.offset[f] :]
    if params.n_prefixes != 0:
        return scan_ordered_categories(
            cells, n_cells, n_bins, features.category_kind[f], sums, lower, upper, counts, n_rows, params, scales,
            buffer, candidate,
        )  # fmt: skip
    if features.category_kind[f] == CATEGORY_ONE_HOT:
        return scan_one_hot(cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, candidate)
    return scan_partitions(
        cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate
    )  # fmt: skip


@kernel()
def count_left_rows(words, counts, n_bins):
    """Return the number of rows in the bins of a set."""
    n = np.int64(0)
    for b in range(n_bins + 1):
        n += counts[b] * np.int64(in_bitset(words, b))
    return n
