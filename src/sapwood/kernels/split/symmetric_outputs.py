"""Score the splits of a leaf of a symmetric tree for all outputs and L2 only, by loops that become vector code.

The terms are those of ``symmetric.score_leaf``, added in the same order: the left sides of all outputs, then the right
sides. Where a side of a split is too light in any output, the terms of the unsplit leaf are added in their place.

``buffer`` has a row of n_bins + PADDING integers for each plane, the sums on the left of every split, and one more in
which 1 marks a split whose sides are heavy enough in all outputs.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.fixed_point import gradient_sum, hessian_sum, high_half, int_to_float, low_half
from sapwood.kernels.split.cumulative_sums import PADDING, cumulate_side
from sapwood.kernels.split.gain import MIN_DIVISOR, is_l2_only, l2_step, sum_gradient_squares, value_score
from sapwood.kernels.split.multi_output import add_squares
from sapwood.kernels.split.side_marks import mark_packed_output, mark_wide_output
from sapwood.native.runtime.intrinsics import bits_float
from sapwood.native.runtime.kernel import kernel

LEFT, RIGHT = np.int64(0), np.int64(-1)


@kernel()
def are_level_outputs_vectorizable(params):
    """Return whether vector code can score a leaf: L2 regularisation only, no division by nearly 0."""
    return params.n_prefixes == 0 and is_l2_only(params) and params.min_child_weight + params.reg_lambda > MIN_DIVISOR


@kernel()
def side_sum(left, total, side):
    """Return the sum of a side of a split: that of the left one, or the rest of the total."""
    # The complement plus 1 is the negative number; a product of 64-bit integers would not be vectorised.
    return (total & side) + ((left ^ side) - side)


@kernel(noinline=True)
def add_packed_side(sums, n, side, total, unit_g, unit_h, unsplit, unsplit_divisor, marks, params, scores):
    """Add the terms of one side and output to the scores of n splits, those of the unsplit leaf where not marked."""
    product = scores[0, 1:]
    divisor = scores[1, 1:]
    if params.cosine_score == 0:
        for b in range(np.uint64(n)):
            both = side_sum(sums[b], total, side)
            g = high_half(both) * unit_g
            h = low_half(both) * unit_h
            term = value_score(g, h, -l2_step(g, h, params.reg_lambda), params)
            product[b] += term if marks[b] != 0 else unsplit
        return
    for b in range(np.uint64(n)):
        both = side_sum(sums[b], total, side)
        g = high_half(both) * unit_g
        h = low_half(both) * unit_h
        step = l2_step(g, h, params.reg_lambda)
        product[b] += g * step if marks[b] != 0 else unsplit
        divisor[b] += h * step * step if marks[b] != 0 else unsplit_divisor


@kernel(noinline=True)
def add_wide_side(sums_g, sums_h, n, side, totals, unit_g, unit_h, unsplit, unsplit_divisor, marks, params, scores):
    """Add the terms of one side and output as ``add_packed_side`` does, from separate gradient and hessian sums."""
    product = scores[0, 1:]
    divisor = scores[1, 1:]
    if params.cosine_score == 0:
        for b in range(np.uint64(n)):
            g = int_to_float(side_sum(sums_g[b], totals[0], side)) * unit_g
            h = int_to_float(side_sum(sums_h[b], totals[1], side)) * unit_h
            term = value_score(g, h, -l2_step(g, h, params.reg_lambda), params)
            product[b] += term if marks[b] != 0 else unsplit
        return
    for b in range(np.uint64(n)):
        g = int_to_float(side_sum(sums_g[b], totals[0], side)) * unit_g
        h = int_to_float(side_sum(sums_h[b], totals[1], side)) * unit_h
        step = l2_step(g, h, params.reg_lambda)
        product[b] += g * step if marks[b] != 0 else unsplit
        divisor[b] += h * step * step if marks[b] != 0 else unsplit_divisor


@kernel()
def mark_splits(n_bins, sums, params, scale, buffer, marks):
    """Mark the splits whose sides are heavy enough in all outputs, from the sums in ``buffer``."""
    size = n_bins + PADDING
    for b in range(np.uint64(n_bins)):
        marks[b] = 1
    for k in range(scale.shape[0]):
        unit_h = 1.0 / scale[k, 1]
        if params.wide != 0:
            mark_wide_output(
                buffer[(2 * k + 1) * size :], n_bins, sums[2 * k + 1], params.min_child_weight, unit_h, marks
            )
        else:
            mark_packed_output(buffer[k * size :], n_bins, sums[k], params.min_child_weight, unit_h, marks)


@kernel()
def add_side(n_bins, side, sums, params, scale, buffer, marks, scores):
    """Add the terms of one side of all splits, for each output in turn."""
    size = n_bins + PADDING
    for k in range(scale.shape[0]):
        g = gradient_sum(sums, k, params.wide, scale)
        h = hessian_sum(sums, k, params.wide, scale)
        step = l2_step(g, h, params.reg_lambda) if h + params.reg_lambda > 0.0 else 0.0
        unsplit = 0.0
        unsplit_divisor = 0.0
        if side == LEFT:
            unsplit = g * step if params.cosine_score != 0 else value_score(g, h, -step, params)
            unsplit_divisor = h * step * step
        unit_g = 1.0 / scale[k, 0]
        unit_h = 1.0 / scale[k, 1]
        if params.wide != 0:
            add_wide_side(
                buffer[2 * k * size :], buffer[(2 * k + 1) * size :], n_bins, side, sums[2 * k : 2 * k + 2], unit_g,
                unit_h, unsplit, unsplit_divisor, marks, params, scores,
            )  # fmt: skip
        else:
            add_packed_side(
                buffer[k * size :], n_bins, side, sums[k], unit_g, unit_h, unsplit, unsplit_divisor, marks, params,
                scores,
            )  # fmt: skip


@kernel()
def has_shared_hessian(params):
    """Return whether vector code scores packed outputs that share their hessians."""
    return params.shared_hessian != 0 and params.wide == 0 and are_level_outputs_vectorizable(params)


@kernel()
def add_shared_leaf(sums, params, scale, out):
    """Add the score of an unsplit leaf to ``out[0]`` and its term of the divisor to ``out[1]``."""
    squares = sum_gradient_squares(sums, params, scale)
    h = hessian_sum(sums, 0, params.wide, scale)
    bottom = h + params.reg_lambda
    out[0] += squares / bottom if bottom > 0.0 else 0.0
    out[1] += h * squares / (bottom * bottom) if bottom > 0.0 else 0.0


@kernel(noinline=True)
def add_shared_sides(sums, n, h_all, min_h, unit_h, unsplit, left, right, params, scores):
    """Add the terms of both sides to the scores of n splits, from the squares of their gradient sums.

    ``unsplit`` are the terms where a side is too light. Without cosine the divisor is not needed.
    """
    product = scores[0, 1:]
    divisor = scores[1, 1:]
    unsplit_score = unsplit[0]
    unsplit_divisor = unsplit[1]
    for b in range(np.uint64(n)):
        h_left = low_half(sums[b]) * unit_h
        h_right = h_all - h_left
        fits = (h_left >= min_h) & (h_right >= min_h)
        score = bits_float(left[b]) / (h_left + params.reg_lambda) + bits_float(right[b]) / (
            h_right + params.reg_lambda
        )
        product[b] += score if fits else unsplit_score
    if params.cosine_score == 0:
        return
    for b in range(np.uint64(n)):
        h_left = low_half(sums[b]) * unit_h
        h_right = h_all - h_left
        fits = (h_left >= min_h) & (h_right >= min_h)
        bottom_left = h_left + params.reg_lambda
        bottom_right = h_right + params.reg_lambda
        square = h_left * bits_float(left[b]) / (bottom_left * bottom_left)
        square += h_right * bits_float(right[b]) / (bottom_right * bottom_right)
        divisor[b] += square if fits else unsplit_divisor


@kernel()
def score_shared_leaf(cells, n_cells, n_bins, n_sides, sums, params, scale, buffer, unsplit, scores):
    """Do ``score_leaf_outputs`` for packed outputs that share their hessians: those of the first one serve all."""
    size = n_bins + PADDING
    left = buffer[size:]
    right = buffer[2 * size :]
    unsplit[0] = 0.0
    unsplit[1] = 0.0
    add_shared_leaf(sums, params, scale, unsplit)
    h_all = hessian_sum(sums, 0, params.wide, scale)
    n_outputs = scale.shape[0]
    for missing_left in range(n_sides):
        for b in range(np.uint64(n_bins)):
            left[b] = 0
            right[b] = 0
        for back in range(n_outputs):
            k = n_outputs - 1 - back
            cumulate_side(cells[k * n_cells :], n_bins, missing_left, buffer)
            g_all = gradient_sum(sums, k, params.wide, scale)
            add_squares(buffer, n_bins, g_all, 1.0 / scale[k, 0], left, right)
        add_shared_sides(
            buffer, n_bins, h_all, params.min_child_weight, 1.0 / scale[0, 1], unsplit, left, right, params,
            scores[missing_left],
        )  # fmt: skip


@kernel()
def score_leaf_outputs(cells, n_cells, n_bins, n_sides, sums, params, scale, buffer, scores):
    """Add the terms of one leaf to the scores of every split of a feature, for all outputs."""
    n_planes = sums.shape[0]
    size = n_bins + PADDING
    marks = buffer[n_planes * size :]
    for missing_left in range(n_sides):
        for p in range(n_planes):
            cumulate_side(cells[p * n_cells :], n_bins, missing_left, buffer[p * size :])
        mark_splits(n_bins, sums, params, scale, buffer, marks)
        add_side(n_bins, LEFT, sums, params, scale, buffer, marks, scores[missing_left])
        add_side(n_bins, RIGHT, sums, params, scale, buffer, marks, scores[missing_left])
