"""Symmetric trees of the kernels against the slow ones, node by node, and where cuts send the rows of large tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject, settings

from sapwood.kernels.grow.leaf_scheduler import ALONE_ROWS
from sapwood.params.declaration import TreeParams
from sapwood.params.options import Symmetric
from tests.grow.small_tables import Example, check, grow_fast, grow_slowly, symmetric_examples
from tests.reference.grower import TooCloseError

TEAMS = [1, 2, 3]


@settings(max_examples=60)
@given(symmetric_examples())
def test_the_tree_is_that_of_the_slow_grower(example):
    try:
        slow = grow_slowly(example)
    except TooCloseError:
        reject()
    for members in TEAMS:
        check(grow_fast(example, members), slow)


def make_example(n: int, values: list[int], precision: str, score: str = "l2") -> Example:
    """Columns with so many values each, of which some are missing, for a tree of 32 leaves."""
    source = np.random.default_rng(5)
    X = np.column_stack([source.integers(0, k, n) for k in values]).astype(float)
    X[source.uniform(size=X.shape) < 0.05] = np.nan
    pairs = np.stack([source.normal(size=n) + np.nan_to_num(X) @ source.normal(size=len(values)), np.ones(n)], axis=1)
    params = TreeParams(
        growth=Symmetric(score), max_depth=5, max_leaves=32, min_child_samples=1, reg_lambda=0.0, precision=precision
    )
    return Example(X, pairs.astype(np.float32), None, params)


@pytest.mark.parametrize("precision", ["packed", "wide"])
@pytest.mark.parametrize("score", ["l2", "cosine"])
def test_levels_of_many_small_leaves_are_divided_as_by_the_slow_grower(precision, score):
    """From the third level on (two members) or the fourth (three), each member divides leaves of its own."""
    example = make_example(300, [3, 4, 5, 4], precision, score)
    slow = grow_slowly(example)
    assert len(slow.nodes) == 63
    for members in TEAMS:
        check(grow_fast(example, members), slow)


@pytest.mark.parametrize("precision", ["packed", "wide"])
@pytest.mark.parametrize("score", ["l2", "cosine"])
def test_leaves_of_which_a_side_is_too_light_count_as_they_were(precision, score):
    example = make_example(300, [3, 4, 5, 4], precision, score)
    params = replace(example.params, reg_lambda=1.0, min_child_weight=12.0)
    example = replace(example, params=params)
    slow = grow_slowly(example)
    assert len(slow.nodes) >= 15
    assert min(len(node.rows) for node in slow.nodes) < 12
    check(grow_fast(example), slow)


@pytest.mark.parametrize("members", TEAMS)
def test_rows_of_small_and_large_leaves_end_where_the_cuts_send_them(members):
    """A level has leaves that are divided by all members and leaves that are divided by one."""
    example = make_example(3 * ALONE_ROWS, [4, 6, 9], "packed")
    bins = np.nan_to_num(example.X, nan=-1.0).astype(int) + 1  # as many values as bins
    grown = grow_fast(example, members)
    assert len(grown.feature) == 63
    leaf_of_row = np.zeros(len(bins), dtype=int)
    sizes = []
    for _ in range(5):
        sizes.append(np.bincount(leaf_of_row)[leaf_of_row.min() :])
        own = bins[np.arange(len(bins)), grown.feature[leaf_of_row]]
        goes_left = np.where(own == 0, grown.missing_left[leaf_of_row] == 1, own <= grown.bin[leaf_of_row])
        leaf_of_row = grown.left[leaf_of_row] + np.where(goes_left, 0, 1)
    limit = ALONE_ROWS / max(members, 2)
    assert any((level >= limit).any() and (level < limit).any() for level in sizes[3:])
    for node, (first, last) in zip(grown.leaf_node, grown.leaf_ranges, strict=True):
        rows = np.flatnonzero(leaf_of_row == node)
        np.testing.assert_array_equal(grown.leaf_rows[first:last], rows)
        assert grown.count[node] == len(rows)
        assert grown.gradient[node, 0] == pytest.approx(example.pairs[rows, 0].sum(dtype=float), abs=1e-6)


@pytest.mark.parametrize("members", TEAMS)
def test_bounds_of_leaves_go_by_the_direction_of_the_feature_of_the_cut(members):
    """Whichever place the feature has: with the columns in the other order the tree is the same."""
    source = np.random.default_rng(1)
    X = source.normal(size=(400, 2)).round(1)
    g = np.sin(3.0 * X[:, 0]) + np.cos(2.0 * X[:, 1]) * (1.0 + X[:, 0])
    pairs = np.stack([g, np.ones(400)], axis=1).astype(np.float32)
    trees = []
    for order in ([0, 1], [1, 0]):
        params = TreeParams(
            growth="symmetric", max_depth=4, max_leaves=16, min_child_samples=1, precision="wide",
            monotone_constraints=[(0, 1)[f] for f in order],
        )  # fmt: skip
        trees.append(grow_fast(Example(X[:, order], pairs, None, params), members))
    ours, other = trees
    assert {0, 1} <= set(ours.feature.tolist())
    inner = ours.feature >= 0
    assert np.where(inner, 1 - other.feature, -1).tolist() == ours.feature.tolist()
    for name in ("bin", "left", "count", "gain", "value"):
        np.testing.assert_array_equal(getattr(other, name), getattr(ours, name), err_msg=name)
