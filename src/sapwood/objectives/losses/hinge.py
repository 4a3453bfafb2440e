"""Hinge loss."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.links import Margin
from sapwood.objectives.loss_families import BinaryObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def hinge_pairs(member, members, sync, y, scores, params, out):
    """max(0, 1 - sF), s = 2y - 1: gradient -s below the margin, hessian 1 in place of 0."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        margin = s * scores[0, i]
        store_pair(out, 0, i, 0.0 if margin >= 1.0 else (-s if margin < 1.0 else margin), 1.0)


@kernel(LOSS)
def hinge_loss(member, members, sync, y, scores, params, out):
    """max(0, 1 - sF), s = 2y - 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        shortfall = 1.0 - (2.0 * y[i] - 1.0) * scores[0, i]
        out[i] = 0.0 if shortfall < 0.0 else shortfall


@register
class Hinge(BinaryObjective):
    """max(0, 1 - sF): hinge loss, that of support vector machines.

    Margin link: the prediction rises linearly from 0 at a score of -1 to 1 at a score of 1; it is not a probability.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import Hinge
    >>> SapwoodClassifier(objective=Hinge())
    SapwoodClassifier(objective=Hinge())
    >>> Hinge().loss(np.array([1.0]), np.array([[-1.0]])).round(3)  # y = 1, F = -1
    array([2.])
    """

    name = "hinge"
    curvature = "surrogate"
    link = Margin()
    pairs_kernel = hinge_pairs
    loss_kernel = hinge_loss

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return 1 if class 1 has the larger weight, -1 if class 0 has, 0 if they are equal."""
        return np.sign([fixed_mean(y, weight, run, workers) - 0.5])

    def initial_scores(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return a score between the margins: at the best constant, rows of the larger class have gradient 0."""
        return np.array([2.0 * fixed_mean(y, weight, run, workers) - 1.0])
