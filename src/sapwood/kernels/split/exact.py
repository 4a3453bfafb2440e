"""Find the best cut of a column among the sorted rows of a leaf, missing values on either side."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_NEXT_BIN, CANDIDATE_SUMS
from sapwood.kernels.split.gain import is_l2_only, l2_score, split_gain
from sapwood.kernels.split.numeric import leaf_score, split_score
from sapwood.kernels.split.numeric_vectorized import INVALID
from sapwood.native.runtime.kernel import kernel

SLIGHTLY_LESS = 1.0 - 1e-9


@kernel()
def count_missing(line, bins):
    """How many rows at the front of a leaf's list have no value."""
    n = 0
    while n < line.shape[0] and bins[line[n]] == 0:
        n += 1
    return n


@kernel()
def scan_exact(line, n_missing, bins, pairs, backward, direction, sums, low, high, rules, scales, running, cut):
    """Try every cut of the sorted rows of a leaf; return the best gain and fill ``cut``.

    The first ``n_missing`` rows have no value. Where several cuts with missing on the same side gain the same, the
    first is taken, or the last if ``backward``; missing on the right comes before missing on the left.
    """
    n_planes = sums.shape[0]
    left = running[:n_planes]
    right = running[n_planes:]
    n = line.shape[0]
    before = leaf_score(sums, low, high, rules, scales.histogram)
    # With one output and no rule but λ, a short formula tells of most cuts that they are worse than the best so far.
    is_quick = n_planes == 2 and is_l2_only(rules)
    unit_g = 1.0 / scales.histogram[0, 0]
    unit_h = 1.0 / scales.histogram[0, 1]
    bar = INVALID
    best = 0.0
    for side in range(2 if n_missing > 0 else 1):
        for p in range(n_planes):
            left[p] = 0
            for i in range(n_missing if side == 1 else 0):
                left[p] += pairs[line[i], p]
        q_g = left[0]
        q_h = left[1]
        # With missing on the right the last cut has all values on the left; else it would leave the right side empty.
        end = n if side == 0 and n_missing > 0 else n - 1
        for i in range(n_missing, end):
            row = line[i]
            if is_quick:
                q_g += pairs[row, 0]
                q_h += pairs[row, 1]
            else:
                for p in range(n_planes):
                    left[p] += pairs[row, p]
            after = np.int64(bins[line[i + 1]]) if i + 1 < n else np.int64(0)
            n_left = i + 1 - (n_missing if side == 0 else 0)
            if np.int64(bins[row]) == after or n_left < rules.min_child_samples:
                continue
            if n - n_left < rules.min_child_samples:
                break
            if is_quick:
                score = l2_score(np.float64(q_g) * unit_g, np.float64(q_h) * unit_h, rules.reg_lambda)
                rest_g = np.float64(sums[0] - q_g) * unit_g
                if score + l2_score(rest_g, np.float64(sums[1] - q_h) * unit_h, rules.reg_lambda) < bar:
                    continue
                left[0] = q_g
                left[1] = q_h
            for p in range(n_planes):
                right[p] = sums[p] - left[p]
            score = split_score(left, right, direction, low, high, rules, scales)
            if score == INVALID:
                continue
            gain = split_gain(score, before, rules.min_split_gain)
            again = gain == best and (backward or side == 1) and cut[CANDIDATE_MISSING_LEFT] == side
            if gain > 0.0 and (gain > best or again):
                best = gain
                bar = score * SLIGHTLY_LESS
                cut[CANDIDATE_BIN] = bins[row]
                cut[CANDIDATE_NEXT_BIN] = after
                cut[CANDIDATE_MISSING_LEFT] = side
                for p in range(n_planes):
                    cut[CANDIDATE_SUMS + p] = left[p]
    return best
