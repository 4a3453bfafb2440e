"""Dropping the rows that fit worst."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.practice import trim


def test_wrong_labels_are_among_the_dropped_rows():
    """U4: ten labels of 569 are flipped; most are found."""
    X, y = load_breast_cancer(return_X_y=True)
    wrong = np.arange(0, 569, 60)
    noisy = y.copy()
    noisy[wrong] = 1 - noisy[wrong]
    result = trim(SapwoodClassifier(n_estimators=30), X, noisy, fraction=0.04)
    assert np.isin(wrong, result.dropped["row"]).mean() >= 0.8
    assert (np.diff(result.dropped["loss"]) <= 0.0).all()
    assert result.kept.sum() == 569 - len(result.dropped["row"])
    assert list(result.to_frame().columns) == ["row", "y", "prediction", "loss"]


def test_the_model_without_outliers_is_better():
    """U4: one target of fifty is off by 20."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 3))
    truth = np.sin(6.0 * X[:, 0]) + X[:, 1]
    y = truth + 0.1 * rng.normal(size=1500)
    y[:1000:50] += 20.0
    result = trim(SapwoodRegressor(n_estimators=40), X[:1000], y[:1000], fraction=0.02)
    assert sorted(result.dropped["row"].tolist()) == list(range(0, 1000, 50))
    untrimmed = SapwoodRegressor(n_estimators=40).fit(X[:1000], y[:1000])
    errors = [np.square(model.predict(X[1000:]) - truth[1000:]).mean() for model in (result.estimator, untrimmed)]
    assert errors[0] < 0.2 * errors[1]


def test_the_estimator_is_fitted_on_the_kept_rows_with_their_weights():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(200, 2)), rng.normal(size=200), rng.uniform(1.0, 2.0, 200)
    result = trim(SapwoodRegressor(n_estimators=5), X, y, fraction=0.1, sample_weight=weight)
    again = SapwoodRegressor(n_estimators=5).fit(X[result.kept], y[result.kept], sample_weight=weight[result.kept])
    assert result.estimator.model_.fingerprint() == again.model_.fingerprint()


@pytest.mark.parametrize("fraction", [0.0, 1.0, 5])
def test_a_fraction_out_of_range_is_an_error(fraction):
    with pytest.raises(ParameterError, match="fraction must be above 0 and below 1"):
        trim(SapwoodRegressor(), np.zeros((10, 1)), np.zeros(10), fraction=fraction)
