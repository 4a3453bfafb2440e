"""A loss written in one line trains the trees of the loss that is built in."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from sapwood import SapwoodClassifier, SapwoodRegressor

GROWTHS = ["leafwise", "levelwise", "symmetric"]


def classes() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(3000, 8, n_informative=5, flip_y=0.1, random_state=0)


def assert_same_trees(one, other) -> None:
    first, second = one.model_.ensemble, other.model_.ensemble
    assert np.array_equal(first.tree_start, second.tree_start)
    assert np.array_equal(first.feature, second.feature)
    assert np.array_equal(first.threshold, second.threshold)
    assert np.array_equal(first.missing_left, second.missing_left)
    assert np.abs(first.value - second.value).max() <= 1e-6
    assert np.abs(one.model_.base_scores - other.model_.base_scores).max() <= 1e-6


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_logistic_loss_in_one_line_trains_the_same_trees(growth):
    X, y = classes()
    params = {"precision": "wide", "growth": growth, "n_estimators": 40}
    built_in = SapwoodClassifier(**params).fit(X, y)
    one_line = SapwoodClassifier(objective=lambda y, f: np.logaddexp(0, f) - y * f, **params).fit(X, y)
    assert_same_trees(built_in, one_line)
    assert np.allclose(built_in.predict_proba(X), one_line.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("growth", GROWTHS)
def test_squared_error_in_one_line_trains_the_same_trees(growth):
    X, _ = classes()
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    params = {"precision": "wide", "growth": growth, "n_estimators": 40}
    built_in = SapwoodRegressor(**params).fit(X, y)
    assert_same_trees(built_in, SapwoodRegressor(objective=lambda y, f: (y - f) ** 2 / 2, **params).fit(X, y))


def test_weights_count_alike():
    X, y = classes()
    weight = np.random.default_rng(0).gamma(1.0, size=len(y))
    built_in = SapwoodClassifier(precision="wide", n_estimators=20).fit(X, y, sample_weight=weight)
    one_line = SapwoodClassifier(
        objective=lambda y, f: np.logaddexp(0, f) - y * f, precision="wide", n_estimators=20
    ).fit(X, y, sample_weight=weight)
    assert_same_trees(built_in, one_line)
