"""Leaf sizes for ``min_child_samples``: exact, though histograms hold no row counts.

The hessian sum often proves that a side is large enough: an H of at least ``min_child_samples`` times the largest
hessian of any row does. Otherwise the rows of the leaf are counted, and a feature
whose best split is not allowed is searched again between the limits that are.

``limits`` are the first and last bin of a split that leaves enough rows on both sides, with missing values on the
right, then with missing values on the left.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.sparse_bins import copy_bin_counts
from sapwood.kernels.layout import (
    CANDIDATE_BIN,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_SUMS,
    LEAF_BEGIN,
    LEAF_END,
    LEAF_HIST,
)
from sapwood.kernels.numeric.fixed_point import quantised_hessian
from sapwood.native.runtime.kernel import kernel


@kernel()
def proves_min_rows(sums, min_rows, wide, hessian_range):
    """Return whether the hessian sum alone proves that a leaf has ``min_rows`` rows."""
    for k in range(hessian_range.shape[0]):
        enough = np.float64(hessian_range[k, 1]) * np.float64(min_rows) * (1.0 + 1e-12)
        if enough > 0.0 and np.float64(quantised_hessian(sums, k, wide)) >= enough:
            return True
    return False


@kernel()
def proves_both_sides(candidate, sums, min_rows, wide, hessian_range, rest):
    """Return whether the hessian sums alone prove that both sides of a candidate have ``min_rows`` rows."""
    for p in range(rest.shape[0]):
        rest[p] = sums[p] - candidate[CANDIDATE_SUMS + p]
    is_proven = proves_min_rows(candidate[CANDIDATE_SUMS:], min_rows, wide, hessian_range)
    return is_proven and proves_min_rows(rest, min_rows, wide, hessian_range)


@kernel()
def count_bins(bins, n_bins, rows, first, last, counts):
    """Count the rows of a leaf in each bin of a feature."""
    for b in range(n_bins + 1):
        counts[b] = 0
    for i in range(first, last):
        counts[bins[rows[i]]] += 1


@kernel()
def count_leaf_bins(f, leaf_ints, state, counts):
    """Count the rows of a leaf in each bin of a feature."""
    features = state.features
    first = leaf_ints[LEAF_BEGIN]
    last = leaf_ints[LEAF_END]
    column = features.column[f]
    if column >= 0 and features.log2_bits == 3:
        count_bins(state.bins.bins_u8[column], features.n_bins[f], state.partition.rows, first, last, counts)
    elif column >= 0:
        count_bins(state.bins.bins_u16[column], features.n_bins[f], state.partition.rows, first, last, counts)
    else:
        copy_bin_counts(features, f, last - first, state.histograms.sparse_counts[leaf_ints[LEAF_HIST]], counts)


@kernel()
def first_bin(limits, missing_left):
    """Return the first bin of an allowed split."""
    return limits[2 * missing_left]


@kernel()
def last_bin(limits, missing_left):
    """Return the last bin of an allowed split."""
    return limits[2 * missing_left + 1]


@kernel()
def is_within_limits(candidate, limits):
    """Return whether a candidate leaves enough rows on both sides."""
    missing_left = candidate[CANDIDATE_MISSING_LEFT]
    return first_bin(limits, missing_left) <= candidate[CANDIDATE_BIN] <= last_bin(limits, missing_left)


@kernel()
def has_two_sides(limits):
    """Return 1 if rows were counted and the sides of missing differ: some are missing, though their sums may be 0."""
    return 1 if limits[0] != limits[2] or limits[1] != limits[3] else 0


@kernel()
def limit_bins(counts, n_bins, min_rows, limits):
    """Write the limits of splits that leave ``min_rows`` rows on both sides, from the rows per bin in ``counts``."""
    for missing_left in range(2 if counts[0] != 0 else 1):
        left = counts[0] if missing_left == 1 else np.int64(0)
        right = counts[0] - left
        first = np.int64(0)
        while first < n_bins and (left < min_rows or first == 0):
            first += 1
            left += counts[first]
        last = n_bins
        while last > 0 and right < min_rows:
            right += counts[last]
            last -= 1
        is_any = left >= min_rows and first <= last
        limits[2 * missing_left] = first if is_any else n_bins + 1
        limits[2 * missing_left + 1] = last if is_any else 0
    if counts[0] == 0:
        limits[2] = limits[0]
        limits[3] = limits[1]
