"""Leaf values that are weighted quantiles, against a slow twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.kernels.leaves.quantile import leaf_quantiles

ROWS = st.lists(
    st.tuples(st.integers(-4, 4).map(float), st.integers(0, 5).map(lambda w: w / 4)), min_size=1, max_size=25
)
QUANTILES = st.sampled_from([0.5, 0.25, 0.1, 0.9, 0.01, 0.99])


def slow_quantile(residuals, weights, quantile):
    """The smallest residual with at least ``quantile`` of the weight at or below it, by definition."""
    kept = sorted((r, Fraction(w)) for r, w in zip(residuals, weights, strict=True) if w > 0)
    if not kept:
        return 0.0
    total = sum(w for _, w in kept)
    for r, _ in kept:
        upto = sum(w for other, w in kept if other <= r)
        if float(upto) >= quantile * float(total):
            if quantile == 0.5 and 2 * upto == total:
                return (r + min(other for other, _ in kept if other > r)) / 2
            return r
    raise AssertionError


def compute(y, scores, weight, leaves, quantile, members=1):
    """Call the kernel on garbage-filled work arrays with guards around the output."""
    n = len(y)
    rows = np.concatenate([np.asarray(leaf, dtype=np.uint32) for leaf in leaves])
    leaf_start = np.cumsum([0, *map(len, leaves)])
    guarded = np.full(len(leaves) + 2, 777.0)
    work, order = np.full(n, np.nan), np.full(n, 99, dtype=np.uint32)
    args = (
        rows,
        leaf_start,
        np.asarray(y),
        np.asarray(scores),
        np.asarray(weight),
        quantile,
        work,
        order,
        guarded[1:-1],
    )
    if members == 1:
        leaf_quantiles(*args)
    else:
        for member in range(members):
            leaf_quantiles.function(member, members, None, *args)
    assert guarded[0] == guarded[-1] == 777.0
    return guarded[1:-1]


@given(ROWS, QUANTILES)
def test_a_leaf_gets_the_weighted_quantile(rows, quantile):
    y, weight = (np.array(column) for column in zip(*rows, strict=True))
    got = compute(y, np.zeros(len(y)), weight, [range(len(y))], quantile)
    assert got[0] == slow_quantile(y, weight, quantile)


@pytest.mark.parametrize("quantile", [0.5, 0.3])
def test_every_leaf_has_its_own(quantile):
    random = np.random.default_rng(2)
    y, scores, weight = random.normal(size=3000), random.normal(size=3000), random.integers(0, 9, 3000) / 8
    leaf_of_row = random.integers(0, 7, 3000)
    leaves = [np.flatnonzero(leaf_of_row == leaf) for leaf in range(8)]
    expected = [slow_quantile((y - scores)[rows], weight[rows], quantile) for rows in leaves]
    np.testing.assert_array_equal(compute(y, scores, weight, leaves, quantile), expected)


def test_neither_order_nor_members_matter():
    random = np.random.default_rng(3)
    y, scores, weight = random.normal(size=400).round(1), np.zeros(400), random.uniform(size=400)
    leaves = np.array_split(np.arange(400), 9)
    shuffled = [random.permutation(leaf) for leaf in leaves]
    one = compute(y, scores, weight, leaves, 0.5)
    np.testing.assert_array_equal(compute(y, scores, weight, shuffled, 0.5, members=3), one)


def test_a_median_between_two_residuals_is_their_mean():
    assert compute([4.0, 1.0, 2.0, 9.0], np.zeros(4), np.ones(4), [range(4)], 0.5)[0] == 3.0


def test_weights_of_any_size_count():
    for size in (1e-300, 1.0, 1e300):
        got = compute([1.0, 2.0, 3.0], np.zeros(3), np.array([1.0, 1.0, 3.0]) * size, [range(3)], 0.5)
        assert got[0] == 3.0


def test_a_leaf_without_weight_or_rows_gets_0():
    np.testing.assert_array_equal(compute([5.0], [0.0], [0.0], [[0], []], 0.5), [0.0, 0.0])


def test_many_equal_residuals_take_no_longer():
    n = 20_000
    assert compute(np.repeat([1.0, 2.0], n), np.zeros(2 * n), np.ones(2 * n), [range(2 * n)], 0.75)[0] == 2.0
