"""Find the best split of a column among the sorted rows of a leaf, for exact greedy search."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_NEXT_BIN, CANDIDATE_SUMS
from sapwood.kernels.split.gain import is_l2_only, l2_score, leaf_score, split_gain
from sapwood.kernels.split.numeric import split_score
from sapwood.kernels.split.numeric_vectorized import INVALID
from sapwood.native.runtime.kernel import kernel

SLIGHTLY_LESS = 1.0 - 1e-9


@kernel()
def count_missing(rows, bins):
    """Return the number of rows of a leaf that miss the column; they come first."""
    n = 0
    while n < rows.shape[0] and bins[rows[n]] == 0:
        n += 1
    return n


@kernel()
def scan_exact(
    rows, n_missing, bins, pairs, last_wins, direction, sums, lower, upper, params, scales, buffer, candidate
):
    """Score every split of the sorted rows of a leaf; return the largest gain and fill ``candidate``.

    The first ``n_missing`` rows have no value. Of splits of equal gain with missing values on the same side, the first
    is taken, or the last if ``last_wins``; missing values on the right come before missing values on the left.
    """
    n_planes = sums.shape[0]
    left = buffer[:n_planes]
    right = buffer[n_planes:]
    n = rows.shape[0]
    parent_score = leaf_score(sums, lower, upper, params, scales.histogram)
    # With one output and L2 regularisation only, a short formula rejects most splits.
    is_l2 = n_planes == 2 and is_l2_only(params)
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    min_score = INVALID
    best = 0.0
    for missing_left in range(2 if n_missing > 0 else 1):
        for p in range(n_planes):
            left[p] = 0
            for i in range(n_missing if missing_left == 1 else 0):
                left[p] += pairs[rows[i], p]
        left_g = left[0]
        left_h = left[1]
        # With missing values on the right the last split has all values on the left; else its right side is empty.
        end = n if missing_left == 0 and n_missing > 0 else n - 1
        for i in range(n_missing, end):
            row = rows[i]
            if is_l2:
                left_g += pairs[row, 0]
                left_h += pairs[row, 1]
            else:
                for p in range(n_planes):
                    left[p] += pairs[row, p]
            after = np.int64(bins[rows[i + 1]]) if i + 1 < n else np.int64(0)
            n_left = i + 1 - (n_missing if missing_left == 0 else 0)
            if np.int64(bins[row]) == after or n_left < params.min_child_samples:
                continue
            if n - n_left < params.min_child_samples:
                break
            if is_l2:
                score = l2_score(np.float64(left_g) * unit_g, np.float64(left_h) * unit_h, params.reg_lambda)
                rest_g = np.float64(sums[0] - left_g) * unit_g
                if score + l2_score(rest_g, np.float64(sums[1] - left_h) * unit_h, params.reg_lambda) < min_score:
                    continue
                left[0] = left_g
                left[1] = left_h
            for p in range(n_planes):
                right[p] = sums[p] - left[p]
            score = split_score(left, right, direction, lower, upper, params, scales)
            if score == INVALID:
                continue
            gain = split_gain(score, parent_score, params.min_split_gain)
            is_tie = (
                gain == best and (last_wins or missing_left == 1) and candidate[CANDIDATE_MISSING_LEFT] == missing_left
            )
            if gain > 0.0 and (gain > best or is_tie):
                best = gain
                min_score = score * SLIGHTLY_LESS
                candidate[CANDIDATE_BIN] = bins[row]
                candidate[CANDIDATE_NEXT_BIN] = after
                candidate[CANDIDATE_MISSING_LEFT] = missing_left
                for p in range(n_planes):
                    candidate[CANDIDATE_SUMS + p] = left[p]
    return best
