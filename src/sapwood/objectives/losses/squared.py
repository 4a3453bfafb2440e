"""Squared error."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.base import Objective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def squared_pairs(member, members, sync, y, scores, params, out):
    """(F - y)^2 / 2: gradient F - y, hessian 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, scores[0, i] - y[i], 1.0)


@kernel(LOSS)
def squared_loss(member, members, sync, y, scores, params, out):
    """(F - y)^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        out[i] = 0.5 * r * r


@register
class Squared(Objective):
    """(y - F)^2 / 2: squared error, which predicts the mean.

    Identity link. The default for regression; outliers of the target have a large influence (see Huber, Absolute).

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Squared
    >>> SapwoodRegressor(objective=Squared())
    SapwoodRegressor(objective=Squared())
    >>> Squared().loss(np.array([0.0]), np.array([[3.0]])).round(3)  # y = 0, F = 3
    array([4.5])
    """

    name = "squared"
    aliases = ("squared_error", "mse", "l2")
    default_metric = "rmse"
    pairs_kernel = squared_pairs
    loss_kernel = squared_loss

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the mean."""
        return np.array([fixed_mean(y, weight, run, workers)])
