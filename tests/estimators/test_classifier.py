"""The classifier: labels, probabilities and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import SapwoodClassifier
from sapwood.errors import ParameterError
from sapwood.objectives import Softmax

FEW = {"n_estimators": 10, "min_child_samples": 5}


def example(n_classes: int = 2, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    X = random.normal(size=(n, 3))
    return X, np.digitize(X[:, 0], [-0.5, 0.5][: n_classes - 1])


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array([False, True]), np.array([-1, 1]), np.array([7, 30]), np.array([0.0, 1.0])],
    ids=["texts", "booleans", "signs", "integers", "floats"],
)
def test_labels_of_any_kind_come_back(labels):
    X, codes = example()
    fitted = SapwoodClassifier(**FEW).fit(X, labels[codes])
    assert np.array_equal(fitted.classes_, labels)
    assert fitted.classes_.dtype == fitted.predict(X).dtype
    assert np.mean(fitted.predict(X) == labels[codes]) > 0.95


def test_labels_of_a_categorical_series_come_back():
    X, codes = example()
    y = pd.Series(np.array(["no", "yes"])[codes], dtype="category")
    assert list(SapwoodClassifier(**FEW).fit(X, y).classes_) == ["no", "yes"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_sum_to_one_and_the_largest_is_predicted(n_classes):
    X, y = example(n_classes)
    fitted = SapwoodClassifier(**FEW).fit(X, y)
    probability = fitted.predict_proba(X)
    assert probability.shape == (300, n_classes)
    assert np.allclose(probability.sum(axis=1), 1.0)
    assert np.array_equal(fitted.predict(X), probability.argmax(axis=1))
    assert fitted.score(X, y) > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_of_probabilities_are_those_after_each_round(n_classes):
    X, y = example(n_classes)
    fitted = SapwoodClassifier(**FEW).fit(X, y)
    for done, stage in enumerate(fitted.staged_predict_proba(X), 1):
        assert np.array_equal(stage, fitted.predict_proba(X, iterations=done))


def test_two_classes_have_one_decision_score_of_their_sign():
    X, y = example()
    fitted = SapwoodClassifier(**FEW).fit(X, y)
    score = fitted.decision_function(X)
    assert score.shape == (300,)
    assert np.array_equal(score > 0, fitted.predict(X) == 1)


def test_three_classes_have_three_decision_scores():
    X, y = example(3)
    fitted = SapwoodClassifier(**FEW).fit(X, y)
    assert np.array_equal(fitted.decision_function(X).argmax(axis=1), fitted.predict(X))


def test_softmax_for_two_classes_has_one_decision_score():
    X, y = example()
    fitted = SapwoodClassifier(objective="softmax", **FEW).fit(X, y)
    assert fitted.predict_raw(X).shape == (300, 2)
    assert np.array_equal(fitted.decision_function(X) > 0, fitted.predict(X) == 1)


def test_numbers_as_labels_are_refused():
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        SapwoodClassifier().fit(np.arange(50.0)[:, None], np.linspace(0, 1, 50))


def test_a_loss_for_numbers_is_refused():
    with pytest.raises(ParameterError, match="objective='squared' is not supported with classification"):
        SapwoodClassifier(objective="squared").fit(*example())


def test_a_loss_for_two_classes_is_refused_for_three():
    with pytest.raises(ParameterError, match="objective='hinge' is not supported with 3 classes"):
        SapwoodClassifier(objective="hinge").fit(*example(3))


def test_a_heavier_class_becomes_more_probable():
    X, y = example()
    even = SapwoodClassifier(**FEW).fit(X, y)
    tilted = SapwoodClassifier(**FEW).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    assert tilted.predict_proba(X)[:, 1].mean() > even.predict_proba(X)[:, 1].mean()


def test_class_weights_multiply_sample_weights():
    X, y = example()
    weight = np.linspace(0.5, 1.5, len(y))
    by_class = SapwoodClassifier(class_weight={1: 3.0}, **FEW).fit(X, y, sample_weight=weight)
    by_row = SapwoodClassifier(**FEW).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0) * weight)
    assert by_class.model_.fingerprint() == by_row.model_.fingerprint()


def test_balanced_classes_weigh_the_same_and_keep_the_total():
    X, y = example()
    labels, weight = np.where(y == 1, "rare", "common"), np.where(y == 1, 0.25, 1.0)
    by_row = weight * np.where(y == 1, weight.sum() / 2 / weight[y == 1].sum(), weight.sum() / 2 / weight[y == 0].sum())
    balanced = SapwoodClassifier(class_weight="balanced", **FEW).fit(X, labels, sample_weight=weight)
    expected = SapwoodClassifier(**FEW).fit(X, labels, sample_weight=by_row)
    assert np.allclose(balanced.predict_raw(X), expected.predict_raw(X), rtol=1e-9)


@pytest.mark.parametrize(
    "class_weight, text",
    [
        ({"c": 2.0}, "class_weight has a weight for the class 'c', which y does not contain; the classes are 'a', 'b'"),
        ({"a": -1.0}, "class_weight of 'a' must be a number of at least 0, got -1.0"),
        ("even", "class_weight must be 'balanced', 'effective', EffectiveNumber"),
    ],
)
def test_a_class_weight_that_cannot_be_used_is_refused(class_weight, text):
    with pytest.raises(ParameterError, match=text):
        SapwoodClassifier(class_weight=class_weight).fit([[0.0], [1.0]], ["a", "b"])


def test_it_works_in_a_pipeline_with_cross_validation():
    X, y = example()
    scores = cross_val_score(make_pipeline(StandardScaler(), SapwoodClassifier(**FEW)), X, y, cv=3)
    assert scores.min() > 0.9


def test_it_can_be_calibrated():
    X, y = example()
    assert CalibratedClassifierCV(SapwoodClassifier(**FEW), cv=2).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    "n_classes, settings, leaves",
    [
        (3, {}, 93),
        (6, {}, 127),
        (3, {"max_leaves": 20}, 20),
        (3, {"preset": "lightgbm"}, 31),
        (3, {"max_depth": 2}, 4),
        (3, {"growth": "symmetric"}, 64),
    ],
)
def test_trees_for_all_classes_have_the_leaves_of_several_trees(n_classes, settings, leaves):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 4))
    y = random.integers(0, n_classes, 4000)
    limits = {} if settings.get("growth") == "symmetric" else {"min_child_samples": 1}
    fitted = SapwoodClassifier(
        objective=Softmax(vector_leaves=True), n_estimators=1, min_child_weight=0.0, **limits, **settings
    )
    assert fitted.fit(X, y).model_.ensemble[0].n_leaves == leaves
