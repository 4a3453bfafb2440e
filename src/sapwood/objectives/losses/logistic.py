"""Logistic loss for two classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementary import exp_nonpositive, exp_nonpositive_pair, softplus
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.base import Objective
from sapwood.objectives.loss_families import BinaryObjective, log_odds
from sapwood.objectives.losses.softmax import Softmax
from sapwood.objectives.registry import register

ROW_DISTANCE = np.uint64(512)  # between the two rows of a step; constant, so that loops are vectorised


@kernel()
def store_logistic_pair(f, e, y, i, out):
    """Write the pair of a row with the score f and e = exp(-|f|); it always fits in float32."""
    d = 1.0 / (1.0 + e)
    p = d if f >= 0.0 else e * d
    first = np.uint64(2) * np.uint64(i)
    out[0, first] = np.float32(p - y[i])
    out[0, first + np.uint64(1)] = np.float32(e * d * d)


@kernel(PAIRS)
def logistic_pairs(member, members, sync, y, scores, params, out):
    """log(1 + e^F) - y F: gradient p - y, hessian p (1 - p) with p = 1 / (1 + e^-F).

    Two rows at a time: a polynomial is a long chain of dependent operations, and two of them overlap.
    """
    n = y.shape[0]
    begin = slice_start(member, members, n)
    end = slice_start(member + 1, members, n)
    row_scores = scores[0]
    while begin + ROW_DISTANCE + ROW_DISTANCE <= end:
        for i in range(begin, begin + ROW_DISTANCE):
            f = row_scores[i]
            g = row_scores[i + ROW_DISTANCE]
            e, e2 = exp_nonpositive_pair(-abs(f), -abs(g))
            store_logistic_pair(f, e, y, i, out)
            store_logistic_pair(g, e2, y, i + ROW_DISTANCE, out)
        begin += ROW_DISTANCE + ROW_DISTANCE
    for i in range(begin, end):
        f = row_scores[i]
        store_logistic_pair(f, exp_nonpositive(-abs(f)), y, i, out)


@kernel(LOSS)
def logistic_loss(member, members, sync, y, scores, params, out):
    """log(1 + e^F) - y F, computed without cancellation."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        f = scores[0, i]
        out[i] = softplus(-abs(f)) + ((1.0 - y[i]) * f if f > 0.0 else -y[i] * f)


@register
class Logistic(BinaryObjective):
    """log(1 + e^F) - y F, that is log(1 + e^(-sF)): negative log-likelihood of two classes.

    Logit link: the prediction is the probability of class 1. The default for two classes; for more it becomes Softmax.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import Logistic
    >>> SapwoodClassifier(objective=Logistic())
    SapwoodClassifier(objective=Logistic())
    >>> Logistic().loss(np.array([1.0]), np.array([[0.0]])).round(3)  # y = 1, F = 0
    array([0.693])
    """

    name = "logistic"
    aliases: ClassVar[tuple[str, ...]] = ("log_loss", "binary_logistic", "binary_crossentropy")
    supported_tasks = frozenset({"binary", "multiclass"})
    default_metric = "log_loss"
    pairs_kernel = logistic_pairs
    loss_kernel = logistic_loss

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the log-odds of the mean."""
        return log_odds(np.array([fixed_mean(y, weight, run, workers)]))

    def for_classes(self, n_classes: int) -> Objective:
        """Return this loss for two classes, Softmax for more."""
        return self if n_classes == 2 else Softmax(n_classes=n_classes)
