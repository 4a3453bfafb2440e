"""Areas under curves: the ROC curve of two and of several classes, and the precision-recall curve."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.metrics.base import BINARY, CLASSES, MetricInputs
from sapwood.metrics.classification import class_1_probability, class_probabilities
from sapwood.metrics.registry import register
from sapwood.native.runtime.kernel import Run

NAN = float("nan")


@register("roc_auc", tasks=CLASSES, greater_is_better=True, needs_all_rows=True)
def auc(inputs: MetricInputs) -> float:
    """Area under the ROC curve, P(score+ > score-) + P(tie) / 2, NaN without rows of both classes.

    With several classes it is ``auc_ovr_weighted``.
    """
    if inputs.prediction.ndim == 2:
        return auc_ovr_weighted(inputs)
    return _area(class_1_probability(inputs), inputs.y == 1.0, inputs.integer_weights(), inputs.run)


@register("roc_auc_ovr", tasks=CLASSES, greater_is_better=True, needs_all_rows=True)
def auc_ovr(inputs: MetricInputs) -> float:
    """Mean over the classes of the AUC of each class against the others."""
    areas, _ = _one_vs_rest(inputs)
    return _average(areas, [1] * len(areas))


@register("roc_auc_ovr_weighted", tasks=CLASSES, greater_is_better=True, needs_all_rows=True)
def auc_ovr_weighted(inputs: MetricInputs) -> float:
    """Mean over the classes of the AUC of each class against the others, weighted by the rows of the class."""
    return _average(*_one_vs_rest(inputs))


@register("roc_auc_ovo", tasks=CLASSES, greater_is_better=True, needs_all_rows=True)
def auc_ovo(inputs: MetricInputs) -> float:
    """Mean over the pairs of classes of the AUC of one against the other, the mean of both directions."""
    areas, _ = _one_vs_one(inputs)
    return _average(areas, [1] * len(areas))


@register("roc_auc_ovo_weighted", tasks=CLASSES, greater_is_better=True, needs_all_rows=True)
def auc_ovo_weighted(inputs: MetricInputs) -> float:
    """Mean over the pairs of classes of their AUC, weighted by the rows of both classes."""
    return _average(*_one_vs_one(inputs))


@register(tasks=CLASSES, greater_is_better=True, needs_all_rows=True)
def auc_mu(inputs: MetricInputs) -> float:
    """Mean over the pairs of classes of the AUC of the difference of their probabilities (Kleiman and Page, 2019)."""
    p, weight = class_probabilities(inputs), inputs.integer_weights()
    areas = []
    for first, second in combinations(range(p.shape[1]), 2):
        rows = (inputs.y == first) | (inputs.y == second)
        difference = (p[:, second] - p[:, first])[rows]
        areas.append(_area(difference, (inputs.y == second)[rows], weight[rows], inputs.run))
    return _average(areas, [1] * len(areas))


@register("ap", "aucpr", tasks=BINARY, greater_is_better=True, needs_all_rows=True)
def average_precision(inputs: MetricInputs) -> float:
    """Mean over rows of class 1 of the precision at their score; NaN if there is no row of class 1."""
    score = class_1_probability(inputs)
    if np.isnan(score).any():
        return NAN
    by_score = _weights_by_score(score, inputs.y == 1.0, inputs.integer_weights())
    positive, negative = (weights[::-1] for weights in by_score)
    true_positive, predicted_positive = np.cumsum(positive), np.cumsum(positive + negative)
    precision = true_positive / np.maximum(predicted_positive, 1)
    total = float(positive.sum())
    return fixed_sum(positive, precision, inputs.run) / total if total > 0.0 else NAN


def _one_vs_rest(inputs: MetricInputs) -> tuple[list[float], list[int]]:
    """Return the AUC of each class against the others and the weight of its rows."""
    p, weight = class_probabilities(inputs), inputs.integer_weights()
    areas, weights = [], []
    for k in range(p.shape[1]):
        is_class = inputs.y == k
        areas.append(_area(p[:, k], is_class, weight, inputs.run))
        weights.append(int(weight[is_class].sum()))
    return areas, weights


def _one_vs_one(inputs: MetricInputs) -> tuple[list[float], list[int]]:
    """Return the AUC of each pair of classes and the weight of their rows."""
    p, weight = class_probabilities(inputs), inputs.integer_weights()
    areas, weights = [], []
    for first, second in combinations(range(p.shape[1]), 2):
        rows = (inputs.y == first) | (inputs.y == second)
        both = [
            _area(p[rows, k], (inputs.y == k)[rows], weight[rows], inputs.run) for k in (first, second)
        ]  # fmt: skip
        areas.append((both[0] + both[1]) / 2.0)
        weights.append(int(weight[rows].sum()))
    return areas, weights


def _average(areas: list[float], weights: list[int]) -> float:
    total = sum(weights)
    return math.fsum(area * weight for area, weight in zip(areas, weights, strict=True)) / total if total else NAN


def _area(score: np.ndarray, positive: np.ndarray, weight: np.ndarray, run: Run) -> float:
    """Return P(score+ > score-) + P(tie) / 2 for integer weights; NaN if one of the two classes has no rows."""
    if np.isnan(score).any():
        return NAN
    of_positive, of_negative = _weights_by_score(score, positive, weight)
    twice_below = 2 * np.cumsum(of_negative) - of_negative
    pairs = fixed_sum(of_positive, twice_below, run)
    all_pairs = 2.0 * float(of_positive.sum()) * float(of_negative.sum())
    return pairs / all_pairs if all_pairs > 0.0 else NAN


def _weights_by_score(
    score: np.ndarray, positive: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the integer weights of positive and of negative rows at each distinct score, ascending."""
    if len(score) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    order = np.argsort(score)
    score = score[order]
    starts = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]]))
    of_positive = np.add.reduceat(np.where(positive, weight, 0)[order], starts)
    of_negative = np.add.reduceat(np.where(positive, 0, weight)[order], starts)
    return of_positive, of_negative
