"""Exponential loss, that of AdaBoost."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementary import exp
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.links import HalfLogit
from sapwood.objectives.loss_families import BinaryObjective, log_odds
from sapwood.objectives.registry import register


@kernel(PAIRS)
def exponential_pairs(member, members, sync, y, scores, params, out):
    """e^(-sF), s = 2y - 1: gradient -s e^(-sF), hessian e^(-sF)."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        e = exp(-s * scores[0, i])
        store_pair(out, 0, i, -s * e, e)


@kernel(LOSS)
def exponential_loss(member, members, sync, y, scores, params, out):
    """e^(-sF), s = 2y - 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp((1.0 - 2.0 * y[i]) * scores[0, i])


@register
class Exponential(BinaryObjective):
    """e^(-sF): exponential loss, that of AdaBoost.

    Half-logit link: the prediction is 1 / (1 + e^(-2F)). Its gradients are unbounded, so mislabelled rows dominate;
    prefer Logistic unless AdaBoost is to be reproduced.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import Exponential
    >>> SapwoodClassifier(objective=Exponential())
    SapwoodClassifier(objective=Exponential())
    >>> Exponential().loss(np.array([1.0]), np.array([[0.0]])).round(3)  # y = 1, F = 0
    array([1.])
    """

    name = "exponential"
    link = HalfLogit()
    pairs_kernel = exponential_pairs
    loss_kernel = exponential_loss

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return half the log-odds of the mean."""
        return 0.5 * log_odds(np.array([fixed_mean(y, weight, run, workers)]))
