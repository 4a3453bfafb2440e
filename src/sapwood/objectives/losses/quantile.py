"""Quantile (pinball) loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.links import Identity, Link, Sorted
from sapwood.objectives.loss_families import QuantileLeafObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def quantile_pairs(member, members, sync, y, scores, params, out):
    """One output per quantile a: a (y - F) for F < y, (1 - a) (F - y) for F > y; hessian 1 in place of 0."""
    n = y.shape[0]
    for k in range(params.shape[0]):
        a = params[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            r = scores[k, i] - y[i]
            g = 1.0 - a if r > 0.0 else r
            store_pair(out, k, i, -a if r < 0.0 else g, 1.0)


@kernel(LOSS)
def quantile_loss(member, members, sync, y, scores, params, out):
    """Mean over the quantiles a of a (y - F) for F < y, (1 - a) (F - y) for F > y."""
    n = y.shape[0]
    n_quantiles = params.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = 0.0
        for k in range(n_quantiles):
            r = scores[k, i] - y[i]
            total += (1.0 - params[k]) * r if r > 0.0 else -params[k] * r
        out[i] = total / n_quantiles


@register
@dataclass(frozen=True, repr=False)
class Quantile(QuantileLeafObjective):
    """a (y - F) for F < y, (1 - a) (F - y) for F > y: pinball loss, which predicts the quantile a (``level``).

    Identity link. For prediction intervals and asymmetric costs. Leaf values are quantiles of residuals.

    Parameters
    ----------
    level : float or list of float, default=0.5
        Quantiles to predict, between 0 and 1. Several have a score each; the predictions of a row are its scores
        sorted, so that quantiles never cross.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Quantile
    >>> SapwoodRegressor(objective=Quantile(0.9))
    SapwoodRegressor(objective=Quantile(level=0.9))
    >>> Quantile(0.9).loss(np.array([3.0]), np.array([[0.0]])).round(3)  # y = 3, F = 0
    array([2.7])
    """

    level: Any = 0.5

    name = "quantile"
    aliases = ("pinball",)
    pairs_kernel = quantile_pairs
    loss_kernel = quantile_loss

    def __post_init__(self) -> None:
        is_sequence = isinstance(self.level, Iterable)
        quantiles = tuple(sorted(float(a) for a in self.level)) if is_sequence else (float(self.level),)
        if not quantiles or len(set(quantiles)) < len(quantiles) or not all(0.0 < a < 1.0 for a in quantiles):
            allowed = "a number between 0 and 1, or several different ones"
            raise ParameterError(f"Quantile: level={self.level!r}; allowed is {allowed}")
        object.__setattr__(self, "level", quantiles if is_sequence else quantiles[0])

    @property
    def leaf_quantiles(self) -> tuple[float, ...]:
        """The quantiles, ascending."""
        return self.level if isinstance(self.level, tuple) else (self.level,)

    @property
    def n_outputs(self) -> int:
        """One score per quantile."""
        return len(self.leaf_quantiles)

    @property
    def link(self) -> Link:
        """Identity for one quantile, sorted scores for several."""
        return Identity() if self.n_outputs == 1 else Sorted()

    @property
    def default_metric(self) -> str:
        """The mean pinball loss of the same quantiles."""
        return "quantile@" + ",".join(f"{a!r}" for a in self.leaf_quantiles)

    def kernel_params(self) -> np.ndarray:
        """Return the quantiles."""
        return np.array(self.leaf_quantiles)

    def settings(self) -> dict[str, Any]:
        """Return the level, or a list of levels."""
        return {"level": list(self.level) if isinstance(self.level, tuple) else self.level}
