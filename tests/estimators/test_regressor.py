"""The regressor: predictions, losses and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import LinearRegression

from sapwood import SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.objectives import Quantile

FEW = {"n_estimators": 10, "min_child_samples": 5}


def example(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    X = random.uniform(-1, 1, size=(n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2


def test_one_full_step_without_penalty_meets_the_means_of_a_step_function():
    X = np.repeat([1.0, 2.0, 3.0], 4)[:, None]
    y = np.repeat([10.0, -2.0, 5.0], 4)
    exact = SapwoodRegressor(n_estimators=1, learning_rate=1.0, reg_lambda=0.0, min_child_samples=1)
    assert np.allclose(exact.fit(X, y).predict(X), y, rtol=0, atol=1e-6)


def test_a_smooth_function_is_learned():
    X, y = example()
    fitted = SapwoodRegressor(min_child_samples=5).fit(X, y)
    assert fitted.score(*example()) > 0.98


def test_predictions_follow_the_scale_of_the_target():
    X, y = example()
    small, large = (SapwoodRegressor(**FEW).fit(X, scale * y).predict(X) for scale in (1.0, 1024.0))
    assert np.allclose(1024.0 * small, large, rtol=1e-6)


def test_a_target_that_is_not_a_number_is_refused_with_its_row():
    X, y = example()
    y[7] = np.nan
    with pytest.raises(InputError, match="row 7"):
        SapwoodRegressor().fit(X, y)


def test_texts_as_targets_are_refused():
    with pytest.raises((ValueError, TypeError)):
        SapwoodRegressor().fit(np.arange(4.0)[:, None], ["a", "b", "c", "d"])


def test_a_loss_for_classes_is_refused():
    X, y = example()
    with pytest.raises(ParameterError, match="objective='logistic' is not supported with regression"):
        SapwoodRegressor(objective="logistic").fit(X, y)


def test_counts_are_predicted_above_zero():
    X, y = example()
    fitted = SapwoodRegressor(objective="poisson", **FEW).fit(X, np.round(y**2))
    assert fitted.predict(X).min() > 0.0
    assert np.allclose(np.exp(fitted.predict_raw(X)), fitted.predict(X))


def test_a_loss_object_carries_its_settings():
    X, y = example()
    low, high = (SapwoodRegressor(objective=Quantile(level), **FEW).fit(X, y).predict(X).mean() for level in (0.1, 0.9))
    assert low < y.mean() < high


def test_a_target_out_of_the_range_of_the_loss_is_refused_with_its_row():
    X, y = example()
    with pytest.raises(InputError, match="objective 'poisson': the target of row"):
        SapwoodRegressor(objective="poisson").fit(X, y - 10.0)


def test_it_can_be_stacked():
    X, y = example()
    stack = StackingRegressor([("trees", SapwoodRegressor(**FEW)), ("line", LinearRegression())], cv=2)
    assert stack.fit(X, y).score(X, y) > 0.8
