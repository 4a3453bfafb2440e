"""Predictions of fitted estimators: how often X is read, and what is warned about."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.tables.table import read_table

RNG = np.random.default_rng(0)
DENSE = RNG.integers(-3, 4, size=(60, 3)) / 2.0
TABLES = {
    "array": DENSE,
    "list": DENSE.tolist(),
    "data frame": pd.DataFrame(DENSE, columns=list("abc")),
    "data frame with categories": pd.DataFrame(DENSE, columns=list("abc")).assign(d=np.resize(["x", "y", "z"], 60)),
    "sparse matrix": sp.csr_matrix(DENSE),
    "sparse data frame": pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE), columns=list("abc")),
}
REGRESSION = ("predict", "predict_raw", "apply", "staged_predict")
CLASSIFICATION = (*REGRESSION, "predict_proba", "staged_predict_proba", "decision_function", "staged_decision_function")


@pytest.fixture
def reads(monkeypatch):
    """A list that grows with every table that is read."""
    tables = []

    def counted(X, **options):
        tables.append(X)
        return read_table(X, **options)

    for module in ("sapwood.estimators.fitted_estimator", "sapwood.model.prediction_methods"):
        monkeypatch.setattr(f"{module}.read_table", counted)
    return tables


def call(fitted, method, X):
    result = getattr(fitted, method)(X)
    return list(result) if method.startswith("staged") else result


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", REGRESSION)
def test_a_regressor_reads_a_table_once(reads, table, method):
    fitted = SapwoodRegressor(n_estimators=3, min_child_samples=5).fit(TABLES[table], DENSE[:, 0])
    reads.clear()
    call(fitted, method, TABLES[table])
    assert len(reads) == 1


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", CLASSIFICATION)
def test_a_classifier_reads_a_table_once(reads, table, method):
    fitted = SapwoodClassifier(n_estimators=3, min_child_samples=5).fit(TABLES[table], DENSE[:, 0] > 0)
    reads.clear()
    call(fitted, method, TABLES[table])
    assert len(reads) == 1


@pytest.mark.parametrize("method", REGRESSION)
def test_a_model_that_starts_from_an_estimator_reads_a_table_once(reads, method):
    fitted = SapwoodRegressor(n_estimators=3, init=LinearRegression()).fit(DENSE, DENSE[:, 0] ** 2)
    reads.clear()
    call(fitted, method, DENSE)
    assert len(reads) == 1


def test_stages_that_start_from_an_estimator_end_in_the_prediction():
    fitted = SapwoodRegressor(n_estimators=3, init=LinearRegression()).fit(DENSE, DENSE[:, 0] ** 2)
    stages = list(fitted.staged_predict(DENSE))
    np.testing.assert_array_equal(stages[-1], fitted.predict(DENSE))
    np.testing.assert_array_equal(stages[0], fitted.predict(DENSE, iterations=1))


@pytest.mark.parametrize("method", REGRESSION)
@pytest.mark.parametrize("trained", ["data frame", "array"])
def test_names_in_one_table_only_are_warned_about_once(trained, method):
    fitted = SapwoodRegressor(n_estimators=2).fit(TABLES[trained], DENSE[:, 0])
    other = "array" if trained == "data frame" else "data frame"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(fitted, method, TABLES[other])
    assert [str(one.message).split(",")[0] for one in caught] == [
        "X does not have valid feature names" if trained == "data frame" else "X has feature names"
    ]


@pytest.mark.parametrize("method", REGRESSION)
def test_columns_are_aligned_by_name(method):
    frame = TABLES["data frame with categories"]
    fitted = SapwoodRegressor(n_estimators=3, min_child_samples=5).fit(frame, DENSE[:, 0])
    expected, found = call(fitted, method, frame), call(fitted, method, frame[["d", "b", "c", "a"]])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("init", [None, LogisticRegression()], ids=["constant", "estimator"])
def test_the_last_stage_of_the_decision_function_is_the_decision_function(n_classes, init):
    labels = np.digitize(DENSE[:, 0], [-0.5, 0.5][: n_classes - 1])
    fitted = SapwoodClassifier(n_estimators=4, min_child_samples=5, init=init).fit(DENSE, labels)
    stages = list(fitted.staged_decision_function(DENSE))
    assert len(stages) == 4
    np.testing.assert_allclose(stages[-1], fitted.decision_function(DENSE), rtol=1e-12)
    assert not np.array_equal(stages[0], stages[1])
