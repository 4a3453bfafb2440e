"""Metrics for classification, computed from probabilities: of class 1 (n,), or of each class (n, classes)."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementwise import log_values
from sapwood.kernels.numeric.sums import fixed_sums
from sapwood.metrics.base import ANY, BINARY, CLASSES, MULTICLASS, MetricInputs
from sapwood.metrics.registry import register

# Lower bound of probabilities, so that one confident error does not make the mean infinite.
MIN_PROBABILITY = 2.0**-52
DEFAULT_CALIBRATION_BINS = 10.0


@register("binary_logloss", "multi_logloss", "logloss", tasks=CLASSES)
def log_loss(inputs: MetricInputs) -> float:
    """Mean of -log p, p the predicted probability of the true class."""
    true = np.maximum(_true_class_probability(inputs), MIN_PROBABILITY)
    return inputs.mean(-inputs.apply(log_values, true))


@register(tasks=ANY)
def cross_entropy(inputs: MetricInputs) -> float:
    """Mean of -y log p - (1 - y) log(1 - p) for targets that are probabilities."""
    p = np.clip(inputs.prediction, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    log_p, log_q = inputs.apply(log_values, p), inputs.apply(log_values, 1.0 - p)
    return inputs.mean(-inputs.y * log_p - (1.0 - inputs.y) * log_q)


@register("brier_score", tasks=CLASSES)
def brier(inputs: MetricInputs) -> float:
    """Mean of (p - y)^2; with more than two classes, mean of the sum over all classes."""
    if inputs.prediction.ndim == 1:
        return inputs.mean(np.square(inputs.prediction - inputs.y))
    n_classes = inputs.prediction.shape[1]
    total = np.zeros(len(inputs.y))
    for k in range(n_classes):
        total += np.square(inputs.prediction[:, k] - (inputs.y == k))
    return inputs.mean(total)


@register(tasks=CLASSES, greater_is_better=True, params=(0.5,))
def accuracy(inputs: MetricInputs) -> float:
    """Fraction of rows whose most probable class is the true one; of two, class 1 if above the threshold (0.5)."""
    return inputs.mean((predicted_class(inputs, inputs.params[0]) == inputs.y).astype(np.float64))


@register("binary_error", "multi_error", tasks=CLASSES, params=(0.5,))
def error(inputs: MetricInputs) -> float:
    """1 - accuracy."""
    return 1.0 - accuracy(inputs)


@register("top_k", tasks=MULTICLASS, greater_is_better=True, params=(2.0,))
def top_k_accuracy(inputs: MetricInputs) -> float:
    """Fraction of rows whose true class is among the k (2) most probable ones; of equal ones, the last count first."""
    true, code = _true_class_probability(inputs)[:, None], inputs.y[:, None]
    is_last = np.arange(inputs.prediction.shape[1]) > code
    before = (inputs.prediction > true) | ((inputs.prediction == true) & is_last)
    return inputs.mean((before.sum(axis=1) < inputs.params[0]).astype(np.float64))


@register("expected_calibration_error", tasks=CLASSES, params=(DEFAULT_CALIBRATION_BINS,))
def ece(inputs: MetricInputs) -> float:
    """Expected calibration error: mean of |mean y - mean p| over bins of equal width (10), weighted by their rows.

    p is the probability of class 1; with several classes it is that of the most probable one, and y whether that is
    the true one.
    """
    p, y = inputs.prediction, inputs.y
    if p.ndim == 2:
        p, y = p.max(axis=1), (np.argmax(p, axis=1) == y).astype(np.float64)
    n_bins = max(1, int(inputs.params[0]))
    bin_of_row = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    weight = np.ones(len(y)) if inputs.weight is None else inputs.weight
    rows_of_bin = [bin_of_row == k for k in range(n_bins)]
    terms = [((p - y)[rows], weight[rows]) for rows in rows_of_bin]
    *differences, all_weight = fixed_sums([*terms, (weight, None)], inputs.run, inputs.workers)
    total = 0.0
    for difference in differences:
        total += abs(difference)
    return total / all_weight if all_weight > 0.0 else float("nan")


@register(tasks=BINARY)
def hinge(inputs: MetricInputs) -> float:
    """Mean of max(0, 1 - sF) with the score F = 2p - 1 of a probability p, s = -1 or 1."""
    margin = (2.0 * inputs.y - 1.0) * (2.0 * class_1_probability(inputs) - 1.0)
    return inputs.mean(np.maximum(0.0, 1.0 - margin))


def predicted_class(inputs: MetricInputs, threshold: float) -> np.ndarray:
    """Return the code of the predicted class of each row: the most probable one, or of two, 1 above ``threshold``."""
    if inputs.prediction.ndim == 1:
        return (inputs.prediction > threshold).astype(np.int64)
    return np.argmax(inputs.prediction, axis=1)


def class_probabilities(inputs: MetricInputs) -> np.ndarray:
    """Return the probability of each class (n, classes)."""
    p = inputs.prediction
    return p if p.ndim == 2 else np.column_stack([1.0 - p, p])


def class_1_probability(inputs: MetricInputs) -> np.ndarray:
    """Return the probability of class 1 (n,)."""
    return inputs.prediction if inputs.prediction.ndim == 1 else inputs.prediction[:, 1]


def _true_class_probability(inputs: MetricInputs) -> np.ndarray:
    if inputs.prediction.ndim == 1:
        return np.where(inputs.y == 1.0, inputs.prediction, 1.0 - inputs.prediction)
    return inputs.prediction[np.arange(len(inputs.y)), inputs.y.astype(np.int64)]
