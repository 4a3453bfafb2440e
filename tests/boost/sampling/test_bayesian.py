"""The Bayesian bootstrap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import Bayesian, SapwoodRegressor
from sapwood.params.declaration import BoostingParams
from tests.boost.sampling.samples import SETTINGS, draw, ids


def test_bayesian_weights_are_exponential():
    weight = draw(SETTINGS["bayesian"], ids(100_000)).weight
    assert weight.mean() == pytest.approx(1.0, abs=0.02)
    assert np.mean(weight > 1.0) == pytest.approx(math.exp(-1.0), abs=0.01)
    squared = draw(BoostingParams(sampling=Bayesian(2.0)), ids(100_000)).weight
    np.testing.assert_allclose(squared, weight**2, rtol=1e-12)


def test_a_median_leaf_counts_rows_as_the_sampling_weighs_them():
    """A leaf of a loss with corners takes the quantile of its rows by their sampled weights."""
    y = np.arange(200.0)
    X = np.zeros((200, 1))
    fitted = SapwoodRegressor(
        objective="absolute", sampling=Bayesian(3.0), n_estimators=1, learning_rate=1.0, random_state=4
    ).fit(X, y)  # fmt: skip
    weight = draw(BoostingParams(sampling=Bayesian(3.0)), ids(200), seed=4).weight
    order = np.cumsum(weight[np.argsort(y)])
    median = y[np.searchsorted(order, order[-1] / 2)]
    assert abs(fitted.predict(X[:1])[0] - median) <= 1.0


def test_the_highest_temperature_trains():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    assert np.isfinite(SapwoodRegressor(sampling=Bayesian(40.0)).fit(X, X[:, 0]).predict(X)).all()
