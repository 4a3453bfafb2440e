"""What a training will take, and the refusal of one that would take too much."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from sapwood import SapwoodRegressor
from sapwood.boost import memory
from sapwood.boost.memory import DataSize, estimate_memory
from sapwood.errors import OutOfMemoryError
from sapwood.objectives import Softmax, Squared
from sapwood.params.resolve import resolve_params

X = np.random.default_rng(0).normal(size=(300, 4))


def parts(n_rows: int = 10**6, n_features: int = 28, **given: object) -> dict[str, int]:
    params = resolve_params(given, n_rows, "regression")
    return estimate_memory(DataSize(n_rows, n_features), Squared(), params, 2)


def test_bins_take_a_byte_by_rows_and_a_byte_by_columns():
    assert parts()["bins"] == 10**6 * (32 + 28)
    assert parts(max_bins=1000)["bins"] == 10**6 * (64 + 56)
    assert parts(sampling="goss")["bins"] == 1.5 * 10**6 * (32 + 28), "rows drawn are copied if they are half at most"


def test_histograms_are_bounded_however_large_trees_may_be():
    assert parts(max_leaves=None, max_depth=None)["histograms"] < 1.1 * 2**29
    assert parts(growth="symmetric", max_depth=16)["histograms"] > 2**30


def test_columns_that_rows_list_take_room_by_their_entries():
    stored = np.full(10**6, 3)
    stored[:10] = 5000
    params = resolve_params({}, 10**4, "regression")
    dense, sparse = (estimate_memory(DataSize(10**4, 10**6, 0, one), Squared(), params, 2) for one in (None, stored))
    assert dense["bins"] > 10**10
    assert 4 * stored.sum() < sparse["bins"] < 3 * 10**8
    assert sparse["histograms"] < 10**9 < dense["histograms"]


def test_a_wide_sparse_table_is_trained_where_a_dense_one_would_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10**8)
    wide = scipy.sparse.random(200, 50_000, density=0.001, format="csr", random_state=0)
    assert SapwoodRegressor(n_estimators=1).fit(wide, X[:200, 0]).n_iter_ == 1


def test_every_class_has_scores_of_its_own():
    params = resolve_params({}, 1000, "classification")
    one, three = (estimate_memory(DataSize(1000, 5), Softmax().for_classes(k), params, 1)["rows"] for k in (2, 4))
    assert three - one == 2 * 16 * 1000


def test_a_training_that_needs_too_much_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr(memory, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(
        OutOfMemoryError, match=r"300 rows and 4 columns needs about 0 MB .* only 0 MB .*: use"
    ) as caught:
        SapwoodRegressor(n_estimators=2).fit(X, X[:, 0])
    assert isinstance(caught.value, MemoryError)


def test_the_remedy_is_that_of_the_largest_part(monkeypatch):
    monkeypatch.setattr(memory, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(OutOfMemoryError, match="a smaller max_bins, max_leaves or max_depth"):
        SapwoodRegressor(growth="symmetric", max_depth=12).fit(X, X[:, 0])


def test_small_trainings_do_not_ask_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 0)
    assert SapwoodRegressor(n_estimators=2).fit(X, X[:, 0]).n_iter_ == 2


def test_nothing_is_refused_where_nobody_tells_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "SMALL_BYTES", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert SapwoodRegressor(n_estimators=2).fit(X, X[:, 0]).n_iter_ == 2


def test_the_values_that_linear_leaves_and_exact_search_read_of_a_sparse_table_are_counted(monkeypatch):
    wide = scipy.sparse.random(200, 50_000, density=0.001, format="csr", random_state=0)
    monkeypatch.setattr(memory, "available_memory", lambda: 7 * 10**7)
    for dense in ({"leaf_model": "linear"}, {"split_search": "exact"}):
        with pytest.raises(OutOfMemoryError):
            SapwoodRegressor(n_estimators=1, **dense).fit(wide, X[:200, 0])
