from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor, load, train
from sapwood.errors import ParameterError
from sapwood.model.class_predictions import class_probabilities, most_probable_classes

X = np.random.default_rng(0).normal(size=(300, 3))
LABELS = {
    "two": np.where(X[:, 0] > 0, "yes", "no"),
    "three": np.digitize(X[:, 0], [-0.5, 0.5]),
    "booleans": X[:, 1] > 0,
}


def test_probabilities_of_two_classes_are_those_of_the_second_and_the_rest():
    both = class_probabilities(np.array([0.25, 1.0]), np.array(["a", "b"]))
    assert both.tolist() == [[0.75, 0.25], [0.0, 1.0]]
    assert most_probable_classes(both, np.array(["a", "b"])).tolist() == ["a", "b"]


@pytest.mark.parametrize("labels", LABELS)
def test_a_loaded_model_predicts_what_the_classifier_predicts(labels, tmp_path):
    fitted = SapwoodClassifier(n_estimators=4).fit(X, LABELS[labels])
    fitted.save(tmp_path / "m.sapwood")
    model = load(tmp_path / "m.sapwood")
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X, iterations=2), fitted.predict(X, iterations=2))
    for method in ("staged_predict", "staged_predict_proba"):
        np.testing.assert_array_equal(list(getattr(model, method)(X)), list(getattr(fitted, method)(X)))
    predictor = model.predictor()
    assert [predictor.predict(row) for row in X[:50]] == fitted.predict(X[:50]).tolist()
    np.testing.assert_array_equal([predictor.predict_proba(row) for row in X[:50]], fitted.predict_proba(X[:50]))


def test_the_values_of_the_link_have_a_name_of_their_own():
    model = train({"objective": "logistic", "n_estimators": 3}, X, LABELS["two"])
    np.testing.assert_array_equal(model.predict_response(X), model.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(list(model.staged_response(X))[-1], model.predict_response(X))


def test_a_regression_has_no_probabilities():
    model = SapwoodRegressor(n_estimators=2).fit(X, X[:, 0]).model_
    for call in (model.predict_proba, model.staged_predict_proba):
        with pytest.raises(ParameterError, match=r"predicts numbers.*use predict"):
            call(X)
    with pytest.raises(ParameterError, match=r"predicts numbers.*use predict"):
        model.predictor().predict_proba(X[0])
