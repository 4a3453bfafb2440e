"""Poisson loss for counts."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.base import MAX_TARGET, reject_targets
from sapwood.objectives.loss_families import LogMeanObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def poisson_pairs(member, members, sync, y, scores, params, out):
    """e^F - y F: gradient e^F - y, hessian e^F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        mean = exp(scores[0, i])
        store_pair(out, 0, i, mean - y[i], mean)


@kernel(LOSS)
def poisson_loss(member, members, sync, y, scores, params, out):
    """e^F - y F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp(scores[0, i]) - y[i] * scores[0, i]


@register
class Poisson(LogMeanObjective):
    """e^F - y F: negative log-likelihood of the Poisson distribution, for counts y >= 0.

    Log link: the prediction is e^F, the mean. For counts and rates, such as claims or visits.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Poisson
    >>> SapwoodRegressor(objective=Poisson())
    SapwoodRegressor(objective=Poisson())
    >>> Poisson().loss(np.array([2.0]), np.array([[0.0]])).round(3)  # y = 2, F = 0
    array([1.])
    """

    name = "poisson"
    default_metric = "poisson_deviance"
    pairs_kernel = poisson_pairs
    loss_kernel = poisson_loss

    def check_target(self, y: np.ndarray) -> None:
        """Reject negative targets."""
        is_bad = ~((y >= 0.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, is_bad, "a count of at least 0", "correct it or use 'squared'")
