"""Sparse bins: those of the dense table, and the same models."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sapwood import Dataset, SapwoodRegressor
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.tables.table import read_table


@pytest.fixture(autouse=True)
def small_tables_are_sparse(monkeypatch):
    """As large ones are."""
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0)


def dense(n: int = 300, p: int = 12, seed: int = 0) -> np.ndarray:
    """Mostly zeros: a full column, an empty one, negative values, missing ones, one of many values."""
    random = np.random.default_rng(seed)
    X = np.where(random.uniform(size=(n, p)) < 0.15, random.integers(-3, 4, (n, p)), 0).astype(float)
    X[:, 0] = random.normal(size=n)
    X[:, 1] = 0.0
    X[random.uniform(size=n) < 0.1, 2] = np.nan
    X[:, 3] = np.where(random.uniform(size=n) < 0.9, random.normal(size=n), 0.0)
    return X


def target(X: np.ndarray) -> np.ndarray:
    signal = np.nan_to_num(X)
    return signal[:, 0] + signal[:, 4] * 2 - signal[:, 5] + signal[:, 2]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [3, 255])
def test_bins_are_those_of_the_dense_table(monkeypatch, max_bins, weighted):
    monkeypatch.setattr("sapwood.data.binning.bin_edges.SAMPLE_ROWS", 200)
    X = dense()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    first, second = (BinMapper.fit(read_table(form), weight, max_bins, seed=3) for form in (X, sp.csr_matrix(X)))
    for one, other in zip(first.edges, second.edges, strict=True):
        assert np.array_equal(one, other)
    _, expected = first.encode(read_table(X))
    for form in (X, sp.csr_matrix(X)):
        assert np.array_equal(dense_bins(second, form), expected)


def dense_bins(bin_mapper: BinMapper, X) -> np.ndarray:
    """All columns of bins, those that are sparse too."""
    sparse_bins, found = (
        bin_mapper.encode_sparse(read_table(X)),
        np.repeat(bin_mapper.default_bins[:, None], X.shape[0], axis=1),
    )
    found[bin_mapper.default_bins < 0] = bin_mapper.encode(read_table(X))[1]
    for row in range(X.shape[0]):
        for cell in sparse_bins.entries[sparse_bins.start[row] : sparse_bins.start[row + 1]].tolist():
            f = int(np.searchsorted(sparse_bins.first_cell, cell, side="right")) - 1
            found[f, row] = cell - sparse_bins.first_cell[f]
    return found


def test_a_stored_nan_is_missing_and_zero_is_a_value():
    X = sp.csr_matrix(np.array([[0.0], [np.nan], [1.0], [0.0], [0.0], [0.0], [0.0], [0.0]]))
    table = read_table(X)
    assert dense_bins(BinMapper.fit(table), X).tolist() == [[1, 0, 2, 1, 1, 1, 1, 1]]


def test_columns_that_exclude_each_other_are_not_sparse(monkeypatch):
    codes = np.random.default_rng(0).integers(0, 20, 500)
    X, y = sp.csr_matrix(np.eye(20)[codes]), np.sin(3.0 * codes)
    params = {"n_estimators": 4, "max_leaves": 8}
    sparse = SapwoodRegressor(**params).fit(X, y).model_.fingerprint()
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 1024)
    assert Dataset(X).bins.sparse_bins is None
    assert SapwoodRegressor(**params).fit(X, y).model_.fingerprint() == sparse
    often = sp.csr_matrix(np.random.default_rng(0).uniform(size=(500, 100)) < 0.03)
    assert Dataset(often).bins.sparse_bins is not None


GROWTHS = [
    {},
    {"growth": "levelwise", "max_depth": 4},
    {"growth": "symmetric", "max_depth": 3},
    {"precision": "packed", "reg_alpha": 0.1, "monotone_constraints": [1, 0, 0, 0, 1, -1, 0, 0, 0, 0, 0, 0]},
    {"colsample_bytree": 0.7, "colsample_bynode": 0.6, "precision": "packed"},
    {"sampling": "goss", "interaction_constraints": [[0, 4], [2, 5, 6]]},
    {"max_bins": 1000, "boosting": "dart", "precision": "packed"},
]


@pytest.mark.parametrize("params", GROWTHS, ids=str)
@pytest.mark.parametrize("members", ["1", "3"])
def test_sparse_columns_give_the_model_of_columns_in_full(monkeypatch, params, members):
    """L2: whatever the growth, the rules and the number of threads."""
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    X = dense(2500)
    y = target(X) + np.random.default_rng(2).normal(size=2500)
    settings = {"n_estimators": 4, "min_child_samples": 1 if params.get("growth") == "symmetric" else 15} | params
    full, sparse = (SapwoodRegressor(**settings).fit(form, y).model_ for form in (X, sp.csr_matrix(X)))
    assert sparse.fingerprint() == full.fingerprint()
    assert np.array_equal(sparse.ensemble.count, full.ensemble.count)
