"""Metrics of predicted classes, computed from the confusion matrix: precision, recall, F1, kappa and others.

The predicted class is the most probable one; of two classes, class 1 above a threshold. A precision or recall without
any row counts as 0. As in scikit-learn, averages are over the classes that occur in the targets or the predictions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sapwood.metrics.base import BINARY, CLASSES, MetricInputs
from sapwood.metrics.classification import predicted_class
from sapwood.metrics.registry import register

THRESHOLD = 0.5


class Counts(NamedTuple):
    """Weights of the true positive, false positive and false negative rows of a class, as integers."""

    hits: int
    false_alarms: int
    misses: int


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def _precision(counts: Counts) -> float:
    return _ratio(counts.hits, counts.hits + counts.false_alarms)


def _recall(counts: Counts) -> float:
    return _ratio(counts.hits, counts.hits + counts.misses)


def _f1(counts: Counts) -> float:
    return _ratio(2 * counts.hits, 2 * counts.hits + counts.false_alarms + counts.misses)


def _jaccard(counts: Counts) -> float:
    return _ratio(counts.hits, counts.hits + counts.false_alarms + counts.misses)


SCORES: dict[str, tuple[Callable[[Counts], float], str]] = {
    "precision": (_precision, "fraction of the rows predicted as a class that belong to it"),
    "recall": (_recall, "fraction of the rows of a class that are predicted as it"),
    "f1": (_f1, "harmonic mean of precision and recall"),
    "jaccard": (_jaccard, "rows of a class predicted as it, divided by the rows that are either"),
}


def confusion_matrix(inputs: MetricInputs, threshold: float = THRESHOLD) -> np.ndarray:
    """Return the integer weight of the rows of each true class (row) and predicted class (column)."""
    n_classes = inputs.prediction.shape[1] if inputs.prediction.ndim == 2 else 2
    cell = inputs.y.astype(np.int64) * n_classes + predicted_class(inputs, threshold)
    cells = np.zeros(n_classes * n_classes, dtype=np.int64)
    np.add.at(cells, cell, inputs.integer_weights())
    return inputs.workers.sum(cells).reshape(n_classes, n_classes)


def _counts_of_classes(inputs: MetricInputs) -> list[Counts]:
    """Return the counts of the classes that occur in the targets or the predictions."""
    matrix = confusion_matrix(inputs, inputs.params[0])
    of_class, predicted, hits = (part.tolist() for part in (matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal()))
    counts = zip(of_class, predicted, hits, strict=True)
    return [Counts(hit, as_it - hit, of_it - hit) for of_it, as_it, hit in counts if of_it or as_it]


def _of_class_1(score: Callable[[Counts], float]) -> Callable[[MetricInputs], float]:
    def compute(inputs: MetricInputs) -> float:
        (_, false_alarms), (misses, hits) = confusion_matrix(inputs, inputs.params[0]).tolist()
        return score(Counts(hits, false_alarms, misses))

    return compute


def _micro(score: Callable[[Counts], float]) -> Callable[[MetricInputs], float]:
    def compute(inputs: MetricInputs) -> float:
        return score(Counts(*map(sum, zip(*_counts_of_classes(inputs), strict=True))))

    return compute


def _macro(score: Callable[[Counts], float]) -> Callable[[MetricInputs], float]:
    def compute(inputs: MetricInputs) -> float:
        scores = [score(counts) for counts in _counts_of_classes(inputs)]
        return _ratio(math.fsum(scores), len(scores))

    return compute


def _weighted(score: Callable[[Counts], float]) -> Callable[[MetricInputs], float]:
    def compute(inputs: MetricInputs) -> float:
        counts = _counts_of_classes(inputs)
        weights = [one.hits + one.misses for one in counts]
        terms = (score(one) * weight for one, weight in zip(counts, weights, strict=True))
        return _ratio(math.fsum(terms), sum(weights))

    return compute


AVERAGES = {
    "": (_of_class_1, BINARY, "of class 1"),
    "_macro": (_macro, CLASSES, "mean over the classes"),
    "_weighted": (_weighted, CLASSES, "mean over the classes, weighted by their rows"),
    "_micro": (_micro, CLASSES, "of the rows of all classes together"),
}

for _name, (_score, _meaning) in SCORES.items():
    for _suffix, (_average, _tasks, _over) in AVERAGES.items():
        _metric = _average(_score)
        _metric.__name__ = _name + _suffix
        _metric.__doc__ = f"{_meaning[0].upper()}{_meaning[1:]}, {_over}."
        register(f"{_name}_score{_suffix}", tasks=_tasks, greater_is_better=True, params=(THRESHOLD,))(_metric)


@register(tasks=BINARY, greater_is_better=True, params=(2.0, THRESHOLD))
def fbeta(inputs: MetricInputs) -> float:
    """F-beta, recall counted beta (2) times as much as precision; the second setting is the threshold (0.5)."""
    beta, threshold = (*inputs.params, THRESHOLD)[:2]
    (_, false_alarms), (misses, hits) = confusion_matrix(inputs, threshold).tolist()
    square = beta * beta
    return _ratio((1.0 + square) * hits, (1.0 + square) * hits + square * misses + false_alarms)


@register("balanced_accuracy_score", tasks=CLASSES, greater_is_better=True, params=(THRESHOLD,))
def balanced_accuracy(inputs: MetricInputs) -> float:
    """Mean of the recall over the classes that occur in the targets."""
    recalls = [_recall(counts) for counts in _counts_of_classes(inputs) if counts.hits + counts.misses]
    return _ratio(math.fsum(recalls), len(recalls))


@register("mcc", "matthews_corrcoef", tasks=CLASSES, greater_is_better=True, params=(THRESHOLD,))
def matthews(inputs: MetricInputs) -> float:
    """Matthews correlation coefficient of true and predicted classes; 0 if one of them has one class only."""
    matrix = confusion_matrix(inputs, inputs.params[0])
    of_class, predicted, total = matrix.sum(axis=1).tolist(), matrix.sum(axis=0).tolist(), int(matrix.sum())
    covariance = int(matrix.trace()) * total - sum(a * b for a, b in zip(of_class, predicted, strict=True))
    variances = [total * total - sum(count * count for count in counts) for counts in (of_class, predicted)]
    if not all(variances):
        return 0.0
    return covariance / (math.sqrt(variances[0]) * math.sqrt(variances[1]))


@register("cohen_kappa", "cohen_kappa_score", tasks=CLASSES, greater_is_better=True, params=(THRESHOLD,))
def kappa(inputs: MetricInputs) -> float:
    """Cohen's kappa, 1 - (disagreement) / (that by chance); NaN if all targets and predictions are one class."""
    return _kappa(inputs, 0)


@register("quadratic_weighted_kappa", "qwk", tasks=CLASSES, greater_is_better=True, params=(THRESHOLD,))
def kappa_quadratic(inputs: MetricInputs) -> float:
    """Cohen's kappa with disagreements weighted by (i - j)^2, for classes in the order of their codes."""
    return _kappa(inputs, 2)


def _kappa(inputs: MetricInputs, power: int) -> float:
    matrix = confusion_matrix(inputs, inputs.params[0]).tolist()
    of_class, predicted = [sum(row) for row in matrix], [sum(column) for column in zip(*matrix, strict=True)]
    observed = expected = 0
    for i, row in enumerate(matrix):
        for j, count in enumerate(row):
            cost = abs(i - j) ** power if i != j else 0
            observed += cost * count
            expected += cost * of_class[i] * predicted[j]
    return 1.0 - observed * sum(of_class) / expected if expected else float("nan")
