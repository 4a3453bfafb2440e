"""Bundles of features that exclude each other: found where there are some, and never seen in the trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundle_layout import BundleLayout
from sapwood.data.tables.table import read_table
from sapwood.grow.histogram import HistogramGrower
from sapwood.grow.workspace import make_features
from sapwood.kernels.layout import STRIDE
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import Bundle
from tests.grow.small_tables import COLUMNS


def one_hot(codes: np.ndarray, n: int) -> np.ndarray:
    return (codes[:, None] == np.arange(n)).astype(float)


def make_table(n: int = 3000, missing: bool = False) -> np.ndarray:
    """Two numbers, a category in 12 columns, a number, counts that are mostly 0 in 3 columns, a number."""
    source = np.random.default_rng(4)
    counts = one_hot(source.integers(0, 4, n), 3) * source.integers(1, 5, (n, 1))
    numbers = source.normal(size=(n, 4))
    X = np.hstack([numbers[:, :2], one_hot(source.integers(0, 13, n), 12), numbers[:, 2:3], counts, numbers[:, 3:]])
    if missing:
        X[::7, 4] = np.nan
        X[::5, 16] = np.nan
    return X


# Its columns with those of the two encodings mixed.
MIXED = [4, 18, 15, 0, 2, 16, 9, 3, 14, 5, 17, 6, 1, 13, 7, 8, 12, 10, 11]


def build(X: np.ndarray) -> BinnedDataset:
    return BinnedDataset.build(read_table(X))


def members(tiling: BundleLayout) -> list[list[int]]:
    return [tiling.order[group.start : group.stop].tolist() for group in tiling.groups]


def test_neighbours_that_exclude_each_other_share_a_column():
    tiling = BundleLayout.find(build(make_table()))
    assert members(tiling) == [[0], [1], list(range(2, 14)), [14], [15, 16, 17], [18]]
    assert not tiling.is_reordered
    assert tiling.usual.tolist() == [-1, -1] + [1] * 12 + [-1] + [1] * 3 + [-1]


def test_columns_that_exclude_each_other_share_one_wherever_they_stand():
    tiling = BundleLayout.find(build(make_table()[:, MIXED]))
    category = [place for place, f in enumerate(MIXED) if 2 <= f < 14]
    counts = [place for place, f in enumerate(MIXED) if 15 <= f < 18]
    assert sorted(map(sorted, members(tiling))) == sorted(
        [category, counts, *([MIXED.index(f)] for f in (0, 1, 14, 18))]
    )
    assert tiling.is_reordered
    assert sorted(tiling.order.tolist()) == list(range(19))


@pytest.mark.parametrize(("bundle", "n_groups"), [("auto", 9), (True, 8), (Bundle(), 8), (False, 9)])
def test_two_columns_are_bundled_only_if_that_is_asked_for(bundle, n_groups):
    X = np.random.default_rng(7).normal(size=(400, 9))
    X[:, 8] = X[:, 2] > 1.0
    X[:, 3] = X[:, 2] < -1.0
    assert len(BundleLayout.find(build(X), bundle).groups) == n_groups


def test_a_single_row_in_which_two_differ_keeps_them_apart():
    X = make_table()
    X[1717, 2:4] = 1.0
    tiling = BundleLayout.find(build(X))
    assert tiling.has_bundles
    assert not any({2, 3} <= set(group) for group in members(tiling))


def test_numbers_alone_are_left_as_they_are():
    tiling = BundleLayout.find(build(np.random.default_rng(0).normal(size=(500, 20))))
    assert not tiling.has_bundles
    assert len(tiling.groups) == 20


def test_rows_in_several_orders_are_not_bundled():
    """What excludes each other in one of them may not do so in the next."""
    dataset = build(make_table())
    assert not BundleLayout.find(replace(dataset, others=(dataset,)), True).has_bundles


def test_a_bundle_takes_no_more_cells_than_a_byte_tells_apart():
    codes = np.random.default_rng(1).integers(0, 200, 4000)
    tiling = BundleLayout.find(build(one_hot(codes, 200)))
    assert [len(group) for group in tiling.groups] == [85, 85, 30]


def test_bundles_lie_at_the_same_distances_as_numbers_beside_them():
    dataset = build(make_table())
    starts = make_features(dataset, 1, BundleLayout.find(dataset)).tile_start
    assert np.diff(starts)[:4].tolist() == [STRIDE] * 4


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"precision": "wide"},
        {"growth": "levelwise", "max_depth": 4},
        {"growth": "symmetric", "max_depth": 4, "max_leaves": 16},
        {"min_child_samples": 200},
        {"reg_alpha": 0.1},
        {"colsample_bynode": 0.5},
        {"colsample_bytree": 0.5, "colsample_bylevel": 0.7},
        {"growth": "symmetric", "max_depth": 4, "max_leaves": 16, "colsample_bylevel": 0.5},
        {"monotone_constraints": {3: -1, 9: 1, 0: -1}},
        {"interaction_constraints": [[0, 3, 16], [9, 1]]},
    ],
)
@pytest.mark.parametrize("order", [list(range(19)), MIXED], ids=["neighbours", "mixed"])
def test_trees_do_not_depend_on_bundles(order, missing, members, rules):
    X = make_table(missing=missing)
    source = np.random.default_rng(2)
    n = len(X)
    signal = X[:, 0] + 2.0 * X[:, 3] - X[:, 9] + np.nan_to_num(X[:, 16])
    pairs = np.stack([signal + source.normal(size=n), source.uniform(0.1, 1.0, n)], axis=1).astype(np.float32)[None]
    dataset = build(X[:, order])
    assert BundleLayout.find(dataset).has_bundles
    bundled, plain = grown_with_and_without(dataset, pairs, Team(members), {"max_leaves": 20} | rules)
    assert {order.index(f) for f in (3, 9, 16)} & set(plain.feature.tolist())
    assert_same(bundled, plain)


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("rules", [{}, {"growth": "symmetric", "max_depth": 3, "max_leaves": 8}])
def test_of_equal_columns_the_first_in_the_table_is_taken_wherever_bundles_put_it(rules, members):
    source = np.random.default_rng(6)
    n = 4000
    first, second = one_hot(source.integers(0, 4, n), 3), one_hot(source.integers(0, 4, n), 3)
    # Columns 1 and 2 of the table are the same; so are 3 and 4. In tiles they lie the other way round.
    X = np.stack([first[:, 0], second[:, 0], second[:, 0], first[:, 1], first[:, 1], second[:, 1], first[:, 2]], axis=1)
    X = np.hstack([X, source.normal(size=(n, 1))])
    signal = 3.0 * second[:, 0] - 2.0 * first[:, 1] + second[:, 1]
    pairs = np.stack([signal + source.normal(size=n), np.ones(n)], axis=1).astype(np.float32)[None]
    dataset = build(X)
    assert BundleLayout.find(dataset).is_reordered
    bundled, plain = grown_with_and_without(dataset, pairs, Team(members), {"max_leaves": 8} | rules)
    assert {1, 3} <= set(plain.feature.tolist())
    assert not {2, 4} & set(plain.feature.tolist())
    assert_same(bundled, plain)


def test_luck_goes_by_the_number_of_a_column_wherever_bundles_put_it():
    source = np.random.default_rng(8)
    X = make_table()[:, MIXED]
    pairs = np.stack([source.normal(size=len(X)), np.ones(len(X))], axis=1).astype(np.float32)[None]
    assert_same(*grown_with_and_without(build(X), pairs, Team(2), {"max_leaves": 16}, noise=5.0))


def grown_with_and_without(dataset, pairs, team, rules, noise=0.0):
    trees = []
    for bundle in ("auto", False):
        grower = HistogramGrower(dataset, 1, TreeParams(**rules, bundle=bundle), 5, team)
        grower.noise = noise
        trees.append(grower.grow(pairs, np.empty(0), 3).without_rows())
    return trees


def assert_same(one, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
