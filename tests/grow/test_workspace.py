"""A pool of fewer histograms than leaves: the same trees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from sapwood import SapwoodRegressor
from sapwood.grow import workspace
from sapwood.grow.workspace import WorkspaceSize, pool_size

SHAPES = [
    {"growth": "leafwise"},
    {"growth": "levelwise"},
    {"growth": "leafwise", "precision": "packed"},
    {"growth": "leafwise", "interaction_constraints": [[0, 1], [2, 3]], "monotone_constraints": [1, 0, 0, -1]},
    {"growth": "levelwise", "max_bins": 400, "subsample": 0.7},
]


def table(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    X[random.uniform(size=X.shape) < 0.05] = np.nan
    return X, np.nansum(X, axis=1) + np.nan_to_num(X[:, 0] * X[:, 2]) + random.normal(size=n)


@pytest.mark.parametrize("members", ["1", "3"])
@pytest.mark.parametrize("given", SHAPES, ids=str)
def test_a_small_pool_grows_the_same_trees(given, members, monkeypatch):
    X, y = table()
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    made = SapwoodRegressor(n_estimators=3, max_leaves=40, min_child_samples=3, **given)
    expected = made.fit(X, y).model_.fingerprint()
    kept = []
    for lines in (2, 3, 7):
        monkeypatch.setattr(workspace, "pool_size", lambda *sizes, lines=lines: kept.append(lines) or lines)
        assert made.fit(X, y).model_.fingerprint() == expected
    assert kept == [2, 3, 7]


@pytest.mark.parametrize("members", ["1", "3"])
@pytest.mark.parametrize("least", [1, 8])
@pytest.mark.parametrize("given", [{}, {"growth": "levelwise", "precision": "packed"}, {"subsample": 0.7}], ids=str)
def test_a_small_pool_grows_the_same_trees_on_listed_columns(given, least, members, monkeypatch):
    """A leaf without a histogram does not know which columns are left for it."""
    random = np.random.default_rng(1)
    X = np.where(random.uniform(size=(3000, 60)) < random.uniform(0.002, 0.1, 60), random.integers(1, 6, (3000, 60)), 0)
    y = X @ random.normal(size=60) + random.normal(size=3000)
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    made = SapwoodRegressor(n_estimators=3, max_leaves=40, min_child_samples=least, bundle=False, **given)
    expected = made.fit(X, y).model_.fingerprint()
    for lines in (2, 3, 7):
        monkeypatch.setattr(workspace, "pool_size", lambda *sizes, lines=lines: lines)
        assert made.fit(scipy.sparse.csr_matrix(X), y).model_.fingerprint() == expected


def test_the_pool_is_bounded_in_bytes_however_many_leaves_a_tree_may_have():
    shape = WorkspaceSize(n_rows=10**6, n_outputs=1, max_leaves=10**6, members=1, wide=True)
    assert pool_size(shape, 50_000, False) * 50_000 * 8 <= workspace.POOL_BYTES
    assert pool_size(shape, 10**12, False) == 2
    assert pool_size(WorkspaceSize(100, 1, 31, 1, True), 500, False) == 31


def test_a_symmetric_tree_keeps_the_histograms_of_the_leaves_that_may_be_split():
    assert pool_size(WorkspaceSize(100, 1, 64, 1, True), 10**12, True) == 32
    assert pool_size(WorkspaceSize(100, 1, 2, 1, True), 500, True) == 1
