"""Huber loss."""

from __future__ import annotations

import math

from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, sign, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.base import check_setting
from sapwood.objectives.loss_families import ResidualObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def huber_pairs(member, members, sync, y, scores, params, out):
    """Squared error up to a residual of delta, linear beyond; hessian 2 delta / (delta + |r|) there.

    That is the harmonic mean of 1 and of delta / |r|, the curvature of the parabola through the loss: steps do not
    overshoot, and grow with the residual however small delta is.
    """
    n = y.shape[0]
    delta = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        is_linear = abs(r) > delta
        middle = 0.5 * delta + 0.5 * abs(r)  # halved first: the sum could overflow
        store_pair(out, 0, i, delta * sign(r) if is_linear else r, delta / middle if is_linear else 1.0)


@kernel(LOSS)
def huber_loss(member, members, sync, y, scores, params, out):
    """r^2 / 2 up to |r| = delta, delta (|r| - delta / 2) beyond."""
    n = y.shape[0]
    delta = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = abs(scores[0, i] - y[i])
        out[i] = delta * (r - 0.5 * delta) if r > delta else 0.5 * r * r


@register
@dataclass(frozen=True, repr=False)
class Huber(ResidualObjective):
    """(y - F)^2 / 2 up to a residual of ``delta``, linear beyond.

    Identity link. For targets with outliers, where Absolute would be too coarse for small residuals.

    Parameters
    ----------
    delta : float, default=1.0
        Residual, above 0, from which the loss is linear.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Huber
    >>> SapwoodRegressor(objective=Huber(delta=2.0))
    SapwoodRegressor(objective=Huber(delta=2.0))
    >>> Huber(delta=2.0).loss(np.array([0.0]), np.array([[5.0]])).round(3)  # y = 0, F = 5
    array([8.])
    """

    delta: float = 1.0

    name = "huber"
    aliases = ("huber_loss",)
    curvature = "surrogate"
    pairs_kernel = huber_pairs
    loss_kernel = huber_loss

    def __post_init__(self) -> None:
        check_setting(self, "delta", 0.0 < self.delta < math.inf, "a number above 0")
