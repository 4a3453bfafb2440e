"""Metrics of predicted classes against scikit-learn and by hand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import sklearn.metrics as theirs

from sapwood.metrics.registry import resolve_metric

AVERAGED = {
    "precision": theirs.precision_score,
    "recall": theirs.recall_score,
    "f1": theirs.f1_score,
    "jaccard": theirs.jaccard_score,
}
OTHERS = {
    "balanced_accuracy": theirs.balanced_accuracy_score,
    "matthews": theirs.matthews_corrcoef,
    "kappa": theirs.cohen_kappa_score,
    "kappa_quadratic": lambda y, p, sample_weight: theirs.cohen_kappa_score(
        y, p, weights="quadratic", sample_weight=sample_weight
    ),
}


def table(n_classes, n=400):
    """Targets without the last class but one of the predictions, and predictions without class 0."""
    random = np.random.default_rng(n_classes)
    y = random.integers(0, n_classes, n)
    weight = random.uniform(0.1, 3.0, n)
    if n_classes == 2:
        return y.astype(float), np.round(random.uniform(size=n), 2), weight
    probability = random.dirichlet(np.ones(n_classes), n)
    probability[:, 0] = 0.0
    return np.where(y == n_classes - 1, 1, y).astype(float), probability, weight


def predicted(probability):
    return (probability > 0.5).astype(int) if probability.ndim == 1 else probability.argmax(axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("average", ["binary", "macro", "weighted", "micro"])
@pytest.mark.parametrize("name", AVERAGED)
def test_averages_over_classes_are_those_of_scikit_learn(name, average, n_classes, weighted):
    y, probability, weight = table(n_classes)
    weight = weight if weighted else None
    if average == "binary" and n_classes > 2:
        assert "multiclass" not in resolve_metric(name).tasks
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = AVERAGED[name](y, predicted(probability), average=average, sample_weight=weight)
    metric = resolve_metric(name if average == "binary" else f"{name}_{average}")
    assert metric(y, probability, weight) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("name", OTHERS)
def test_agreement_is_that_of_scikit_learn(name, n_classes, weighted):
    y, probability, weight = table(n_classes)
    weight = weight if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = OTHERS[name](y, predicted(probability), sample_weight=weight)
    assert resolve_metric(name)(y, probability, weight) == pytest.approx(want, rel=1e-11, abs=1e-13)


def test_a_threshold_follows_the_name():
    y, p = [1.0, 1.0, 0.0], [0.9, 0.4, 0.35]
    assert resolve_metric("recall")(y, p) == 0.5
    assert resolve_metric("recall@0.38")(y, p) == 1.0
    assert resolve_metric("precision@0.3")(y, p) == 2 / 3


def test_fbeta_by_hand_and_by_scikit_learn():
    """One hit, one miss, no false alarm: precision 1, recall 1/2, F2 = 5 / (5 + 4)."""
    assert resolve_metric("fbeta")([1.0, 1.0], [0.9, 0.1]) == 5 / 9
    y, probability, weight = table(2)
    want = theirs.fbeta_score(y, probability > 0.3, beta=0.5, sample_weight=weight)
    assert resolve_metric("fbeta@0.5,0.3")(y, probability, weight) == pytest.approx(want, rel=1e-12)


def test_what_is_not_defined_is_zero_or_not_a_number():
    assert resolve_metric("f1")([0.0, 0.0], [0.1, 0.2]) == 0.0
    assert resolve_metric("matthews")([0.0, 1.0], [0.1, 0.2]) == 0.0
    assert math.isnan(resolve_metric("kappa")([0.0, 0.0], [0.1, 0.2]))
