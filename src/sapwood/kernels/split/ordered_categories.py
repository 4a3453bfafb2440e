"""Find the best split of a categorical feature with ordered scoring; ``categorical.py`` does so without.

Categories are sorted by the gradients of all rows of the leaf. What a split brings is counted in the sums of all
planes, by ``gain.ordered_score``.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_SUMS, CATEGORY_ONE_HOT
from sapwood.kernels.split.category_bitset import set_one_category, set_partition
from sapwood.kernels.split.category_order import cell_sums, order_categories
from sapwood.kernels.split.gain import leaf_score, ordered_score, split_gain
from sapwood.kernels.split.numeric import has_min_hessian
from sapwood.kernels.split.numeric_vectorized import min_hessian
from sapwood.native.runtime.kernel import kernel


@kernel()
def ordered_gain(left, sums, right, penalty, parent_score, lower, upper, params, scales):
    """Return the gain of a split with these sums on the left, 0 if a side is too light; ``right`` is scratch memory."""
    for p in range(sums.shape[0]):
        right[p] = sums[p] - left[p]
    if not has_min_hessian(left, params, scales) or not has_min_hessian(right, params, scales):
        return 0.0
    score = ordered_score(left, penalty, lower, upper, params, scales.histogram)
    score += ordered_score(right, penalty, lower, upper, params, scales.histogram)
    return split_gain(score, parent_score, params.min_split_gain)


@kernel()
def scan_ordered_partitions(
    cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate
):  # fmt: skip
    """Find the best partition of the categories; return its gain, 0 if there is none, and fill ``candidate``."""
    n_planes = sums.shape[0]
    left = buffer[:n_planes]
    right = buffer[n_planes : 2 * n_planes]
    rest = buffer[2 * n_planes :]
    min_h = min_hessian(params, scales, 0)
    _, all_h = cell_sums(sums, 1, 0, params.wide)
    n = order_categories(cells, n_cells, n_bins, counts, n_rows, params, scales, min_h, all_h, rest)
    order = rest[3 * (n_bins + 1) : 4 * (n_bins + 1)]
    parent_score = leaf_score(sums, lower, upper, params, scales.histogram)
    all_in_order = n_rows > 0 and params.min_category_rows > 1  # categories outside the order stay on the other side
    max_size = min(params.max_categories, (n + 1) // 2, n if all_in_order else n - 1)
    min_rest = max(params.min_child_samples, params.min_group_rows)
    best = 0.0
    best_size = 0
    best_end = 0
    for end in range(2):
        for p in range(n_planes):
            left[p] = 0
        rows = np.int64(0)
        scored_rows = np.int64(0)
        for k in range(max_size):
            b = order[k] if end == 0 else order[n - 1 - k]
            for p in range(n_planes):
                left[p] += cells[p * n_cells + b]
            if n_rows > 0:
                rows += counts[b]
                n_added = rows - scored_rows
                if rows < params.min_child_samples or n_rows - rows < min_rest or n_added < params.min_group_rows:
                    continue
                scored_rows = rows
            gain = ordered_gain(
                left, sums, right, params.category_lambda, parent_score, lower, upper, params, scales
            )  # fmt: skip
            if gain > best:
                best = gain
                best_size = k + 1
                best_end = end
                for p in range(n_planes):
                    candidate[CANDIDATE_SUMS + p] = left[p]
    if best > 0.0:
        set_partition(order, n, best_size, best_end, candidate)
    return best


@kernel()
def scan_ordered_one_hot(
    cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate
):  # fmt: skip
    """Find the best category to send left alone; return its gain, 0 if there is none, and fill ``candidate``."""
    n_planes = sums.shape[0]
    left = buffer[:n_planes]
    right = buffer[n_planes : 2 * n_planes]
    parent_score = leaf_score(sums, lower, upper, params, scales.histogram)
    best = 0.0
    best_bin = 0
    for b in range(n_bins + 1):
        if n_rows > 0 and min(counts[b], n_rows - counts[b]) < params.min_child_samples:
            continue
        is_empty = True
        for p in range(n_planes):
            left[p] = cells[p * n_cells + b]
            is_empty = is_empty and left[p] == 0
        if is_empty:
            continue
        gain = ordered_gain(left, sums, right, 0.0, parent_score, lower, upper, params, scales)
        if gain > best:
            best = gain
            best_bin = b
    if best > 0.0:
        set_one_category(best_bin, candidate)
        for p in range(n_planes):
            candidate[CANDIDATE_SUMS + p] = cells[p * n_cells + best_bin]
    return best


@kernel(noinline=True)
def scan_ordered_categories(
    cells, n_cells, n_bins, kind, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate
):  # fmt: skip
    """Find the best split of a feature whose categories are split as ``kind`` says; see ``scan_categories``."""
    if kind == CATEGORY_ONE_HOT:
        return scan_ordered_one_hot(
            cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate
        )  # fmt: skip
    return scan_ordered_partitions(
        cells, n_cells, n_bins, sums, lower, upper, counts, n_rows, params, scales, buffer, candidate
    )  # fmt: skip
