"""Rows sorted by every feature in place of histograms: which tables have them, and that trees never show it."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.grow import histogram
from sapwood.grow.histogram import HistogramGrower
from sapwood.grow.sorted_rows import sort_rows
from sapwood.kernels import layout
from sapwood.kernels.split import sorted_rows
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

N = 240
source = np.random.default_rng(4)
X = source.normal(size=(N, 6))
X[:, 1] = np.round(X[:, 1])
Y = (X[:, 0] * X[:, 1] + X[:, 2] + source.normal(size=N) > 0).astype(int)


def sorts(X: np.ndarray, **params: object) -> bool:
    """Tell whether trees on a table are grown from sorted rows."""
    made = TreeParams(**{"max_leaves": 7, "reg_lambda": 1.0, **params})
    return HistogramGrower(BinnedDataset.build(read_table(X)), 1, made, 0, Team(1))._sorted is not None


def with_histograms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histogram, "prefers_sorted_rows", lambda *_: False)


def test_small_tables_are_sorted():
    assert sorts(X)


@pytest.mark.parametrize(
    "rule",
    [
        {"reg_alpha": 0.1},
        {"max_delta_step": 1.0},
        {"monotone_constraints": [1, 0, 0, 0, 0, 0]},
        {"precision": "packed"},
        {"growth": "symmetric", "max_depth": 3},
        {"reg_lambda": 0.0, "min_child_weight": 0.0},
    ],
)
def test_other_rules_than_lambda_need_histograms(rule):
    assert not sorts(X, **rule)


def test_tables_with_missing_values_need_histograms():
    with_hole = X.copy()
    with_hole[3, 2] = np.nan
    assert not sorts(with_hole)


def test_tables_of_many_rows_per_bin_need_histograms():
    assert not sorts(np.round(X))


def test_rows_of_the_root_are_sorted_by_bins_and_equal_bins_by_rows():
    dataset = BinnedDataset.build(read_table(X))
    lists = sort_rows(dataset, 2)
    assert lists.shape == (14, N)
    for bins, line in zip(dataset.columns, lists, strict=False):
        assert np.array_equal(line, np.lexsort((np.arange(N), bins)))


def test_a_split_parts_the_rows_of_a_leaf_in_every_list_and_keeps_their_order():
    dataset, first, last = BinnedDataset.build(read_table(X)), 30, 200
    bins, n_features = dataset.columns, dataset.n_features
    lists = sort_rows(dataset, 1)
    with np.errstate(all="ignore"):
        sorted_rows.init_sorted_rows(0, n_features, n_features, lists)
    rows = lists[0, first:last]  # any rows will do; the leaf owns the same range of all lists
    before = [np.array([row for row in line if row in rows]) for line in lists[:n_features]]
    for line, own in zip(lists[n_features:], before, strict=False):
        line[first:last] = own
    split = np.zeros(layout.LEAF_SUMS, np.int64)
    split[[layout.SPLIT_FEATURE, layout.SPLIT_BIN, layout.LEAF_BEGIN, layout.LEAF_END]] = (
        2,
        bins[2].max() // 2,
        first,
        last,
    )
    goes_left = bins[2] <= split[layout.SPLIT_BIN]
    others = lists[n_features : 2 * n_features].copy()
    with np.errstate(all="ignore"):
        sorted_rows.partition_sorted_rows(0, 0, n_features, bins, split, int(goes_left[rows].sum()), lists)
    for line, own, other in zip(lists[n_features:], before, others, strict=False):
        assert line[first:last].tolist() == [*own[goes_left[own]], *own[~goes_left[own]]]
        assert line[:first].tolist() == other[:first].tolist()
        assert line[last:].tolist() == other[last:].tolist()


@pytest.mark.parametrize("size", ["1", "2", "3", "8"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_child_samples": 1, "min_child_weight": 0.0},
        {"min_child_samples": 1, "min_child_weight": 4.0},
        {"min_child_samples": 7, "min_child_weight": 0.5, "growth": "levelwise", "max_depth": 4},
        {"colsample_bynode": 0.5, "interaction_constraints": [[0, 1, 2], [2, 3, 4, 5]]},
        {"random_strength": 1.0, "min_split_gain": 0.01},
    ],
)
def test_trees_are_those_of_histograms(monkeypatch, size, params):
    monkeypatch.setenv("SAPWOOD_TEAM", size)
    model = SapwoodClassifier(n_estimators=6, max_leaves=15, **params)
    weight = np.random.default_rng(1).integers(0, 3, N)
    found = model.fit(X, Y, sample_weight=weight).model_
    with_histograms(monkeypatch)
    wanted = model.fit(X, Y, sample_weight=weight).model_
    assert found.fingerprint() == wanted.fingerprint()
    assert np.array_equal(found.ensemble.gain, wanted.ensemble.gain)


def test_rows_without_weight_in_the_gradients_change_nothing(monkeypatch):
    """With hinge-like gradients most rows carry nothing: their bins add nothing, but count as rows."""

    def objective(y, score):
        far = np.abs(y - score) > 1.0
        return np.where(far, np.sign(score - y), 0.0), np.where(far, 1.0, 0.0)

    model = SapwoodRegressor(n_estimators=5, objective=objective, min_child_samples=3)
    found = model.fit(X, 2.0 * X[:, 0] * X[:, 1]).model_.fingerprint()
    with_histograms(monkeypatch)
    assert model.fit(X, 2.0 * X[:, 0] * X[:, 1]).model_.fingerprint() == found
