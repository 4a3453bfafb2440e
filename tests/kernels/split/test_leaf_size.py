"""Leaf sizes: exact, though histograms hold no counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.kernels.split import leaf_size
from tests.guarded import Guards


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.integers(1, 30), st.booleans())
def test_a_leaf_that_is_proven_large_is_large(hessians, min_rows, wide):
    """The hessian sum proves it: no row has more than the largest."""
    total = sum(hessians)
    sums = np.array([-5, total] if wide else [(-5 << 32) + total])
    is_proven = leaf_size.proves_min_rows(sums, min_rows, int(wide), np.array([[min(hessians), max(hessians)]]))
    assert len(hessians) >= min_rows or not is_proven


def test_a_leaf_of_equal_rows_is_proven_as_large_as_it_is():
    sums, hessian_range = np.array([10 * 4096]), np.array([[4096, 4096]])
    assert leaf_size.proves_min_rows(sums, 9, 0, hessian_range)
    assert not leaf_size.proves_min_rows(sums, 11, 0, hessian_range)


def test_a_leaf_without_hessian_is_never_proven_large():
    assert not leaf_size.proves_min_rows(np.array([0]), 1, 0, np.array([[0, 0]]))


@given(st.integers(1, 9), st.integers(0, 60), st.sampled_from([np.uint8, np.uint16]), st.data())
def test_rows_are_counted_by_bin(n_bins, n, dtype, data):
    source, guards = np.random.default_rng(n), Guards()
    bins, rows = source.integers(0, n_bins + 1, n).astype(dtype), source.permutation(n).astype(np.uint32)
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    counts = guards.array(n_bins + 1, np.int64)
    leaf_size.count_bins(bins, n_bins, rows, first, last, counts)
    guards.check()
    assert counts.tolist() == [sum(bins[i] == b for i in rows[first:last]) for b in range(n_bins + 1)]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=9), st.integers(1, 8))
def test_limits_are_the_first_and_last_bin_that_leave_enough_rows_on_both_sides(counts, min_rows):
    n_bins, total, guards = len(counts) - 1, sum(counts), Guards()
    limits = guards.array(4, np.int64)
    leaf_size.limit_bins(np.array(counts), n_bins, min_rows, limits)
    guards.check()
    for side in range(2):
        fitting = []
        for b in range(1, n_bins + 1):
            left = sum(counts[1 : b + 1]) + (counts[0] if side == 1 else 0)
            if left >= min_rows and total - left >= min_rows:
                fitting.append(b)
        expected = [fitting[0], fitting[-1]] if fitting else [n_bins + 1, 0]
        assert limits[2 * side : 2 * side + 2].tolist() == expected
