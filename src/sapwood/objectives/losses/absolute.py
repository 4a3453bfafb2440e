"""Absolute error."""

from __future__ import annotations

from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, sign, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.loss_families import QuantileLeafObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def absolute_pairs(member, members, sync, y, scores, params, out):
    """|F - y|: gradient sign(F - y), hessian 1 in place of 0."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, sign(scores[0, i] - y[i]), 1.0)


@kernel(LOSS)
def absolute_loss(member, members, sync, y, scores, params, out):
    """|F - y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = abs(scores[0, i] - y[i])


@register
class Absolute(QuantileLeafObjective):
    """|y - F|: absolute error, which predicts the median.

    Identity link. For targets with outliers. Leaf values are medians of residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Absolute
    >>> SapwoodRegressor(objective=Absolute())
    SapwoodRegressor(objective=Absolute())
    >>> Absolute().loss(np.array([0.0]), np.array([[3.0]])).round(3)  # y = 0, F = 3
    array([3.])
    """

    name = "absolute"
    aliases = ("absolute_error", "mae", "l1")
    default_metric = "mae"
    leaf_quantiles = (0.5,)
    pairs_kernel = absolute_pairs
    loss_kernel = absolute_loss
