"""Absolute percentage error."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.gradient_pairs import LOSS, MAX_FLOAT32, PAIRS, sign, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.base import reject_targets
from sapwood.objectives.loss_families import QuantileLeafObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def mape_pairs(member, members, sync, y, scores, params, out):
    """|F - y| / |y|: gradient sign(F - y) / |y|, hessian 1 / |y| in place of 0."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        w = 1.0 / abs(y[i])
        store_pair(out, 0, i, w * sign(scores[0, i] - y[i]), w)


@kernel(LOSS)
def mape_loss(member, members, sync, y, scores, params, out):
    """|F - y| / |y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = abs(scores[0, i] - y[i]) / abs(y[i])


@register
class Mape(QuantileLeafObjective):
    """|y - F| / |y|: absolute percentage error, which predicts the median under weights 1 / |y|.

    Identity link. For targets other than 0 whose relative errors matter; it predicts low rather than high.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Mape
    >>> SapwoodRegressor(objective=Mape())
    SapwoodRegressor(objective=Mape())
    >>> Mape().loss(np.array([2.0]), np.array([[3.0]])).round(3)  # y = 2, F = 3
    array([0.5])
    """

    name = "mape"
    aliases = ("mean_absolute_percentage_error",)
    default_metric = "mape"
    leaf_quantiles = (0.5,)
    pairs_kernel = mape_pairs
    loss_kernel = mape_loss

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets of 0."""
        super().check_target(y)
        remedy = "drop the row, or use 'absolute' or 'poisson'"
        reject_targets(self.name, y, np.abs(y) < 1.0 / MAX_FLOAT32, "a number other than 0", remedy)

    def leaf_weights(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Return the weights divided by |y|."""
        return super().leaf_weights(y, weight) / np.abs(y)
