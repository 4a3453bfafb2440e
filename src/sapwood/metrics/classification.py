"""Metrics for classification, computed from probabilities: of class 1 (n,), or of each class (n, classes)."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementwise import log_values
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.metrics.base import ANY, BINARY, CLASSES, MetricInputs
from sapwood.metrics.registry import register

# Lower bound of probabilities, so that one confident error does not make the mean infinite.
MIN_PROBABILITY = 2.0**-52
WEIGHT_BITS = 62


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
    if inputs.prediction.ndim == 1:
        predicted = (inputs.prediction > inputs.params[0]).astype(np.float64)
    else:
        predicted = np.argmax(inputs.prediction, axis=1).astype(np.float64)
    return inputs.mean((predicted == inputs.y).astype(np.float64))


@register("binary_error", "multi_error", tasks=CLASSES, params=(0.5,))
def error(inputs: MetricInputs) -> float:
    """1 - accuracy."""
    return 1.0 - accuracy(inputs)


@register(tasks=BINARY)
def hinge(inputs: MetricInputs) -> float:
    """Mean of max(0, 1 - sF) with the score F = 2p - 1 of a probability p, s = -1 or 1."""
    margin = (2.0 * inputs.y - 1.0) * (2.0 * _class_1_probability(inputs) - 1.0)
    return inputs.mean(np.maximum(0.0, 1.0 - margin))


@register("roc_auc", tasks=BINARY, greater_is_better=True)
def auc(inputs: MetricInputs) -> float:
    """Area under the ROC curve, ties counted half, rows weighted; NaN if there is one class only."""
    if np.isnan(inputs.prediction).any():
        return float("nan")
    positive, negative = _weights_by_score(inputs)
    twice_below = 2 * np.cumsum(negative) - negative
    pairs = fixed_sum(positive, twice_below, inputs.run)
    all_pairs = 2.0 * float(positive.sum()) * float(negative.sum())
    return pairs / all_pairs if all_pairs > 0.0 else float("nan")


@register("ap", "aucpr", tasks=BINARY, greater_is_better=True)
def average_precision(inputs: MetricInputs) -> float:
    """Mean over rows of class 1 of the precision at their score; NaN if there is no row of class 1."""
    if np.isnan(inputs.prediction).any():
        return float("nan")
    positive, negative = (weights[::-1] for weights in _weights_by_score(inputs))
    true_positive, predicted_positive = np.cumsum(positive), np.cumsum(positive + negative)
    precision = true_positive / np.maximum(predicted_positive, 1)
    total = float(positive.sum())
    return fixed_sum(positive, precision, inputs.run) / total if total > 0.0 else float("nan")


def _class_1_probability(inputs: MetricInputs) -> np.ndarray:
    return inputs.prediction if inputs.prediction.ndim == 1 else inputs.prediction[:, 1]


def _true_class_probability(inputs: MetricInputs) -> np.ndarray:
    if inputs.prediction.ndim == 1:
        return np.where(inputs.y == 1.0, inputs.prediction, 1.0 - inputs.prediction)
    return inputs.prediction[np.arange(len(inputs.y)), inputs.y.astype(np.int64)]


def _weights_by_score(inputs: MetricInputs) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of class 1 and class 0 at each distinct score, ascending, as integers below 2^62 in sum.

    Integer sums depend neither on the order of rows nor on that of tied scores.
    """
    score, positive = _class_1_probability(inputs), inputs.y == 1.0
    weight = np.ones(len(score)) if inputs.weight is None else np.asarray(inputs.weight, dtype=np.float64)
    if len(score) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    bits = WEIGHT_BITS - len(score).bit_length()
    fixed = np.rint(np.ldexp(weight, bits - np.frexp(weight.max())[1])).astype(np.int64)
    order = np.argsort(score)
    score = score[order]
    starts = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    of_class_1 = np.add.reduceat(np.where(positive, fixed, 0)[order], starts)
    of_class_0 = np.add.reduceat(np.where(positive, 0, fixed)[order], starts)
    return of_class_1, of_class_0
