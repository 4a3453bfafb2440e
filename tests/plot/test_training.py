"""Learning curves."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.errors import InputError, ParameterError
from tests.plot.test_plot import texts


def test_the_best_round_is_marked(people):
    model = people[2]
    ax = sapwood.plot.learning_curve(model)
    curve = model.evals_result_["validation_1"]["log_loss"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve)
    assert f"round {model.best_iteration_}: {min(curve):.4g} on validation_1" in texts(ax)


def test_a_dictionary_of_sets_and_metrics_is_plotted():
    ax = sapwood.plot.learning_curve({"train": {"auc": [0.5, 0.8, 0.7]}, "test": {"auc": [0.4, 0.6, 0.5]}})
    assert "round 2: 0.6 on test" in texts(ax)


def test_the_mean_of_cross_validation_is_plotted(houses):
    X, y, _ = houses
    result = sapwood.cv(sapwood.SapwoodRegressor(n_estimators=5), X, y, cv=2)
    assert f"round {result.best_iteration}" in texts(sapwood.plot.learning_curve(result))


def test_a_model_without_history_is_refused_with_a_remedy(houses):
    with pytest.raises(InputError, match=r"fit with eval_set=\(X_val, y_val\), or set validation_fraction"):
        sapwood.plot.learning_curve(houses[2])
    with pytest.raises(InputError, match="a Model has no history of training: pass the estimator"):
        sapwood.plot.learning_curve(houses[2].model_)
    with pytest.raises(InputError, match="must have the form"):
        sapwood.plot.learning_curve({"auc": [0.5]})


def test_unknown_metrics_and_sets_are_refused(people):
    with pytest.raises(ParameterError, match="metric 'auc' was not evaluated; allowed is one of log_loss"):
        sapwood.plot.learning_curve(people[2], "auc")
    with pytest.raises(ParameterError, match="no set 'test'; allowed are validation_0, validation_1"):
        sapwood.plot.learning_curve(people[2], sets=["test"])
