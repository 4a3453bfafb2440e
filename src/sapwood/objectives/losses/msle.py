"""Squared logarithmic error."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementary import log1p
from sapwood.kernels.numeric.elementwise import apply_elementwise, log1p_values
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.base import MAX_TARGET, Objective, reject_targets
from sapwood.objectives.links import Log1p
from sapwood.objectives.registry import register


@kernel(PAIRS)
def msle_pairs(member, members, sync, y, scores, params, out):
    """(F - log(1 + y))^2 / 2: gradient F - log(1 + y), hessian 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, scores[0, i] - log1p(y[i]), 1.0)


@kernel(LOSS)
def msle_loss(member, members, sync, y, scores, params, out):
    """(F - log(1 + y))^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - log1p(y[i])
        out[i] = 0.5 * r * r


@register
class Msle(Objective):
    """(log(1 + y) - F)^2 / 2: squared error of log(1 + y), for targets y > -1.

    Log1p link: the prediction is e^F - 1. For targets that span orders of magnitude. The score is a logarithm because
    the loss is not convex in the prediction itself: its hessian is negative for predictions far too high.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Msle
    >>> SapwoodRegressor(objective=Msle())
    SapwoodRegressor(objective=Msle())
    >>> Msle().loss(np.array([0.0]), np.array([[2.0]])).round(3)  # y = 0, F = 2
    array([2.])
    """

    name = "msle"
    aliases = ("squared_log_error", "mean_squared_logarithmic_error", "rmsle")
    default_metric = "msle"
    link = Log1p()
    pairs_kernel = msle_pairs
    loss_kernel = msle_loss

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets of -1 and below."""
        is_bad = ~((y > -1.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, is_bad, "a number above -1", "correct it or use 'squared'")

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the mean of log(1 + y)."""
        return np.array([fixed_mean(apply_elementwise(log1p_values, y, run), weight, run, workers)])
