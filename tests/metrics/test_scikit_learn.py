"""Metric functions, scorers and scorer names of scikit-learn as they are."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
import sklearn.metrics as theirs

from sapwood import SapwoodClassifier, SapwoodRegressor, cv
from sapwood.errors import ParameterError
from sapwood.metrics.registry import resolve_metric


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 4))
    return X, X[:, 0] + 0.5 * random.normal(size=300), random.uniform(0.5, 2.0, 300)


def last_value(model, X, y, weight=None, **params):
    model.set_params(n_estimators=5, **params).fit(X, y, eval_set=(X, y), eval_sample_weight=weight)
    ((_, values),) = model.evals_result_["validation"].items()
    return values[-1]


@pytest.mark.parametrize(
    ("metric", "greater"),
    [
        (theirs.f1_score, True),
        (theirs.accuracy_score, True),
        (theirs.matthews_corrcoef, True),
        (theirs.roc_auc_score, True),
        (theirs.log_loss, False),
        (theirs.zero_one_loss, False),
        (theirs.brier_score_loss, False),
        (partial(theirs.fbeta_score, beta=2), True),
    ],
)
def test_a_function_of_classes_gives_its_value_and_direction(data, metric, greater):
    X, y, weight = data
    labels = (y > 0).astype(int)
    model = SapwoodClassifier(eval_metric=metric)
    got = last_value(model, X, labels, weight)
    takes_labels = getattr(metric, "func", metric).__name__ not in ("roc_auc_score", "log_loss", "brier_score_loss")
    prediction = model.predict(X) if takes_labels else model.predict_proba(X)[:, 1]
    assert got == pytest.approx(metric(labels, prediction, sample_weight=weight), rel=1e-12)
    assert resolve_metric(metric, np.array([0, 1])).greater_is_better == greater


def test_functions_get_the_users_labels(data):
    X, y, _ = data
    labels = np.where(y > 0, "yes", "no")
    model = SapwoodClassifier(eval_metric=partial(theirs.recall_score, pos_label="no"))
    got = last_value(model, X, labels)
    assert got == theirs.recall_score(labels, model.predict(X), pos_label="no")


@pytest.mark.parametrize("metric", [theirs.mean_absolute_error, theirs.r2_score, theirs.median_absolute_error])
def test_a_function_of_numbers_gives_its_value(data, metric):
    X, y, weight = data
    model = SapwoodRegressor(eval_metric=metric)
    got = last_value(model, X, y, weight)
    assert got == pytest.approx(metric(y, model.predict(X), sample_weight=weight))


@pytest.mark.parametrize("name", ["f1_macro", "roc_auc_ovr", "neg_log_loss", "balanced_accuracy", "top_k_accuracy"])
def test_a_scorer_and_its_name_give_the_scorers_value(data, name):
    X, y, weight = data
    labels = np.digitize(y, [-0.5, 0.5])
    scorer = theirs.get_scorer(name)
    model = SapwoodClassifier()
    by_scorer = last_value(model, X, labels, weight, eval_metric=scorer)
    want = scorer(model, X, labels, sample_weight=weight)
    assert by_scorer == pytest.approx(want, rel=1e-12)
    assert last_value(model, X, labels, weight, eval_metric=name) == pytest.approx(want, rel=1e-9)
    assert resolve_metric(name).greater_is_better


def test_make_scorer_is_maximised_by_early_stopping(data):
    X, y, _ = data
    scorer = theirs.make_scorer(theirs.mean_pinball_loss, alpha=0.8, greater_is_better=False)
    model = SapwoodRegressor(n_estimators=200, learning_rate=0.5, eval_metric=scorer, early_stopping_rounds=5)
    model.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    values = model.evals_result_["validation"]["neg_mean_pinball_loss"]
    assert model.best_score_ == max(values) and model.stopped_ == "early_stopping"


def test_every_scorer_name_for_two_classes_or_numbers_works_or_is_declined(data):
    X, y, _ = data
    labels = (y > 0).astype(int)
    positive = np.exp(y)
    worked = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in theirs.get_scorer_names():
            for model, target in ((SapwoodClassifier(), labels), (SapwoodRegressor(objective="gamma"), positive)):
                try:
                    got = last_value(model, X, target, eval_metric=name)
                except ParameterError:
                    continue
                want = theirs.get_scorer(name)(model, X, target)
                assert got == pytest.approx(want, rel=1e-9), name
                worked.append(name)
    assert len(set(worked)) >= 35


def test_a_missing_setting_is_asked_for(data):
    X, y, _ = data
    with pytest.raises(ParameterError, match=r"functools.partial\(roc_auc_score"):
        last_value(SapwoodClassifier(eval_metric=theirs.roc_auc_score), X, np.digitize(y, [-0.5, 0.5]))


def test_what_is_no_metric_is_refused():
    with pytest.raises(ParameterError, match="confusion_matrix of scikit-learn is no metric"):
        resolve_metric(theirs.confusion_matrix)
    with pytest.raises(ParameterError, match="use 'hinge'"):
        resolve_metric(theirs.hinge_loss)


def test_a_metric_without_weights_is_refused_where_rows_have_them(data):
    X, y, weight = data
    with pytest.raises(ParameterError, match="takes no weights"):
        last_value(SapwoodRegressor(eval_metric=theirs.max_error), X, y, weight)


def test_cross_validation_takes_scorers_too(data):
    X, y, _ = data
    found = cv(SapwoodClassifier(n_estimators=3, eval_metric=theirs.make_scorer(theirs.f1_score)), X, y > 0, cv=2)
    assert found.scores.keys() == {"f1_score"}
