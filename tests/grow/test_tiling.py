"""Bundles of features that exclude each other: found where there are some, and never seen in the trees."""

from __future__ import annotations

import numpy as np
import pytest
from small_tables import COLUMNS

from sapwood.data.columns import read_table
from sapwood.data.dataset import Dataset
from sapwood.grow import histogram_grower
from sapwood.grow.histogram_grower import HistogramGrower
from sapwood.grow.tiling import Tiling
from sapwood.grow.workspace import make_features
from sapwood.kernels.layout import STRIDE
from sapwood.native.team import Team
from sapwood.params import TreeParams


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


def build(X: np.ndarray) -> Dataset:
    return Dataset.build(read_table(X))


def test_neighbours_that_exclude_each_other_share_a_column():
    tiling = Tiling.find(build(make_table()))
    assert [(g.start, g.stop) for g in tiling.groups] == [(0, 1), (1, 2), (2, 14), (14, 15), (15, 18), (18, 19)]
    assert tiling.usual.tolist() == [-1, -1] + [1] * 12 + [-1] + [1] * 3 + [-1]


def test_a_single_row_in_which_two_differ_keeps_them_apart():
    X = make_table()
    X[1717, 2:4] = 1.0
    tiling = Tiling.find(build(X))
    assert tiling.has_bundles
    assert not any({2, 3} <= set(group) for group in tiling.groups)


def test_numbers_alone_are_left_as_they_are():
    tiling = Tiling.find(build(np.random.default_rng(0).normal(size=(500, 20))))
    assert not tiling.has_bundles
    assert len(tiling.groups) == 20


def test_a_bundle_takes_no_more_cells_than_a_byte_tells_apart():
    codes = np.random.default_rng(1).integers(0, 200, 4000)
    tiling = Tiling.find(build(one_hot(codes, 200)))
    assert [len(group) for group in tiling.groups] == [85, 85, 30]


def test_bundles_lie_at_the_same_distances_as_numbers_beside_them():
    dataset = build(make_table())
    starts = make_features(dataset, 1, Tiling.find(dataset)).tile_start
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
    ],
)
def test_trees_do_not_depend_on_bundles(missing, members, rules, monkeypatch):
    X = make_table(missing=missing)
    source = np.random.default_rng(2)
    n = len(X)
    signal = X[:, 0] + 2.0 * X[:, 3] - X[:, 9] + np.nan_to_num(X[:, 16])
    pairs = np.stack([signal + source.normal(size=n), source.uniform(0.1, 1.0, n)], axis=1).astype(np.float32)[None]
    dataset = build(X)
    params = TreeParams(**{"max_leaves": 20} | rules)
    assert Tiling.find(dataset).has_bundles
    bundled = HistogramGrower(dataset, 1, params, 5, Team(members)).grow(pairs, np.empty(0), 3)
    monkeypatch.setattr(histogram_grower.Tiling, "find", lambda dataset: Tiling.plain(dataset.n_features))
    plain = HistogramGrower(dataset, 1, params, 5, Team(members)).grow(pairs, np.empty(0), 3)
    assert {3, 9, 16} & set(plain.feature.tolist())
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(bundled, name), getattr(plain, name), err_msg=name)
