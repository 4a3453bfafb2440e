"""Blending models by out-of-fold predictions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.practice import blend
from sapwood.practice.blending import best_average, best_mixture


def test_the_best_average_by_hand():
    """Errors (1, 0) and (0, 2): w² + 4 (1 - w)² is least at w = 0.8."""
    np.testing.assert_allclose(best_average(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2)), [0.8, 0.2], atol=1e-6)


def test_a_model_that_only_adds_error_has_no_weight():
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    np.testing.assert_allclose(best_average(np.stack([y + 0.1, y + 0.5]), y), [1.0, 0.0], atol=1e-6)


def test_the_best_mixture_by_hand():
    """p (0.9, 0.2) and (0.2, 0.9): by symmetry half each."""
    np.testing.assert_allclose(best_mixture(np.array([[0.9, 0.2], [0.2, 0.9]])), [0.5, 0.5], atol=1e-6)


def test_the_blend_of_regressors_is_no_worse_than_any_of_them():
    """U4."""
    X, y = load_diabetes(return_X_y=True)
    result = blend({"trees": SapwoodRegressor(n_estimators=40, learning_rate=0.05), "ridge": Ridge(0.1)}, X, y)
    assert result.losses["blend"] <= min(result.losses["trees"], result.losses["ridge"])
    assert sum(result.weights.values()) == pytest.approx(1.0)
    assert result.correlations.shape == (2, 2)
    np.testing.assert_allclose(
        result.estimator.predict(X),
        sum(w * m.predict(X) for w, m in zip(result.weights.values(), result.estimator.estimators_, strict=True)),
    )
    assert "blend" in str(result)


def test_the_blend_of_classifiers_is_no_worse_than_any_of_them():
    """U4."""
    X, y = load_breast_cancer(return_X_y=True)
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    result = blend([("trees", SapwoodClassifier(n_estimators=30)), ("linear", linear)], X, np.array(list("mb"))[y])
    assert result.losses["blend"] <= min(result.losses["trees"], result.losses["linear"])
    assert result.estimator.predict(X[:1])[0] in ("m", "b")


def test_models_that_cannot_be_blended_are_errors():
    with pytest.raises(ParameterError, match="at least two models, got 1"):
        blend({"a": Ridge()}, np.zeros((4, 1)), np.zeros(4))
    with pytest.raises(ParameterError, match="classifiers or regressors, not both"):
        blend({"a": Ridge(), "b": LogisticRegression()}, np.zeros((4, 1)), np.zeros(4))
