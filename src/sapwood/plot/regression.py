"""Residuals of regression models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.fitted_model import REGRESSION, FittedModel
from sapwood.params.validators import is_integer
from sapwood.plot.axes import BLUE, VERMILION, clean, get_axes, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALLER = "plot.residuals"
POINTS_SHOWN = 3000  # above, hexagons show how many rows there are
MIN_BAND_ROWS = 30


def residuals(
    model: Any, X: Any, y: Any, *, output: int | None = None, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot target minus prediction against the prediction.

    A line shows the median of the residuals over tenths of the predictions, a band between the lines of the 10th and
    90th percentiles. A median away from zero means predictions that are too low (above) or too high (below).

    Parameters
    ----------
    model : estimator or Model
        A regression model.
    X, y : table and numbers
        Rows that were not used for training.
    output : int, optional
        Which of several predictions per row to plot, as of several quantiles.
    sample_weight : array-like, optional
        Weight of each row; rows of weight 0 are left out.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    predicted, y = _predict(model, X, y, output, sample_weight)
    residual = y - predicted
    ax = get_axes(ax, (6.4, 4.6), CALLER)
    if len(residual) > POINTS_SHOWN:
        shape = ax.hexbin(predicted, residual, gridsize=55, mincnt=1, bins="log", cmap="Blues", linewidths=0.1)
        ax.figure.colorbar(shape, ax=ax, label="rows", shrink=0.8)
    else:
        ax.scatter(predicted, residual, s=10, color=BLUE, alpha=0.45, linewidths=0)
    ax.axhline(0.0, color="#808080", linewidth=1.0)
    _draw_band(ax, predicted, residual)
    rmse, mae = float(np.sqrt(np.mean(residual**2))), float(np.mean(np.abs(residual)))
    ax.set(xlabel="prediction", ylabel="residual (target − prediction)")
    ax.set_title(f"Residuals (RMSE {number(rmse)}, MAE {number(mae)})", loc="left")
    clean(ax)
    return ax


def _predict(model: Any, X: Any, y: Any, output: int | None, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    fitted = FittedModel.of(model, CALLER)
    if fitted.task != REGRESSION:
        raise ParameterError(
            f"{CALLER} is for regression models; for a classifier use sapwood.plot.calibration or confusion_matrix"
        )
    predicted = fitted.predict(X)
    if predicted.ndim == 2:
        n_outputs = predicted.shape[1]
        if not is_integer(output) or not 0 <= int(output or 0) < n_outputs:
            raise ParameterError(f"{CALLER}: the model predicts {n_outputs} values per row: pass output=0 or another")
        predicted = predicted[:, int(output or 0)]
    target = fitted.target(y, len(predicted), CALLER)
    weight = fitted.weight(sample_weight, len(predicted))
    return (predicted, target) if weight is None else (predicted[weight > 0], target[weight > 0])


def _draw_band(ax: Axes, predicted: np.ndarray, residual: np.ndarray) -> None:
    """Draw the median, 10th and 90th percentile of the residuals over tenths of the predictions."""
    n_bands = min(10, len(residual) // MIN_BAND_ROWS)
    if n_bands < 2 or np.ptp(predicted) == 0.0:
        return
    parts = np.array_split(np.argsort(predicted, kind="stable"), n_bands)
    center = [float(np.median(predicted[part])) for part in parts]
    low, median, high = np.array([np.quantile(residual[part], [0.1, 0.5, 0.9]) for part in parts]).T
    ax.fill_between(center, low, high, color=VERMILION, alpha=0.15, linewidth=0, label="80 % of the rows")
    ax.plot(center, median, color=VERMILION, marker="o", markersize=3.5, linewidth=1.6, label="median")
    ax.legend(frameon=False, fontsize="small")
