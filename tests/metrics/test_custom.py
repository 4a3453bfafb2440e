"""Metrics that are functions of the user: LightGBM's, XGBoost's and CatBoost's forms."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import EarlyStopping, SapwoodClassifier, SapwoodRegressor, cv
from sapwood.errors import ParameterError
from sapwood.metrics.registry import resolve_metric

Y, P = np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.4, 0.9])


def table(n=200):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    return X, (X[:, 0] + random.normal(size=n) > 0).astype(int)


def test_a_function_says_itself_that_greater_is_better():
    def hits(y, prediction, weight):
        return 1.0

    hits.greater_is_better = True
    assert resolve_metric(hits).greater_is_better


def test_a_function_that_returns_no_number_is_refused():
    with pytest.raises(ParameterError, match="allowed is a number"):
        resolve_metric(lambda y, prediction, weight: "good")(np.zeros(1), np.zeros(1))


def test_lightgbms_form_names_the_metric_and_its_direction():
    def feval(y_true, y_pred):
        return "hits", float(np.mean((y_pred > 0.5) == y_true)), True

    X, y = table()
    model = SapwoodClassifier(n_estimators=30, eval_metric=feval, early_stopping_rounds=EarlyStopping(5, metric="hits"))
    model.fit(X, y, eval_set=(X[::2], y[::2]))
    values = model.evals_result_["validation"]["hits"]
    assert model.best_score_ == max(values)
    assert cv(SapwoodClassifier(n_estimators=3, eval_metric=feval), X, y, cv=2).scores.keys() == {"hits"}


def test_xgboosts_form_takes_two_arguments_and_is_minimised():
    def bias(y_true, y_pred):
        return abs(float(np.mean(y_pred - y_true)))

    metric = resolve_metric(bias)
    assert not metric.greater_is_better and metric(Y, P) == pytest.approx(0.5 / 3)


def test_weights_are_passed_by_position_or_keyword():
    def by_position(y, p, weight):
        return weight.sum()

    def by_keyword(y, p, *, sample_weight=None):
        return sample_weight.sum()

    def with_setting(y, p, threshold=0.5, weight=None):
        return threshold + weight.sum()

    weight = np.array([1.0, 2.0, 3.0])
    assert resolve_metric(by_position)(Y, P, weight) == resolve_metric(by_keyword)(Y, P, weight) == 6.0
    assert resolve_metric(with_setting)(Y, P, weight) == 6.5


def test_a_function_without_weights_is_refused_where_rows_have_them():
    with pytest.raises(ParameterError, match="takes no weights"):
        resolve_metric(lambda y, p: 0.0)(Y, P, np.ones(3))


def test_a_score_must_say_that_greater_is_better():
    def my_f1(y, p, weight):
        return 1.0

    X, y = table()
    with pytest.raises(ParameterError, match=r"my_f1\.greater_is_better = True"):
        SapwoodClassifier(n_estimators=2, eval_metric=my_f1).fit(X, y, eval_set=(X, y))
    my_f1.greater_is_better = True
    SapwoodClassifier(n_estimators=2, eval_metric=my_f1).fit(X, y, eval_set=(X, y))


def test_native_forms_of_other_libraries_are_refused_with_the_remedy():
    def feval(preds, train_data):
        return "a", 0.0, False

    class CatBoostMetric:
        def is_max_optimal(self):
            return True

        def __call__(self, *args):
            raise AssertionError

    with pytest.raises(ParameterError, match="targets first"):
        resolve_metric(feval)
    with pytest.raises(ParameterError, match="metric class of CatBoost"):
        resolve_metric(CatBoostMetric())


def test_a_function_of_one_argument_is_refused_before_training():
    X, y = table()
    with pytest.raises(ParameterError, match="must take 2 argument"):
        SapwoodRegressor(eval_metric=lambda y: 0.0).fit(X, y)
