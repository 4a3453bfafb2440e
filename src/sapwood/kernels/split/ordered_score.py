"""Score all splits of a feature with ordered scoring and L2 regularisation only, by loops that become vector code.

The terms of a split are those of ``gain.ordered_terms`` of both sides, added up prefix by prefix for all splits of a
feature. ``buffer`` has rows of n_bins + PADDING integers: the bits of −Σ G w and of Σ H w² of each split, marks (0: a
side is too light), and the sums on the left of each split in the planes that are added.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import high_half, int_to_float, low_half
from sapwood.kernels.split.cumulative_sums import PADDING, cumulate_side
from sapwood.kernels.split.gain import (
    MIN_DIVISOR,
    count_outputs,
    is_l2_only,
    l2_step,
    leaf_score,
    ordered_terms,
    split_gain,
)
from sapwood.kernels.split.leaf_size import first_bin, has_two_sides, last_bin
from sapwood.kernels.split.numeric_vectorized import min_hessian
from sapwood.kernels.split.side_marks import mark_packed_output, mark_wide_output
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

ORDERED_ROWS = 7  # of the buffer


@kernel()
def is_ordered_vectorizable(params):
    """Return whether vector code can score splits: L2 regularisation only, no division by nearly 0."""
    return is_l2_only(params) and params.reg_lambda > MIN_DIVISOR


@kernel(noinline=True)
def add_packed_terms(fitted, scored, n, all_fitted, all_scored, reg_lambda, scale, products, squares):
    """Add the terms of one prefix to those of n splits, from packed sums of its rows and of the rows behind it."""
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    scored_unit_g = 1.0 / scale[1, 0]
    scored_unit_h = 1.0 / scale[1, 1]
    for b in range(np.uint64(n)):
        rest = all_fitted - fitted[b]
        scored_rest = all_scored - scored[b]
        left = l2_step(high_half(fitted[b]) * unit_g, low_half(fitted[b]) * unit_h, reg_lambda)
        right = l2_step(high_half(rest) * unit_g, low_half(rest) * unit_h, reg_lambda)
        product = (high_half(scored[b]) * left + high_half(scored_rest) * right) * scored_unit_g
        square = (low_half(scored[b]) * left * left + low_half(scored_rest) * right * right) * scored_unit_h
        products[b] = float_bits(bits_float(products[b]) + product)
        squares[b] = float_bits(bits_float(squares[b]) + square)


@kernel(noinline=True)
def add_wide_terms(fitted, scored, n, size, all_fitted, all_scored, reg_lambda, scale, products, squares):
    """Do ``add_packed_terms`` from gradient sums and, ``size`` integers behind them, hessian sums."""
    unit_g = 1.0 / scale[0, 0]
    unit_h = 1.0 / scale[0, 1]
    scored_unit_g = 1.0 / scale[1, 0]
    scored_unit_h = 1.0 / scale[1, 1]
    fitted_h = fitted[size:]
    scored_h = scored[size:]
    for b in range(np.uint64(n)):
        left = l2_step(int_to_float(fitted[b]) * unit_g, int_to_float(fitted_h[b]) * unit_h, reg_lambda)
        right = l2_step(
            int_to_float(all_fitted[0] - fitted[b]) * unit_g, int_to_float(all_fitted[1] - fitted_h[b]) * unit_h,
            reg_lambda,
        )  # fmt: skip
        product = (int_to_float(scored[b]) * left + int_to_float(all_scored[0] - scored[b]) * right) * scored_unit_g
        square = int_to_float(scored_h[b]) * left * left + int_to_float(all_scored[1] - scored_h[b]) * right * right
        products[b] = float_bits(bits_float(products[b]) + product)
        squares[b] = float_bits(bits_float(squares[b]) + square * scored_unit_h)


@kernel()
def sum_split_terms(cells, n_cells, n, missing_left, sums, params, scale, buffer):
    """Write the terms of the first n splits of a feature, missing values on one side, to two rows of ``buffer``."""
    size = n + PADDING
    products = buffer[:size]
    squares = buffer[size : 2 * size]
    left = buffer[3 * size :]
    for b in range(np.uint64(n)):
        products[b] = 0
        squares[b] = 0
    n_parts = 1 + params.wide
    for k in range(count_outputs(params, scale), scale.shape[0], 2):
        for p in range(2 * n_parts):
            cumulate_side(cells[(n_parts * k + p) * n_cells :], n, missing_left, left[p * size :])
        if params.wide != 0:
            add_wide_terms(
                left, left[2 * size :], n, size, sums[2 * k : 2 * k + 2], sums[2 * k + 2 : 2 * k + 4],
                params.reg_lambda, scale[k : k + 2], products, squares,
            )  # fmt: skip
        else:
            add_packed_terms(
                left, left[size:], n, sums[k], sums[k + 1], params.reg_lambda, scale[k : k + 2], products, squares
            )  # fmt: skip


@kernel()
def mark_heavy_sides(cells, n_cells, n, missing_left, sums, min_h, k, params, scale, left, marks):
    """Clear the marks of splits with a side that is too light in output k."""
    plane = 2 * k + 1 if params.wide != 0 else k
    cumulate_side(cells[plane * n_cells :], n, missing_left, left)
    if params.wide != 0:
        mark_wide_output(left, n, sums[plane], min_h, 1.0 / scale[k, 1], marks)
    else:
        mark_packed_output(left, n, sums[plane], min_h, 1.0 / scale[k, 1], marks)


@kernel()
def locate_ordered(cells, n_cells, n_bins, sums, limits, params, scales, buffer, candidate):
    """Find the first split of the largest gain within ``limits``; return the gain and fill ``candidate``."""
    missing = has_two_sides(limits)
    n_planes = sums.shape[0]
    for p in range(n_planes):
        if cells[p * n_cells] != 0:
            missing = 1
    best = -np.inf
    for missing_left in range(1 + missing):
        n = n_bins - 1 + (missing if missing_left == 0 else 0)
        size = n + PADDING
        sum_split_terms(cells, n_cells, n, missing_left, sums, params, scales.histogram, buffer)
        marks = buffer[2 * size : 3 * size]
        for b in range(np.uint64(n)):
            marks[b] = 1
        for k in range(count_outputs(params, scales.histogram)):
            mark_heavy_sides(
                cells, n_cells, n, missing_left, sums, min_hessian(params, scales, k), k, params, scales.histogram,
                buffer[3 * size :], marks,
            )  # fmt: skip
        for b in range(max(first_bin(limits, missing_left), 1), min(last_bin(limits, missing_left), n) + 1):
            score = 2.0 * bits_float(buffer[b - 1]) - bits_float(buffer[size + b - 1])
            if marks[b - 1] != 0 and score > best:
                best = score
                candidate[CANDIDATE_BIN] = b
                candidate[CANDIDATE_MISSING_LEFT] = missing_left
    parent_score = leaf_score(sums, -np.inf, np.inf, params, scales.histogram)
    gain = split_gain(best, parent_score, params.min_split_gain) if best > -np.inf else 0.0
    if gain <= 0.0:
        return 0.0
    for p in range(n_planes):
        left = cells[p * n_cells] if candidate[CANDIDATE_MISSING_LEFT] == 1 else np.int64(0)
        for b in range(1, candidate[CANDIDATE_BIN] + 1):
            left += cells[p * n_cells + b]
        candidate[CANDIDATE_SUMS + p] = left
    return gain


@kernel()
def score_leaf_ordered(cells, n_cells, n_bins, n_sides, sums, params, scale, buffer, scores):
    """Add the terms of one leaf of a symmetric tree to the scores of every split of a feature."""
    size = n_bins + PADDING
    marks = buffer[2 * size : 3 * size]
    parent_product, parent_square = ordered_terms(sums, 0.0, -np.inf, np.inf, params, scale)
    factor = 1.0 if params.cosine_score != 0 else 2.0
    subtracted = 0.0 if params.cosine_score != 0 else 1.0
    for missing_left in range(n_sides):
        sum_split_terms(cells, n_cells, n_bins, missing_left, sums, params, scale, buffer)
        for b in range(np.uint64(n_bins)):
            marks[b] = 1
        for k in range(count_outputs(params, scale)):
            mark_heavy_sides(
                cells, n_cells, n_bins, missing_left, sums, params.min_child_weight, k, params, scale,
                buffer[3 * size :], marks,
            )  # fmt: skip
        for b in range(np.uint64(n_bins)):
            product = bits_float(buffer[b]) if marks[b] != 0 else parent_product
            square = bits_float(buffer[np.uint64(size) + b]) if marks[b] != 0 else parent_square
            scores[missing_left, 0, b + np.uint64(1)] += factor * product - subtracted * square
            scores[missing_left, 1, b + np.uint64(1)] += square
