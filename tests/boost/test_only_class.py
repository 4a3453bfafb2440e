"""Classes fixed beforehand, and training rows of a single class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor, Uniform
from sapwood.boost.initial_scores import with_rows_of_classes
from sapwood.boost.target import Target
from sapwood.errors import InputError, ParameterError, SapwoodWarning
from sapwood.objectives import GradientLoss, Softmax

X = np.random.default_rng(0).normal(size=(200, 3))
LABELS = np.array(["a", "c"])[(X[:, 0] > 0).astype(int)]
THREE = ["c", "a", "b"]


def fit(y, n_estimators=10, **params):
    return SapwoodClassifier(n_estimators=n_estimators, **params).fit(X, y)


@pytest.mark.parametrize("classes", [None, ["a", "b"]])
def test_a_single_class_has_a_model_of_categorical_columns_too(tmp_path, classes):
    frame = pd.DataFrame({"x": X[:, 0], "kind": ["u", "v"] * 100})
    with pytest.warns(SapwoodWarning, match="y has one class"):
        fitted = SapwoodClassifier(n_estimators=3, classes=classes).fit(frame, ["a"] * 200)
    assert fitted.predict(frame.assign(kind="w")).tolist() == fitted.predict(frame).tolist() == ["a"] * 200
    fitted.save(tmp_path / "model.sapwood")
    again = sapwood.load(tmp_path / "model.sapwood")
    assert again.fingerprint() == fitted.model_.fingerprint()
    np.testing.assert_array_equal(again.predict(frame), fitted.model_.predict(frame))


def test_a_single_class_is_a_constant_model_with_a_warning(tmp_path):
    with pytest.warns(SapwoodWarning, match="y has one class, 'a' and `classes` does not name others"):
        fitted = fit(["a"] * 200)
    assert fitted.classes_.tolist() == ["a"]
    assert (fitted.n_iter_, fitted.stopped_, fitted.best_iteration_) == (0, "one_class", 0)
    np.testing.assert_array_equal(fitted.predict(X), ["a"] * 200)
    np.testing.assert_array_equal(fitted.predict_proba(X), np.ones((200, 1)))
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(sapwood.load(tmp_path / "model").predict_proba(X), np.ones((200, 1)))


@pytest.mark.parametrize("objective", ["softmax", "one_vs_all", Softmax(vector_leaves=True)], ids=str)
def test_a_single_class_of_several_has_the_frequency_of_rows_with_one_more_row_for_each_other(objective):
    with pytest.warns(SapwoodWarning, match="y has one class, 'a': the model has no trees"):
        fitted = SapwoodClassifier(objective=objective, classes=THREE).fit(X[:198], ["a"] * 198)
    np.testing.assert_allclose(fitted.predict_proba(X[:1]), [[0.99, 0.005, 0.005]], rtol=1e-12)


def test_a_single_class_of_two_has_a_probability_too():
    with pytest.warns(SapwoodWarning):
        fitted = SapwoodClassifier(classes=[0, 1]).fit(X[:99], np.ones(99, int))
    np.testing.assert_allclose(fitted.predict_proba(X[:1]), [[0.01, 0.99]])


def test_rows_of_classes_have_the_mean_weight():
    target = with_rows_of_classes(Target(np.array([0.0, 0.0]), np.array([1.0, 3.0])), (1, 2))
    assert target.y.tolist() == [0.0, 0.0, 1.0, 2.0]
    assert target.weight.tolist() == [1.0, 3.0, 2.0, 2.0]


@pytest.mark.parametrize("objective", ["softmax", "one_vs_all", Softmax(vector_leaves=True)], ids=str)
@pytest.mark.parametrize(
    "params",
    [{}, {"boosting": "ordered"}, {"leaf_steps": 3}, {"sampling": Uniform(by="classes"), "subsample": 0.5}],
    ids=str,
)
def test_a_class_without_rows_keeps_its_initial_score(objective, params):
    fitted = SapwoodClassifier(n_estimators=10, classes=THREE, objective=objective, **params)
    fitted.fit(X, LABELS, eval_set=(X[:3], THREE))
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    scores = fitted.predict_raw(X)
    np.testing.assert_array_equal(scores[:, 1], fitted.model_.base_scores[1])
    odds = 1 / 200 if objective == "one_vs_all" else 1 / 201
    assert fitted.model_.base_scores[1] == pytest.approx(np.log(odds))
    assert fitted.score(X, LABELS) > 0.95
    assert np.isfinite(fitted.evals_result_["validation"]["log_loss"]).all()


def test_functions_of_several_classes_leave_unseen_classes_alone():
    loss = GradientLoss(lambda y, f: (f, np.ones_like(f)), constant=1.0)
    fitted = fit(LABELS, classes=THREE, objective=loss)
    np.testing.assert_array_equal(fitted.predict_raw(X)[:, 1], 1.0)


def test_classes_that_all_occur_change_nothing():
    three = np.array(THREE)[np.digitize(X[:, 0], [-0.5, 0.5])]
    assert fit(three, classes=THREE).model_.fingerprint() == fit(three).model_.fingerprint()


def test_rows_of_weight_0_do_not_count():
    weight = (LABELS == "a").astype(float)
    with pytest.warns(SapwoodWarning, match="one class"):
        fitted = SapwoodClassifier().fit(X, LABELS, sample_weight=weight)
    assert fitted.classes_.tolist() == ["a", "c"]
    assert fitted.predict_proba(X)[0, 0] > 0.99


def test_a_continued_model_keeps_its_classes():
    first = fit(LABELS, classes=THREE)
    second = SapwoodClassifier(n_estimators=3).fit(X, ["a"] * 200, init_model=first)
    assert second.classes_.tolist() == ["a", "b", "c"]
    assert second.n_iter_ == 13
    with pytest.raises(ParameterError, match="but those of init_model are"):
        SapwoodClassifier(classes=["a", "b"]).fit(X, LABELS, init_model=first)


@pytest.mark.parametrize("classes", [[], ["a"], ["a", "a", "c"], [["a", "b"]]])
def test_classes_are_a_list_of_different_labels(classes):
    with pytest.raises((ParameterError, InputError, TypeError)):
        fit(LABELS, classes=classes)


def test_labels_beside_the_classes_are_refused():
    with pytest.raises(InputError, match="'c', which is none of the classes 'a', 'b'"):
        fit(LABELS, classes=["a", "b"])


def test_numbers_have_no_classes():
    with pytest.raises(ParameterError, match="classes is not supported with regression"):
        sapwood.train({"classes": [0, 1]}, X, X[:, 0])
    with pytest.raises(TypeError, match="classes"):
        SapwoodRegressor(classes=[0, 1])
