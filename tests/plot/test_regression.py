"""Plots of regression models."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.errors import ParameterError
from sapwood.objectives import Quantile


def test_points_are_predictions_and_residuals(houses):
    X, y, model = houses
    ax = sapwood.plot.residuals(model, X, y)
    predicted = model.predict(X)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack([predicted, y - predicted]))
    rmse = np.sqrt(np.mean((y - predicted) ** 2))
    assert f"RMSE {rmse:.4g}" in ax.get_title(loc="left")


def test_rows_of_weight_zero_are_left_out(houses):
    X, y, model = houses
    ax = sapwood.plot.residuals(model, X, y, sample_weight=np.arange(500) < 100)
    assert len(ax.collections[0].get_offsets()) == 100


def test_a_model_of_several_quantiles_needs_an_output(houses):
    X, y, _ = houses
    model = sapwood.SapwoodRegressor(n_estimators=3, objective=Quantile([0.1, 0.9])).fit(X, y)
    with pytest.raises(ParameterError, match="predicts 2 values per row: pass output=0"):
        sapwood.plot.residuals(model, X, y)
    sapwood.plot.residuals(model, X, y, output=1)
    sapwood.plot.residuals(model.model_, X, y, output=0)


@pytest.mark.filterwarnings("ignore::sapwood.errors.NoSplitWarning")
def test_a_constant_prediction_and_few_rows_are_plotted(houses):
    X, y, model = houses
    sapwood.plot.residuals(model, X[:1], y[:1]).figure.canvas.draw()
    constant = sapwood.SapwoodRegressor(n_estimators=1).fit(np.zeros((400, 1)), np.arange(400.0))
    sapwood.plot.residuals(constant, np.zeros((4000, 1)), np.arange(4000.0)).figure.canvas.draw()
