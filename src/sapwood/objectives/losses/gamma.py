"""Gamma loss for positive amounts."""

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
def gamma_pairs(member, members, sync, y, scores, params, out):
    """F + y e^-F: gradient 1 - y e^-F, hessian y e^-F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        ratio = y[i] * exp(-scores[0, i])
        store_pair(out, 0, i, 1.0 - ratio, ratio)


@kernel(LOSS)
def gamma_loss(member, members, sync, y, scores, params, out):
    """F + y e^-F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = scores[0, i] + y[i] * exp(-scores[0, i])


@register
class Gamma(LogMeanObjective):
    """F + y e^-F: negative log-likelihood of the gamma distribution, for amounts y > 0.

    Log link: the prediction is e^F, the mean. For positive amounts whose spread grows with the mean, such as costs of
    claims.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Gamma
    >>> SapwoodRegressor(objective=Gamma())
    SapwoodRegressor(objective=Gamma())
    >>> Gamma().loss(np.array([2.0]), np.array([[0.0]])).round(3)  # y = 2, F = 0
    array([2.])
    """

    name = "gamma"
    default_metric = "gamma_deviance"
    pairs_kernel = gamma_pairs
    loss_kernel = gamma_loss

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets of 0 and below."""
        is_bad = ~((y > 0.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, is_bad, "an amount above 0", "drop the row or use 'tweedie', which allows 0")
