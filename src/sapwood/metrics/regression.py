"""Metrics of numbers."""

from __future__ import annotations

import math

import numpy as np

from sapwood.kernels.numeric.elementary import exp_values, log1p_values, log_values
from sapwood.metrics.base import REGRESSION, MetricInputs
from sapwood.metrics.registry import register

# A prediction of 0 is taken as this where its logarithm is needed.
MIN_MEAN = 1e-300


@register("mean_squared_error", "l2", tasks=REGRESSION)
def mse(answers: MetricInputs) -> float:
    """Mean of (y - prediction)^2."""
    return answers.mean(np.square(answers.prediction - answers.y))


@register("root_mean_squared_error", tasks=REGRESSION)
def rmse(answers: MetricInputs) -> float:
    """Square root of the mean of (y - prediction)^2."""
    return math.sqrt(mse(answers))


@register("mean_absolute_error", "l1", tasks=REGRESSION)
def mae(answers: MetricInputs) -> float:
    """Mean of |y - prediction|."""
    return answers.mean(np.abs(answers.prediction - answers.y))


@register("mean_absolute_percentage_error", tasks=REGRESSION)
def mape(answers: MetricInputs) -> float:
    """Mean of |y - prediction| / |y|."""
    answers.require("mape", answers.y != 0.0, "a target other than 0", "use 'mae'")
    return answers.mean(np.abs(answers.prediction - answers.y) / np.abs(answers.y))


@register("mean_squared_log_error", tasks=REGRESSION)
def msle(answers: MetricInputs) -> float:
    """Mean of (log(1 + y) - log(1 + prediction))^2."""
    fits = (answers.y > -1.0) & (answers.prediction > -1.0)
    answers.require("msle", fits, "a number above -1 for both", "use objective='msle'")
    return answers.mean(
        np.square(answers.apply(log1p_values, answers.prediction) - answers.apply(log1p_values, answers.y))
    )


@register(tasks=REGRESSION, greater_is_better=True)
def r2(answers: MetricInputs) -> float:
    """1 minus the squared error over that of the mean; where the targets are all equal, 1 if they are met, else 0."""
    unexplained = mse(answers)
    total = answers.mean(np.square(answers.y - answers.mean(answers.y)))
    if total == 0.0:
        return 1.0 if unexplained == 0.0 else 0.0
    return 1.0 - unexplained / total


@register("pinball", "mean_pinball_loss", tasks=REGRESSION, numbers=(0.5,))
def quantile(answers: MetricInputs) -> float:
    """Mean of the pinball loss, over the levels too; with several levels the prediction has a column for each."""
    total = 0.0
    for k, level in enumerate(answers.numbers):
        column = answers.prediction if answers.prediction.ndim == 1 else answers.prediction[:, k]
        over = column - answers.y
        total += answers.mean(np.where(over > 0.0, (1.0 - level) * over, -level * over))
    return total / len(answers.numbers)


@register("poisson", "mean_poisson_deviance", tasks=REGRESSION)
def poisson_deviance(answers: MetricInputs) -> float:
    """Mean of 2 (y log(y / prediction) - y + prediction)."""
    y, prediction = answers.y, _means(answers, "poisson_deviance", answers.y >= 0.0)
    ratio = answers.apply(log_values, np.where(y > 0.0, y, 1.0) / prediction)
    return answers.mean(2.0 * (np.where(y > 0.0, y * ratio, 0.0) - y + prediction))


@register("gamma", "mean_gamma_deviance", tasks=REGRESSION)
def gamma_deviance(answers: MetricInputs) -> float:
    """Mean of 2 (log(prediction / y) + y / prediction - 1)."""
    prediction = _means(answers, "gamma_deviance", answers.y > 0.0)
    ratio = answers.y / prediction
    return answers.mean(2.0 * (ratio - 1.0 - answers.apply(log_values, ratio)))


@register("tweedie", "mean_tweedie_deviance", tasks=REGRESSION, numbers=(1.5,))
def tweedie_deviance(answers: MetricInputs) -> float:
    """Mean deviance of a Tweedie distribution with a power between 1 and 2."""
    power = answers.numbers[0]
    a, b = 1.0 - power, 2.0 - power
    y, prediction = answers.y, _means(answers, "tweedie_deviance", answers.y >= 0.0)
    log_mean = answers.apply(log_values, prediction)
    own = answers.apply(exp_values, b * answers.apply(log_values, np.where(y > 0.0, y, 1.0)))
    terms = np.where(y > 0.0, own, 0.0) / (a * b) - y * answers.apply(exp_values, a * log_mean) / a
    return answers.mean(2.0 * (terms + answers.apply(exp_values, b * log_mean) / b))


def _means(answers: MetricInputs, name: str, target_fits: np.ndarray) -> np.ndarray:
    fits = target_fits & (answers.prediction >= 0.0)
    answers.require(
        name, fits, "a target in the range of the distribution and a prediction above 0", "use its objective"
    )
    return np.maximum(answers.prediction, MIN_MEAN)
