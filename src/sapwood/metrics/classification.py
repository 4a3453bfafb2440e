"""Metrics of classes, from probabilities: of class 1 (n,), or of each class (n, classes)."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import log_values
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.metrics.base import ANY, BINARY, CLASSES, MetricInputs
from sapwood.metrics.registry import register

# Probabilities of 0 count as this, so that one confident error does not make the mean infinite.
MIN_PROBABILITY = 2.0**-52
WEIGHT_BITS = 62


@register("binary_logloss", "multi_logloss", "logloss", tasks=CLASSES)
def log_loss(answers: MetricInputs) -> float:
    """Mean of -log of the probability given to the true class."""
    true = np.maximum(_of_true_class(answers), MIN_PROBABILITY)
    return answers.mean(-answers.apply(log_values, true))


@register(tasks=ANY)
def cross_entropy(answers: MetricInputs) -> float:
    """Mean of -y log p - (1 - y) log(1 - p) for targets that are probabilities."""
    p = np.clip(answers.prediction, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    own, rest = answers.apply(log_values, p), answers.apply(log_values, 1.0 - p)
    return answers.mean(-answers.y * own - (1.0 - answers.y) * rest)


@register("brier_score", tasks=CLASSES)
def brier(answers: MetricInputs) -> float:
    """Mean of (p - y)^2; with several classes, of the sum over them."""
    if answers.prediction.ndim == 1:
        return answers.mean(np.square(answers.prediction - answers.y))
    n_classes = answers.prediction.shape[1]
    total = np.zeros(len(answers.y))
    for k in range(n_classes):
        total += np.square(answers.prediction[:, k] - (answers.y == k))
    return answers.mean(total)


@register(tasks=CLASSES, greater_is_better=True, numbers=(0.5,))
def accuracy(answers: MetricInputs) -> float:
    """Share of rows whose likeliest class is the true one; of two, class 1 if it is above the threshold."""
    if answers.prediction.ndim == 1:
        found = (answers.prediction > answers.numbers[0]).astype(np.float64)
    else:
        found = np.argmax(answers.prediction, axis=1).astype(np.float64)
    return answers.mean((found == answers.y).astype(np.float64))


@register("binary_error", "multi_error", tasks=CLASSES, numbers=(0.5,))
def error(answers: MetricInputs) -> float:
    """Share of rows whose likeliest class is not the true one."""
    return 1.0 - accuracy(answers)


@register(tasks=BINARY)
def hinge(answers: MetricInputs) -> float:
    """Mean of max(0, 1 - sF) where a probability p stands for the score F = 2p - 1 and s is -1 or 1."""
    margin = (2.0 * answers.y - 1.0) * (2.0 * _of_class_1(answers) - 1.0)
    return answers.mean(np.maximum(0.0, 1.0 - margin))


@register("roc_auc", tasks=BINARY, greater_is_better=True)
def auc(answers: MetricInputs) -> float:
    """P(a row of class 1 scores above one of class 0) + P(they tie) / 2, rows drawn by weight; NaN for one class."""
    if np.isnan(answers.prediction).any():
        return float("nan")
    positive, negative = _weights_by_score(answers)
    twice_below = 2 * np.cumsum(negative) - negative
    pairs = fixed_sum(positive, twice_below, answers.run)
    every = 2.0 * float(positive.sum()) * float(negative.sum())
    return pairs / every if every > 0.0 else float("nan")


@register("ap", "aucpr", tasks=BINARY, greater_is_better=True)
def average_precision(answers: MetricInputs) -> float:
    """Mean over the rows of class 1 of the precision among rows that score at least as high; NaN without class 1."""
    if np.isnan(answers.prediction).any():
        return float("nan")
    positive, negative = (weights[::-1] for weights in _weights_by_score(answers))
    true, all_found = np.cumsum(positive), np.cumsum(positive + negative)
    precision = true / np.maximum(all_found, 1)
    total = float(positive.sum())
    return fixed_sum(positive, precision, answers.run) / total if total > 0.0 else float("nan")


def _of_class_1(answers: MetricInputs) -> np.ndarray:
    return answers.prediction if answers.prediction.ndim == 1 else answers.prediction[:, 1]


def _of_true_class(answers: MetricInputs) -> np.ndarray:
    if answers.prediction.ndim == 1:
        return np.where(answers.y == 1.0, answers.prediction, 1.0 - answers.prediction)
    return answers.prediction[np.arange(len(answers.y)), answers.y.astype(np.int64)]


def _weights_by_score(answers: MetricInputs) -> tuple[np.ndarray, np.ndarray]:
    """The weights of class 1 and class 0 at each different score, ascending, as integers that sum to less than 2^62.

    So neither the order of rows nor that of tied scores matters.
    """
    score, positive = _of_class_1(answers), answers.y == 1.0
    weight = np.ones(len(score)) if answers.weight is None else np.asarray(answers.weight, dtype=np.float64)
    if len(score) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    room = WEIGHT_BITS - len(score).bit_length()
    whole = np.rint(np.ldexp(weight, room - np.frexp(weight.max())[1])).astype(np.int64)
    order = np.argsort(score)
    score = score[order]
    starts = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    mine = np.add.reduceat(np.where(positive, whole, 0)[order], starts)
    others = np.add.reduceat(np.where(positive, 0, whole)[order], starts)
    return mine, others
