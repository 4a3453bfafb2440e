"""Find the best threshold of a numeric feature in a leaf's histogram, missing values on either side."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_COUNTED, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric.fixed_point import hessian_sum
from sapwood.kernels.split.gain import MIN_DIVISOR, count_outputs, is_l2_only, leaf_score, split_gain
from sapwood.kernels.split.leaf_size import first_bin, has_two_sides, last_bin
from sapwood.kernels.split.monotone import breaks_monotone
from sapwood.kernels.split.multi_output import locate_outputs, scan_outputs
from sapwood.kernels.split.numeric_vectorized import (
    INVALID,
    locate_packed,
    locate_wide,
    min_hessian,
    scan_packed,
    scan_wide,
)
from sapwood.kernels.split.ordered_score import is_ordered_vectorizable, locate_ordered
from sapwood.native.runtime.kernel import kernel


@kernel()
def has_min_hessian(sums, params, scales):
    """Return whether the hessian of a leaf with these sums reaches the minimum in every output."""
    for k in range(count_outputs(params, scales.histogram)):
        h = hessian_sum(sums, k, params.wide, scales.histogram)
        if h < min_hessian(params, scales, k) or h + params.reg_lambda <= 0.0:
            return False
    return True


@kernel()
def split_score(left, right, direction, lower, upper, params, scales):
    """Return the sum of the scores of both sides of a split, INVALID if it breaks a minimum or a constraint."""
    if not has_min_hessian(left, params, scales) or not has_min_hessian(right, params, scales):
        return INVALID
    if direction != 0 and breaks_monotone(left, right, direction, lower, upper, params, scales.histogram):
        return INVALID
    score = leaf_score(left, lower, upper, params, scales.histogram)
    return score + leaf_score(right, lower, upper, params, scales.histogram)


@kernel()
def is_first_allowed(b, missing_left, n_bins, limits):
    """Return whether rows were counted and this is the first bin of a split that leaves enough of them."""
    return b == first_bin(limits, missing_left) and last_bin(limits, missing_left) <= n_bins


@kernel()
def scan_general(cells, n_cells, n_bins, direction, sums, lower, upper, limits, params, scales, buffer, candidate):
    """Find the best split of a feature in general: several outputs, L1, bounds. Return the gain, fill ``candidate``.

    ``cells`` begin with the feature's missing bin, planes are ``n_cells`` apart. A split after a bin whose sums are 0
    is the same as that after the bin before, and is skipped unless the one before is not allowed.
    """
    n_planes = sums.shape[0]
    left = buffer[:n_planes]
    right = buffer[n_planes : 2 * n_planes]
    parent_score = leaf_score(sums, lower, upper, params, scales.histogram)
    missing = has_two_sides(limits)
    for p in range(n_planes):
        if cells[p * n_cells] != 0:
            missing = 1
    best = 0.0
    for missing_left in range(1 + missing):
        for p in range(n_planes):
            left[p] = cells[p * n_cells] if missing_left == 1 else np.int64(0)
        for b in range(1, n_bins + (missing if missing_left == 0 else 0)):
            used = 0
            for p in range(n_planes):
                value = cells[p * n_cells + b]
                if value != 0:
                    used = 1
                left[p] += value
                right[p] = sums[p] - left[p]
            if used == 0 and not is_first_allowed(b, missing_left, n_bins, limits):
                continue
            if b < first_bin(limits, missing_left) or b > last_bin(limits, missing_left):
                continue
            score = split_score(left, right, direction, lower, upper, params, scales)
            gain = split_gain(score, parent_score, params.min_split_gain)
            if score != INVALID and gain > best:
                best = gain
                candidate[CANDIDATE_BIN] = b
                candidate[CANDIDATE_MISSING_LEFT] = missing_left
                for p in range(n_planes):
                    candidate[CANDIDATE_SUMS + p] = left[p]
    return best


@kernel()
def is_vectorizable(sums, params, scales):
    """Return whether vector code can scan a leaf: one output, L2 regularisation only, no division by nearly 0."""
    is_simple = is_l2_only(params) and sums.shape[0] == 1 + params.wide
    return is_simple and min_hessian(params, scales, 0) + params.reg_lambda > MIN_DIVISOR


@kernel()
def are_outputs_vectorizable(params, scales):
    """Return whether ``is_vectorizable`` holds for each of several outputs."""
    if scales.histogram.shape[0] == 1 or params.n_prefixes != 0 or not is_l2_only(params):
        return False
    for k in range(scales.histogram.shape[0]):
        if min_hessian(params, scales, k) + params.reg_lambda <= MIN_DIVISOR:
            return False
    return True


@kernel()
def scan_feature(histogram, f, features, sums, lower, upper, limits, params, scales, buffer, candidate):
    """Return the largest gain of a feature in a leaf within ``limits``, 0 if there is none.

    ``candidate`` takes the split, or bin 0 where it has yet to be located by ``locate_split``.
    """
    candidate[CANDIDATE_COUNTED] = 0
    candidate[CANDIDATE_BIN] = 0
    cells = histogram[features.offset[f] :]
    n_bins = features.n_bins[f]
    n_cells = count_cells(features.offset)
    rest = buffer[2 * sums.shape[0] :]
    if is_vectorizable(sums, params, scales):
        min_h = min_hessian(params, scales, 0)
        gamma = params.min_split_gain
        if params.wide != 0:
            return scan_wide(
                cells, n_cells, n_bins, sums, min_h, params.reg_lambda, gamma, limits, scales.histogram, rest
            )
        return scan_packed(cells, n_bins, sums[0], min_h, params.reg_lambda, gamma, limits, scales, rest)
    if are_outputs_vectorizable(params, scales):
        return scan_outputs(cells, n_cells, n_bins, sums, limits, params, scales, rest)
    return locate_split(histogram, f, features, sums, lower, upper, limits, params, scales, buffer, candidate)


@kernel()
def locate_split(histogram, f, features, sums, lower, upper, limits, params, scales, buffer, candidate):
    """Find the first split of the largest gain of a feature within ``limits``; return the gain, fill ``candidate``."""
    cells = histogram[features.offset[f] :]
    n_bins = features.n_bins[f]
    n_cells = count_cells(features.offset)
    rest = buffer[2 * sums.shape[0] :]
    if is_vectorizable(sums, params, scales):
        min_h = min_hessian(params, scales, 0)
        lam = params.reg_lambda
        gamma = params.min_split_gain
        if params.wide != 0:
            return locate_wide(
                cells, n_cells, n_bins, sums, min_h, lam, gamma, limits, scales.histogram, rest, candidate
            )  # fmt: skip
        return locate_packed(cells, n_bins, sums[0], min_h, lam, gamma, limits, scales.histogram, candidate)
    if params.n_prefixes != 0 and is_ordered_vectorizable(params):
        return locate_ordered(cells, n_cells, n_bins, sums, limits, params, scales, rest, candidate)
    if are_outputs_vectorizable(params, scales):
        return locate_outputs(cells, n_cells, n_bins, sums, limits, params, scales, rest, candidate)
    direction = features.monotone[f]
    return scan_general(
        cells, n_cells, n_bins, direction, sums, lower, upper, limits, params, scales, buffer, candidate
    )  # fmt: skip
