"""Metrics for regression."""

from __future__ import annotations

import math

import numpy as np

from sapwood.kernels.numeric.elementwise import exp_values, log1p_values, log_values
from sapwood.metrics.base import REGRESSION, MetricInputs
from sapwood.metrics.registry import register

# Replaces a prediction of 0, so that its logarithm is finite.
MIN_MEAN = 1e-300


@register("mean_squared_error", "l2", tasks=REGRESSION)
def mse(inputs: MetricInputs) -> float:
    """Mean of (y - prediction)^2."""
    return inputs.mean(np.square(inputs.prediction - inputs.y))


@register("root_mean_squared_error", tasks=REGRESSION)
def rmse(inputs: MetricInputs) -> float:
    """Square root of the mean of (y - prediction)^2."""
    return math.sqrt(mse(inputs))


@register("mean_absolute_error", "l1", tasks=REGRESSION)
def mae(inputs: MetricInputs) -> float:
    """Mean of |y - prediction|."""
    return inputs.mean(np.abs(inputs.prediction - inputs.y))


@register("mean_absolute_percentage_error", tasks=REGRESSION)
def mape(inputs: MetricInputs) -> float:
    """Mean of |y - prediction| / |y|."""
    inputs.require("mape", inputs.y != 0.0, "a target other than 0", "use 'mae'")
    return inputs.mean(np.abs(inputs.prediction - inputs.y) / np.abs(inputs.y))


@register("mean_squared_log_error", tasks=REGRESSION)
def msle(inputs: MetricInputs) -> float:
    """Mean of (log(1 + y) - log(1 + prediction))^2."""
    is_valid = (inputs.y > -1.0) & (inputs.prediction > -1.0)
    inputs.require("msle", is_valid, "a number above -1 for both", "use objective='msle'")
    return inputs.mean(np.square(inputs.apply(log1p_values, inputs.prediction) - inputs.apply(log1p_values, inputs.y)))


@register(tasks=REGRESSION, greater_is_better=True)
def r2(inputs: MetricInputs) -> float:
    """1 - (squared error) / (squared error of the mean); for constant targets 1 if all are predicted, else 0."""
    unexplained = mse(inputs)
    total = inputs.mean(np.square(inputs.y - inputs.mean(inputs.y)))
    if total == 0.0:
        return 1.0 if unexplained == 0.0 else 0.0
    return 1.0 - unexplained / total


@register("pinball", "mean_pinball_loss", tasks=REGRESSION, params=(0.5,))
def quantile(inputs: MetricInputs) -> float:
    """Mean of the pinball loss over rows and quantiles; several quantiles take one column of predictions each."""
    total = 0.0
    for k, alpha in enumerate(inputs.params):
        column = inputs.prediction if inputs.prediction.ndim == 1 else inputs.prediction[:, k]
        over = column - inputs.y
        total += inputs.mean(np.where(over > 0.0, (1.0 - alpha) * over, -alpha * over))
    return total / len(inputs.params)


@register("poisson", "mean_poisson_deviance", tasks=REGRESSION)
def poisson_deviance(inputs: MetricInputs) -> float:
    """Mean of 2 (y log(y / prediction) - y + prediction)."""
    y, prediction = inputs.y, _positive_means(inputs, "poisson_deviance", inputs.y >= 0.0)
    ratio = inputs.apply(log_values, np.where(y > 0.0, y, 1.0) / prediction)
    return inputs.mean(2.0 * (np.where(y > 0.0, y * ratio, 0.0) - y + prediction))


@register("gamma", "mean_gamma_deviance", tasks=REGRESSION)
def gamma_deviance(inputs: MetricInputs) -> float:
    """Mean of 2 (log(prediction / y) + y / prediction - 1)."""
    prediction = _positive_means(inputs, "gamma_deviance", inputs.y > 0.0)
    ratio = inputs.y / prediction
    return inputs.mean(2.0 * (ratio - 1.0 - inputs.apply(log_values, ratio)))


@register("tweedie", "mean_tweedie_deviance", tasks=REGRESSION, params=(1.5,))
def tweedie_deviance(inputs: MetricInputs) -> float:
    """Mean deviance of the Tweedie distribution with a variance power between 1 and 2."""
    power = inputs.params[0]
    a, b = 1.0 - power, 2.0 - power
    y, prediction = inputs.y, _positive_means(inputs, "tweedie_deviance", inputs.y >= 0.0)
    log_mean = inputs.apply(log_values, prediction)
    y_power = inputs.apply(exp_values, b * inputs.apply(log_values, np.where(y > 0.0, y, 1.0)))
    terms = np.where(y > 0.0, y_power, 0.0) / (a * b) - y * inputs.apply(exp_values, a * log_mean) / a
    return inputs.mean(2.0 * (terms + inputs.apply(exp_values, b * log_mean) / b))


def _positive_means(inputs: MetricInputs, metric: str, is_valid_target: np.ndarray) -> np.ndarray:
    """Return the predictions, none below ``MIN_MEAN``, after a check of targets and predictions."""
    is_valid = is_valid_target & (inputs.prediction >= 0.0)
    allowed = "a target in the range of the distribution and a prediction of at least 0"
    inputs.require(metric, is_valid, allowed, "use its objective")
    return np.maximum(inputs.prediction, MIN_MEAN)
