from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.tables.schema import Schema
from sapwood.errors import InputError, InputTypeError, ParameterError
from sapwood.model.model import Model
from tests.model.example_models import class_model, regression_model
from tests.model.forests import random_ensemble, random_rows, slow_scores

ROWS = random_rows(np.random.default_rng(0), 40, 4)


@pytest.mark.parametrize("model", [regression_model(leaves=(1, 90)), class_model(2), class_model(4)], ids=repr)
def test_one_row_is_predicted_as_in_a_table(model):
    one = model.predictor()
    np.testing.assert_array_equal([one.predict(row) for row in ROWS], model.predict(ROWS))
    np.testing.assert_array_equal([one.predict_response(row) for row in ROWS], model.predict_response(ROWS))
    np.testing.assert_array_equal([one.predict_raw(row) for row in ROWS], model.predict_raw(ROWS))


@pytest.mark.parametrize("n_trees", [0, 1, 7, 8, 9, 17])
def test_any_number_of_trees_predicts_one_row(n_trees):
    ensemble = random_ensemble(np.random.default_rng(n_trees), n_trees, leaves=(1, 20))
    one = Model(Schema(4), ensemble, np.array([0.5])).predictor()
    np.testing.assert_array_equal([one.predict(row) for row in ROWS], slow_scores(ensemble, ROWS, [0.5])[0])


def test_vector_leaves_predict_one_row():
    ensemble = random_ensemble(np.random.default_rng(1), 5, n_outputs=3, width=3)
    one = Model(Schema(4), ensemble, np.zeros(3)).predictor()
    np.testing.assert_array_equal([one.predict_raw(row) for row in ROWS], slow_scores(ensemble, ROWS, np.zeros(3)).T)


def test_a_row_may_be_a_list():
    assert regression_model().predictor().predict([1.0, 2, float("nan"), 4]) == pytest.approx(
        regression_model().predict([[1.0, 2, float("nan"), 4]])[0], abs=0
    )


@pytest.mark.parametrize("row", [[1.0], np.zeros(5), np.zeros((4, 2)), 3.0], ids=str)
def test_a_row_of_another_shape_is_refused(row):
    with pytest.raises(InputError, match=r"the row"):
        regression_model().predictor().predict(row)


def test_a_string_in_a_row_of_numbers_is_refused():
    with pytest.raises(InputTypeError, match=r"column 'a' holds the string '1'.*pass a number"):
        regression_model().predictor().predict(["1", 2.0, 3.0, 4.0])


def test_predictions_stay_after_the_next_call():
    one = class_model(3).predictor()
    first = one.predict_raw(ROWS[0])
    kept = first.copy()
    one.predict_raw(ROWS[1])
    np.testing.assert_array_equal(first, kept)


def test_threads_do_not_disturb_one_another():
    model = regression_model(leaves=(1, 60))
    one, expected, wrong = model.predictor(), model.predict(ROWS), []

    def ask() -> None:
        for _ in range(30):
            if [one.predict(row) for row in ROWS] != expected.tolist():
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_table_of_one_row_is_predicted_as_one_of_many(dtype):
    rng = np.random.default_rng(3)
    X = rng.integers(-4, 5, size=(60, 3)).astype(dtype)
    model = SapwoodClassifier(n_estimators=5).fit(X, np.arange(60) % 3).model_
    assert np.array_equal(np.concatenate([model.predict(X[i : i + 1]) for i in range(9)]), model.predict(X)[:9])


@pytest.mark.parametrize("kind", ["C", "big-endian", "every other column", "float16", "masked", "zeros are missing"])
def test_one_row_of_any_kind_of_array_is_predicted_as_one_of_many(kind):
    rng = np.random.default_rng(4)
    X = rng.integers(-4, 5, size=(80, 3)) / 2.0
    fitted = SapwoodClassifier(n_estimators=4, zero_as_missing=kind == "zeros are missing").fit(X, X[:, 0] > X[:, 1])
    wide = np.repeat(X, 2, axis=1)
    seen = {
        "big-endian": X.astype(">f8"), "every other column": wide[:, ::2], "float16": X.astype(np.float16),
        "masked": np.ma.masked_array(X, X > 1.0),
    }.get(kind, X)  # fmt: skip
    one_by_one = np.concatenate([fitted.predict_proba(seen[i : i + 1]) for i in range(20)])
    assert np.array_equal(one_by_one, fitted.predict_proba(seen)[:20])


def test_one_row_is_predicted_from_the_estimator_that_the_trees_start_from():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    fitted = SapwoodRegressor(n_estimators=4, init=LinearRegression()).fit(X, X[:, 0] * 3 + rng.normal(size=80))
    np.testing.assert_array_equal(fitted.predict(X[:1]), fitted.predict(X)[:1])


def test_one_row_without_names_is_warned_about_and_a_wrong_number_of_threads_refused():
    X = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0) % 7})
    fitted = SapwoodRegressor(n_estimators=2).fit(X, X["b"])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        fitted.predict(X.to_numpy()[:1])
    with pytest.raises(ParameterError, match="n_jobs"):
        fitted.model_.predict(X.to_numpy()[:1], n_jobs=0)
    unnamed = SapwoodRegressor(n_estimators=2).fit(X.to_numpy(), X["b"]).set_params(n_jobs=0)
    with pytest.raises(ParameterError, match="n_jobs"):
        unnamed.predict(X.to_numpy()[:1])
