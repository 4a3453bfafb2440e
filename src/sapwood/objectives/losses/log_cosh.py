"""Log-cosh loss."""

from __future__ import annotations

from sapwood.kernels.numeric.elementary import log_cosh, tanh
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.loss_families import ResidualObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def log_cosh_pairs(member, members, sync, y, scores, params, out):
    """log(cosh(r)), r = F - y: gradient tanh(r), hessian tanh(r) / r, which does not vanish for large residuals."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        t = tanh(r)
        store_pair(out, 0, i, t, t / r if abs(r) > 1e-10 else 1.0)


@kernel(LOSS)
def log_cosh_loss(member, members, sync, y, scores, params, out):
    """log(cosh(F - y))."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = log_cosh(scores[0, i] - y[i])


@register
class LogCosh(ResidualObjective):
    """log(cosh(y - F)): squared error for small residuals, absolute error for large ones.

    Identity link. A smooth loss for targets with outliers, without a parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import LogCosh
    >>> SapwoodRegressor(objective=LogCosh())
    SapwoodRegressor(objective=LogCosh())
    >>> LogCosh().loss(np.array([0.0]), np.array([[0.0]])).round(3)  # y = 0, F = 0
    array([0.])
    """

    name = "log_cosh"
    aliases = ("logcosh",)
    curvature = "surrogate"
    pairs_kernel = log_cosh_pairs
    loss_kernel = log_cosh_loss
