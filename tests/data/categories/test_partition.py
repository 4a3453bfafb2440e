"""Sets of categories among everything else: threads, missing columns, constraints on interactions, sparse columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from sapwood import Partition, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import NoSplitWarning

N_ROWS = 6_000
SETTINGS = {
    "packed": {"precision": "packed"},
    "wide": {"precision": "wide"},
    "guards": {"category_encoding": Partition(min_level_rows=10, min_group_rows=100), "precision": "packed"},
    "levels one by one": {"category_encoding": Partition(max_single=255), "min_child_samples": 40},
    "level by level": {"growth": "levelwise", "max_depth": 4, "reg_alpha": 0.1},
    "drawn rows": {"sampling": "goss", "colsample_bynode": 0.6},
    "ordered": {"boosting": "ordered"},
}


def make_table(n_rows: int = N_ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of three, thirty and about a thousand categories, some missing, and a number."""
    source = np.random.default_rng(7)
    codes = {"few": source.integers(0, 3, n_rows), "some": source.integers(0, 30, n_rows)}
    codes["many"] = np.minimum(source.geometric(0.004, n_rows), 2_000)
    x = source.normal(size=n_rows)
    y = sum(np.random.default_rng(k).normal(size=2_001)[line] for k, line in enumerate(codes.values()))
    X = pd.DataFrame({name: pd.Categorical([f"l{code}" for code in line]) for name, line in codes.items()})
    for name in codes:
        X.loc[source.uniform(size=n_rows) < 0.05, name] = None
    return X.assign(x=x), y + x * (codes["few"] == 1) + 0.3 * source.normal(size=n_rows)


@pytest.fixture(scope="module")
def table():
    return make_table()


def fingerprint(X, y, **settings) -> str:
    given = {"n_estimators": 5, "max_leaves": 20, "category_encoding": "partition"} | settings
    return SapwoodRegressor(**given).fit(X, y).model_.fingerprint()


@pytest.mark.parametrize("name", SETTINGS)
def test_any_number_of_threads_finds_the_same_sets(monkeypatch, table, name):
    """N2."""
    found = []
    for members in ("1", "2", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", members)
        found.append(fingerprint(*table, **SETTINGS[name]))
    assert len(set(found)) == 1


def test_any_number_of_threads_finds_the_same_sets_for_classes(monkeypatch, table):
    X, y = table
    found = []
    for members in ("1", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", members)
        fitted = SapwoodClassifier(n_estimators=3, category_encoding="partition").fit(X, np.digitize(y, [-1.0, 1.0]))
        found.append(fitted.model_.fingerprint())
    assert len(set(found)) == 1


def test_every_leaf_of_every_class_has_its_least_number_of_rows(table):
    X, y = table
    fitted = SapwoodClassifier(n_estimators=10, category_encoding="partition", min_child_samples=25)
    ensemble = fitted.fit(X, np.digitize(y, [-1.0, 1.0])).model_.ensemble
    assert ensemble.count[ensemble.feature < 0].min() >= 25


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_a_column_all_missing_is_of_no_use_and_does_no_harm(table, dtype):
    X, y = table
    with_nothing = X.assign(nothing=pd.Series([None] * len(y), dtype=dtype))
    params = {"n_estimators": 5, "category_encoding": "partition", "categorical_features": "auto"}
    if dtype == "object":
        params["categorical_features"] = ["few", "some", "many", "nothing"]
    plain = SapwoodRegressor(n_estimators=5, category_encoding="partition").fit(X, y)
    fitted = SapwoodRegressor(**params).fit(with_nothing, y)
    np.testing.assert_array_equal(fitted.predict(with_nothing), plain.predict(X))
    # A category that appears only later is one never seen.
    np.testing.assert_array_equal(fitted.predict(X.assign(nothing="new")), plain.predict(X))


def test_a_table_of_nothing_but_a_missing_category_answers_the_mean():
    X = pd.DataFrame({"nothing": pd.Series([None] * 60, dtype="category")})
    with pytest.warns(NoSplitWarning, match="every column is constant"):
        fitted = SapwoodRegressor(n_estimators=3, category_encoding="partition").fit(X, np.arange(60.0))
    np.testing.assert_allclose(fitted.predict(X), 29.5)


def test_no_tree_has_columns_together_that_constraints_keep_apart(table):
    """The column of many categories has further columns; they are the same to a constraint."""
    X, y = table
    groups = [["few", "some"], ["many", "x"]]
    model = (
        SapwoodRegressor(
            n_estimators=12, category_encoding="partition", interaction_constraints=groups, min_child_samples=5
        )
        .fit(X, y)
        .model_
    )
    ways = [used for tree in model.ensemble for used in _ways(tree, model.transformer.sources)]
    assert {0, 1} in ways and {2, 3} in ways
    assert all(used <= {0, 1} or used <= {2, 3} for used in ways)


def test_the_columns_of_a_sparse_table_can_be_categories(table):
    """Numbers as categories beside sparse columns: the model of the dense table."""
    X, y = table
    source = np.random.default_rng(3)
    zeros = source.uniform(size=(len(y), 5)) < 0.97
    dense = np.where(zeros, 0.0, source.normal(size=zeros.shape))
    dense[:, 0] = X["some"].cat.codes
    dense[:, 1] = np.where(zeros[:, 1], 0, source.integers(1, 9, len(y)))
    params = {"n_estimators": 5, "category_encoding": "partition", "categorical_features": [0, 1]}
    expected = SapwoodRegressor(**params).fit(dense, y + dense[:, 2])
    found = SapwoodRegressor(**params).fit(scipy.sparse.csr_matrix(dense), y + dense[:, 2])
    np.testing.assert_array_equal(found.predict(scipy.sparse.csc_matrix(dense)), expected.predict(dense))
    assert [one["encoding"] for one in found.model_.encodings.values()] == [["partition"]] * 2


def test_categories_stand_beside_sparse_columns_of_a_frame(table):
    X, y = table
    source = np.random.default_rng(4)
    numbers = np.where(source.uniform(size=len(y)) < 0.95, 0.0, 1.0 + source.uniform(size=len(y)))
    dense = X.assign(rare=numbers)
    sparse = X.assign(rare=pd.arrays.SparseArray(numbers, fill_value=0.0))
    params = {"n_estimators": 5, "category_encoding": "partition"}
    expected = SapwoodRegressor(**params).fit(dense, y + numbers).predict(dense)
    np.testing.assert_array_equal(SapwoodRegressor(**params).fit(sparse, y + numbers).predict(sparse), expected)


def _ways(tree, sources) -> list[set[int]]:
    """The user's columns on the way to each leaf."""
    pending: list[tuple[int, set[int]]] = [(0, set())]
    found = []
    while pending:
        node, used = pending.pop()
        if tree.feature[node] < 0:
            found.append(used)
            continue
        used = used | set(sources[tree.feature[node]])
        left = int(tree.left[node])
        pending += [(left, used), (left + 1, used)]
    return found


STUMP = {"n_estimators": 1, "learning_rate": 1.0, "init": 0.0, "max_leaves": 2}


@pytest.mark.parametrize("more", [{}, {"leaf_steps": 2}, {"boosting": "ordered"}], ids=str)
def test_both_sides_of_a_set_pay_its_penalty(more):
    """By hand: five categories of 20 rows, three with target 1, two with −1, from 0: G/(H + λ) = 60/(60 + 1 + 10)."""
    X = np.repeat(["a", "b", "c", "d", "e"], 20).astype(object)[:, None]
    y = np.repeat([1.0, -1.0], [60, 40])
    fitted = SapwoodRegressor(category_encoding="partition", **STUMP | more).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), np.repeat([60 / 71, -40 / 51], [60, 40]), rtol=1e-6)


