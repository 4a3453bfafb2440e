"""Rows that were drawn, copied next to each other: what is copied, and that trees never show it."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import train
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.data.tables.table import read_table
from sapwood.grow import row_subset
from sapwood.grow.histogram import HistogramGrower
from sapwood.grow.row_subset import RowSubset
from sapwood.grow.workspace import make_bins
from sapwood.kernels import layout
from sapwood.kernels.sampling.row_subset import scatter_weights
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

N = 3001


def make_dataset(kind: str) -> BinnedDataset:
    """Numbers in bytes or in two each, few in a row or many, or columns that exclude each other."""
    source = np.random.default_rng(7)
    X = source.normal(size=(N, {"few": 5, "some": 13}.get(kind, 37)))
    if kind == "bundles":
        X = np.hstack([X[:, :5], source.integers(0, 30, (N, 1)) == np.arange(30), X[:, 5:10]])
    return BinnedDataset.build(read_table(X), max_bins=700 if kind == "halves" else 255)


def make_gradients(n_outputs: int, weighed: bool, numbered: bool) -> layout.Gradients:
    source = np.random.default_rng(3)
    pairs = source.random((n_outputs, 2 * N)).astype(np.float32)
    weight = source.random(N) if weighed else np.empty(0)
    ids = np.sort(source.choice(10 * N, N, replace=False)).astype(np.uint64) if numbered else np.empty(0, np.uint64)
    return layout.Gradients(pairs, weight, ids, 1.0)


def some_rows(share: float) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(5).random(N) < share).astype(np.uint32)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("kind", ["bytes", "few", "some", "halves", "bundles"])
def test_bins_of_the_rows_are_copied_by_rows_and_by_columns(kind, size):
    dataset, rows = make_dataset(kind), some_rows(0.3)
    bins = make_bins(dataset, BundleLayout.find(dataset))
    found = RowSubset(bins, 1, Team(size), kind != "bundles").copy_bins(rows)
    assert np.array_equal(found.tiles, bins.tiles[:, rows])
    name = "bins_u16" if kind == "halves" else "bins_u8"
    assert np.array_equal(getattr(found, name)[:, : len(rows)], getattr(bins, name)[:, rows])


@pytest.mark.parametrize("weighed, numbered", [(False, False), (True, False), (True, True)])
def test_gradients_of_the_rows_are_copied_with_their_numbers(weighed, numbered):
    dataset, rows, given = make_dataset("bytes"), some_rows(0.2), make_gradients(3, weighed, numbered)
    copies = RowSubset(make_bins(dataset, BundleLayout.find(dataset)), 3, Team(2), True)
    copies.copy_bins(rows)
    found = copies.copy_gradients(given)
    assert np.array_equal(found.pairs.reshape(3, -1, 2), given.pairs.reshape(3, N, 2)[:, rows])
    assert np.array_equal(found.weight, given.weight[rows] if weighed else given.weight)
    assert np.array_equal(found.row_ids, given.row_ids[rows] if numbered else rows)


@pytest.mark.parametrize("size", [1, 3])
def test_weights_of_the_rows_are_written_to_their_places(size):
    rows = some_rows(0.4)
    weight = np.random.default_rng(2).random(len(rows))
    expected = np.zeros(N)
    expected[rows] = weight
    found = np.zeros(N)
    Team(size).run(scatter_weights, rows, weight, found)
    assert np.array_equal(found, expected)


def test_a_larger_draw_makes_more_room():
    dataset = make_dataset("bytes")
    bins = make_bins(dataset, BundleLayout.find(dataset))
    copies = RowSubset(bins, 1, Team(1), True)
    for rows in (some_rows(0.1), some_rows(0.45), some_rows(0.02)):
        assert np.array_equal(copies.copy_bins(rows).tiles, bins.tiles[:, rows])


@pytest.mark.parametrize("growth", ["leafwise", "symmetric"])
@pytest.mark.parametrize("kind", ["bytes", "halves", "bundles"])
def test_a_tree_does_not_show_that_rows_were_copied(kind, growth, monkeypatch):
    dataset, rows = make_dataset(kind), some_rows(0.4)
    pairs = make_gradients(1, False, False).pairs.reshape(1, N, 2) - np.float32([0.5, 0.0])
    weight = np.random.default_rng(1).random(N)
    params = TreeParams(growth=growth, max_leaves=8, max_depth=3, precision="packed")
    grown = []
    for fewest in (N + 1, N):
        monkeypatch.setattr(row_subset, "MIN_ROWS", fewest)
        grower = HistogramGrower(dataset, 1, params, 9, Team(2))
        tree = grower.grow(pairs, weight, 0, rows)
        grown.append(
            [tree.feature, tree.bin, tree.value, tree.gradient, tree.weight, tree.leaf_ranges, tree.leaf_rows.copy()]
        )
    for apart, together in zip(*grown, strict=True):
        assert np.array_equal(apart, together)


@pytest.mark.parametrize("sampling", ["uniform", "goss", "mvs"])
def test_a_model_does_not_show_that_rows_were_copied(sampling, monkeypatch):
    X = np.random.default_rng(4).normal(size=(N, 6))
    fingerprints = set()
    for fewest in (N + 1, N):
        monkeypatch.setattr(row_subset, "MIN_ROWS", fewest)
        fraction = {} if sampling == "goss" else {"subsample": 0.3}
        params = {"sampling": sampling, "n_estimators": 8, "learning_rate": 0.5, "effort": "fast", **fraction}
        fingerprints.add(train(params, X, X[:, 0] > X[:, 1] * X[:, 2]).fingerprint())
    assert len(fingerprints) == 1
