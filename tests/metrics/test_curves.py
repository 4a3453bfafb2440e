"""Areas under curves, counted pair by pair and compared with scikit-learn, XGBoost and LightGBM."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import sklearn.metrics as theirs

from sapwood.metrics.registry import resolve_metric


def several_classes(n=300, n_classes=4):
    random = np.random.default_rng(3)
    y = random.choice(n_classes, n, p=[0.5, 0.3, 0.15, 0.05])
    probability = np.round(random.dirichlet(np.ones(n_classes), n), 2)
    probability[:, -1] = 1.0 - probability[:, :-1].sum(axis=1)
    return y.astype(float), probability, random.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("kind", ["ovr", "ovo"])
def test_the_auc_of_several_classes_is_that_of_scikit_learn(kind, average):
    y, probability, weight = several_classes()
    metric = resolve_metric(f"roc_auc_{kind}" + ("_weighted" if average == "weighted" else ""))
    want = theirs.roc_auc_score(y, probability, multi_class=kind, average=average)
    assert metric(y, probability) == pytest.approx(want, rel=1e-13)
    if kind == "ovr":  # scikit-learn has no weights one against one
        want = theirs.roc_auc_score(y, probability, multi_class=kind, average=average, sample_weight=weight)
        assert metric(y, probability, weight) == pytest.approx(want, rel=1e-12)


def test_one_against_one_with_weights_is_the_mean_of_weighted_pairs():
    y, probability, weight = several_classes()
    areas = []
    for pair in combinations(range(4), 2):
        rows = np.isin(y, pair)
        areas.append(
            np.mean(
                [theirs.roc_auc_score(y[rows] == k, probability[rows, k], sample_weight=weight[rows]) for k in pair]
            )
        )
    assert resolve_metric("auc_ovo")(y, probability, weight) == pytest.approx(np.mean(areas), rel=1e-12)


def test_the_auc_of_three_rows_by_hand():
    """Class 0 against the others: 0.5 > 0.3 and 0.5 > 0.2; class 1: 0.5 > 0.4, 0.5 = 0.5; class 2: 0.3 > 0.1, 0.2."""
    probability = np.array([[0.5, 0.4, 0.1], [0.3, 0.5, 0.2], [0.2, 0.5, 0.3]])
    assert resolve_metric("auc_ovr")([0.0, 1.0, 2.0], probability) == pytest.approx((1 + 0.75 + 1) / 3)


def test_auc_mu_ranks_by_the_difference_of_two_probabilities():
    y = np.array([0.0, 1.0, 1.0])
    probability = np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.0], [0.5, 0.125, 0.5]])  # a tie, and one lower
    two = resolve_metric("auc_mu")(y, probability[:, :2])
    assert two == 0.25
    assert math.isnan(resolve_metric("auc_mu")(y, probability))  # class 2 has no row


@pytest.mark.parametrize("weighted", [False, True])
def test_auc_mu_is_that_of_lightgbm(weighted):
    lightgbm = pytest.importorskip("lightgbm")
    y, probability, weight = several_classes()
    scores = np.log(np.maximum(probability, 1e-9))
    data = lightgbm.Dataset(np.arange(len(y))[:, None], y, weight=weight if weighted else None, init_score=scores)
    params = {"objective": "multiclass", "num_class": 4, "metric": "auc_mu", "verbose": -1, "learning_rate": 1e-12}
    history: dict = {}
    lightgbm.train(
        params, data, 1, valid_sets=[data], valid_names=["v"], callbacks=[lightgbm.record_evaluation(history)]
    )
    # LightGBM ranks by scores in place of probabilities.
    got = resolve_metric("auc_mu")(y, scores, weight if weighted else None)
    assert got == pytest.approx(history["v"]["auc_mu"][0], abs=2e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_auc_of_several_classes_is_that_of_xgboost(weighted):
    xgboost = pytest.importorskip("xgboost")
    y, _, weight = several_classes()
    data = xgboost.DMatrix(np.random.default_rng(0).normal(size=(len(y), 3)), y, weight=weight if weighted else None)
    params = {"objective": "multi:softprob", "num_class": 4, "eval_metric": "auc", "max_depth": 2}
    history: dict = {}
    model = xgboost.train(params, data, 2, evals=[(data, "v")], evals_result=history, verbose_eval=False)
    got = resolve_metric("auc")(y, model.predict(data), weight if weighted else None)
    assert got == pytest.approx(history["v"]["auc"][-1], abs=1e-6)


def test_without_rows_of_both_classes_there_is_no_area():
    assert math.isnan(resolve_metric("auc")([1.0, 1.0], [0.1, 0.2]))
    assert math.isnan(resolve_metric("auc_ovr")([1.0, 1.0], np.array([[0.1, 0.9, 0.0], [0.5, 0.2, 0.3]])))