@pytest.mark.parametrize("more", [{}, {"leaf_steps": 2}, {"boosting": "ordered"}], ids=str)
def test_one_of_few_categories_goes_left_without_penalty(more):
    """By hand: a has 60 rows of target 1, the others 40 of −1; G/(H + λ) = 60/(60 + 1) and −40/(40 + 1)."""
    X = np.repeat(["a", "b", "c", "d"], [60, 20, 10, 10]).astype(object)[:, None]
    y = np.repeat([1.0, -1.0], [60, 40])
    fitted = SapwoodRegressor(category_encoding="partition", **STUMP | more).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), np.repeat([60 / 61, -40 / 41], [60, 40]), rtol=1e-6)


def test_the_number_of_categories_that_go_one_by_one_can_be_set():
    """Targets of a and b are 1, of c and d −1: one category by itself cannot tell them apart, a set can."""
    X = np.repeat(["a", "b", "c", "d"], 25).astype(object)[:, None]
    y = np.repeat([1.0, -1.0], 50)
    free = SapwoodRegressor(category_encoding=Partition(penalty=0.0, max_single=3), **STUMP).fit(X, y)
    one_by_one = SapwoodRegressor(category_encoding=Partition(penalty=0.0, max_single=4), **STUMP).fit(X, y)
    np.testing.assert_allclose(free.predict(X), np.repeat([50 / 51, -50 / 51], 50), rtol=1e-6)
    assert len(np.unique(one_by_one.predict(X)[[0, 25, 50, 75]])) == 2
    np.testing.assert_allclose(np.unique(one_by_one.predict(X[25:])), one_by_one.predict(X[[25]]), rtol=1e-6)
    with pytest.raises(ValueError, match="max_single must be an integer of at least 0, got -1"):
        Partition(max_single=-1)


def test_missing_is_not_counted_among_few_categories_but_can_go_by_itself():
    X = np.repeat(np.array(["a", "b", "c", "d", None], dtype=object), 25)[:, None]
    y = np.repeat([0.0, 1.0], [100, 25])
    fitted = SapwoodRegressor(category_encoding="partition", **STUMP).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), np.repeat([0.0, 25 / 26], [100, 25]), rtol=1e-6)


def test_categories_beyond_the_bins_are_divided_too():
    """400 categories of 20 rows; those that matter come last in the order of their frequency."""
    random = np.random.default_rng(0)
    codes = np.concatenate([np.repeat(np.arange(300), 21), np.repeat(np.arange(300, 400), 20)])
    y = np.where(codes >= 300, 5.0, 0.0) + 0.1 * random.normal(size=len(codes))
    fitted = SapwoodRegressor(category_encoding=Partition(penalty=0.0), n_estimators=30, learning_rate=0.3)
    fitted.fit(codes.astype(str).astype(object)[:, None], y)
    answers = fitted.predict(np.array([["5"], ["350"], ["399"]], dtype=object))
    np.testing.assert_allclose(answers, [0.0, 5.0, 5.0], atol=0.3)
