"""Expectile loss: asymmetric squared error."""

from __future__ import annotations

from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.base import check_setting
from sapwood.objectives.loss_families import ResidualObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def expectile_pairs(member, members, sync, y, scores, params, out):
    """w (F - y)^2 / 2 with w = level for F < y, 1 - level for F > y."""
    n = y.shape[0]
    level = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        w = 1.0 - level if r > 0.0 else level
        store_pair(out, 0, i, w * r, w)


@kernel(LOSS)
def expectile_loss(member, members, sync, y, scores, params, out):
    """w (F - y)^2 / 2 with w = level for F < y, 1 - level for F > y."""
    n = y.shape[0]
    level = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        w = 1.0 - level if r > 0.0 else level
        out[i] = 0.5 * w * r * r


@register
@dataclass(frozen=True, repr=False)
class Expectile(ResidualObjective):
    """w (y - F)^2 / 2 with w = ``level`` for F < y and 1 - ``level`` for F > y: asymmetric squared error.

    Identity link. Predicts the expectile ``level``, a smooth relative of the quantile; 0.5 gives the mean.

    Parameters
    ----------
    level : float, default=0.5
        Expectile to predict, between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Expectile
    >>> SapwoodRegressor(objective=Expectile(0.9))
    SapwoodRegressor(objective=Expectile(level=0.9))
    >>> Expectile(0.9).loss(np.array([3.0]), np.array([[0.0]])).round(3)  # y = 3, F = 0
    array([4.05])
    """

    level: float = 0.5

    name = "expectile"
    pairs_kernel = expectile_pairs
    loss_kernel = expectile_loss

    def __post_init__(self) -> None:
        check_setting(self, "level", 0.0 < self.level < 1.0, "a number between 0 and 1")
