"""Tweedie loss for amounts with many zeros."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import kernel
from sapwood.objectives.base import MAX_TARGET, check_setting, reject_targets
from sapwood.objectives.loss_families import LogMeanObjective
from sapwood.objectives.registry import register


@kernel()
def tweedie_term(y, a, score):
    """Return y e^(a F), 0 where y is 0 whatever the score."""
    return y * exp(a * score) if y > 0.0 else 0.0


@kernel(PAIRS)
def tweedie_pairs(member, members, sync, y, scores, params, out):
    """e^(bF) / b - y e^(aF) / a with a = 1 - power and b = 2 - power."""
    n = y.shape[0]
    a = 1.0 - params[0]
    b = 2.0 - params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        down = tweedie_term(y[i], a, scores[0, i])
        up = exp(b * scores[0, i])
        store_pair(out, 0, i, up - down, b * up - a * down)


@kernel(LOSS)
def tweedie_loss(member, members, sync, y, scores, params, out):
    """e^(bF) / b - y e^(aF) / a with a = 1 - power and b = 2 - power."""
    n = y.shape[0]
    a = 1.0 - params[0]
    b = 2.0 - params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp(b * scores[0, i]) / b - tweedie_term(y[i], a, scores[0, i]) / a


@register
@dataclass(frozen=True, repr=False)
class Tweedie(LogMeanObjective):
    """e^((2 - p) F) / (2 - p) - y e^((1 - p) F) / (1 - p): Tweedie deviance of ``power`` p, for amounts y >= 0.

    Log link: the prediction is e^F, the mean. For amounts that are often 0, such as the total cost of claims per
    policy.

    Parameters
    ----------
    power : float, default=1.5
        Power p of the variance, between 1 (Poisson) and 2 (gamma distribution).

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.objectives import Tweedie
    >>> SapwoodRegressor(objective=Tweedie(power=1.5))
    SapwoodRegressor(objective=Tweedie(power=1.5))
    >>> Tweedie(power=1.5).loss(np.array([2.0]), np.array([[0.0]])).round(3)  # y = 2, F = 0
    array([6.])
    """

    power: float = 1.5

    name = "tweedie"
    pairs_kernel = tweedie_pairs
    loss_kernel = tweedie_loss

    def __post_init__(self) -> None:
        allowed = "a number between 1 and 2 (for 1 use 'poisson', for 2 'gamma')"
        check_setting(self, "power", 1.0 < self.power < 2.0, allowed)

    @property
    def default_metric(self) -> str:
        """The deviance of the same power."""
        return f"tweedie_deviance@{self.power:.17g}"

    def check_target(self, y: np.ndarray) -> None:
        """Reject negative targets."""
        is_bad = ~((y >= 0.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, is_bad, "an amount of at least 0", "correct it or use 'squared'")
