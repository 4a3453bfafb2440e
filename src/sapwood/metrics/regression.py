"""Metrics for regression."""

from __future__ import annotations

import math

import numpy as np

from sapwood.kernels.numeric.elementwise import exp_values, log1p_values, log_values
from sapwood.kernels.numeric.rank_sums import lower_weights
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.metrics.base import BINARY, REGRESSION, MetricInputs
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


@register("root_mean_squared_log_error", tasks=REGRESSION)
def rmsle(inputs: MetricInputs) -> float:
    """Square root of the mean of (log(1 + y) - log(1 + prediction))^2."""
    return math.sqrt(msle(inputs))


@register(tasks=REGRESSION)
def smape(inputs: MetricInputs) -> float:
    """Mean of 2 |y - prediction| / (|y| + |prediction|), 0 where both are 0: between 0 and 2."""
    size = np.abs(inputs.y) + np.abs(inputs.prediction)
    return inputs.mean(2.0 * np.abs(inputs.prediction - inputs.y) / np.where(size > 0.0, size, 1.0))


@register("median_absolute_error", tasks=REGRESSION, needs_all_rows=True)
def medae(inputs: MetricInputs) -> float:
    """Median of |y - prediction|, the mean of both neighbours where it lies between two rows."""
    if len(inputs.y) == 0:
        return float("nan")
    error = np.abs(inputs.prediction - inputs.y)
    order = np.argsort(error)
    error, cumulated = error[order], np.cumsum(inputs.integer_weights()[order])
    half, rest = divmod(int(cumulated[-1]), 2)
    low = int(np.searchsorted(cumulated, half + rest))
    high = low if rest else int(np.searchsorted(cumulated, half, side="right"))
    return float((error[low] + error[high]) / 2.0)


@register(tasks=REGRESSION)
def max_error(inputs: MetricInputs) -> float:
    """Maximum of |y - prediction|; weights above 0 make no difference."""
    error = np.abs(inputs.prediction - inputs.y)
    if inputs.weight is not None:
        error = error[np.asarray(inputs.weight) > 0.0]
    _, largest = inputs.workers.extrema(error)
    return largest if largest >= 0.0 else float("nan")


@register(tasks=REGRESSION, params=(1.0,))
def huber(inputs: MetricInputs) -> float:
    """Mean of r^2 / 2 for residuals |r| up to delta (1), delta (|r| - delta / 2) beyond."""
    delta, error = inputs.params[0], np.abs(inputs.prediction - inputs.y)
    return inputs.mean(np.where(error <= delta, 0.5 * error * error, delta * (error - 0.5 * delta)))


@register("mphe", tasks=REGRESSION, params=(1.0,))
def pseudo_huber(inputs: MetricInputs) -> float:
    """Mean of delta^2 (sqrt(1 + (r / delta)^2) - 1) for residuals r, delta = 1."""
    delta = inputs.params[0]
    return inputs.mean(delta * delta * (np.sqrt(1.0 + np.square((inputs.prediction - inputs.y) / delta)) - 1.0))


@register(tasks=REGRESSION, params=(0.5,))
def expectile(inputs: MetricInputs) -> float:
    """Mean of alpha r^2 for residuals r = y - prediction above 0, (1 - alpha) r^2 below, alpha = 0.5."""
    over, alpha = inputs.prediction - inputs.y, inputs.params[0]
    return inputs.mean(np.where(over > 0.0, 1.0 - alpha, alpha) * np.square(over))


@register("c_index", "concordance_index", tasks=REGRESSION | BINARY, greater_is_better=True, needs_all_rows=True)
def concordance(inputs: MetricInputs) -> float:
    """Fraction of the pairs of rows with different targets that predictions order alike, ties counted half.

    It is the AUC for two classes, and (1 + Kendall's tau) / 2 without ties; NaN if all targets are equal.
    """
    if len(inputs.y) == 0 or np.isnan(inputs.prediction).any():
        return float("nan")
    weight = inputs.integer_weights()
    order = np.argsort(inputs.y)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(inputs.y[order]) != 0.0]))
    by_target = np.add.reduceat(weight[order], starts)
    comparable = 2.0 * fixed_sum(by_target, np.cumsum(by_target) - by_target, inputs.run)
    if comparable == 0.0:
        return float("nan")
    weight, lower = lower_weights(inputs.y, inputs.prediction, weight)
    return fixed_sum(weight, lower, inputs.run) / comparable


@register("r2_score", tasks=REGRESSION, greater_is_better=True)
def r2(inputs: MetricInputs) -> float:
    """1 - (squared error) / (squared error of the mean); for constant targets 1 if all are predicted, else 0."""
    return _explained(mse(inputs), inputs)


@register("explained_variance_score", tasks=REGRESSION, greater_is_better=True)
def explained_variance(inputs: MetricInputs) -> float:
    """1 - (variance of the residuals) / (variance of y); for constant targets as ``r2``."""
    residual = inputs.y - inputs.prediction
    unexplained = inputs.mean(np.square(residual - inputs.mean(residual)))
    return _explained(unexplained, inputs)


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


def _explained(unexplained: float, inputs: MetricInputs) -> float:
    """Return 1 - ``unexplained`` / (variance of y)."""
    total = inputs.mean(np.square(inputs.y - inputs.mean(inputs.y)))
    if total == 0.0:
        return 1.0 if unexplained == 0.0 else 0.0
    return 1.0 - unexplained / total
