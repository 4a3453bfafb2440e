"""Losses for counts and amounts, whose score is the logarithm of the prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.errors import InputError
from sapwood.kernels.losses import log_link as kernels
from sapwood.kernels.numeric.elementary import apply_elementwise, log1p_values, log_values
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.base import MAX_TARGET, Objective, check_setting, reject_targets
from sapwood.objectives.links import Log, Log1p
from sapwood.objectives.registry import register


class LogMeanObjective(Objective):
    """A loss whose best constant is the logarithm of the mean."""

    link = Log()

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The logarithm of the mean."""
        mean = fixed_mean(y, weight, run)
        if mean == 0.0:
            raise InputError(f"objective {self.name!r}: every target is 0, which has no logarithm; use 'squared'")
        return apply_elementwise(log_values, np.array([mean]))


@register
class Poisson(LogMeanObjective):
    """e^F - y F for counts y >= 0."""

    name = "poisson"
    default_metric = "poisson_deviance"
    pairs_kernel = kernels.poisson_pairs
    loss_kernel = kernels.poisson_loss

    def check_target(self, y: np.ndarray) -> None:
        """Refuse what is below 0."""
        bad = ~((y >= 0.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, bad, "a count of at least 0", "correct it or use 'squared'")


@register
class Gamma(LogMeanObjective):
    """F + y e^-F for amounts y > 0."""

    name = "gamma"
    default_metric = "gamma_deviance"
    pairs_kernel = kernels.gamma_pairs
    loss_kernel = kernels.gamma_loss

    def check_target(self, y: np.ndarray) -> None:
        """Refuse 0 and below."""
        bad = ~((y > 0.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, bad, "an amount above 0", "drop the row or use 'tweedie', which takes 0")


@register
@dataclass(frozen=True, repr=False)
class Tweedie(LogMeanObjective):
    """The deviance of amounts that are 0 or spread out, with a ``power`` between Poisson's 1 and gamma's 2."""

    power: float = 1.5

    name = "tweedie"
    pairs_kernel = kernels.tweedie_pairs
    loss_kernel = kernels.tweedie_loss

    def __post_init__(self) -> None:
        allowed = "a number between 1 and 2 (at 1 use 'poisson', at 2 'gamma')"
        check_setting(self, "power", 1.0 < self.power < 2.0, allowed)

    @property
    def default_metric(self) -> str:
        """The deviance of the same power."""
        return f"tweedie_deviance@{self.power:.17g}"

    def check_target(self, y: np.ndarray) -> None:
        """Refuse what is below 0."""
        bad = ~((y >= 0.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, bad, "an amount of at least 0", "correct it or use 'squared'")


@register
class Msle(Objective):
    """(log(1 + y) - F)^2 / 2 with the prediction e^F - 1: on this scale the loss is squared error and its curvature 1.

    As a function of the prediction itself the curvature would be negative for predictions far too high.
    """

    name = "msle"
    aliases = ("squared_log_error", "mean_squared_logarithmic_error", "rmsle")
    default_metric = "msle"
    link = Log1p()
    pairs_kernel = kernels.msle_pairs
    loss_kernel = kernels.msle_loss

    def check_target(self, y: np.ndarray) -> None:
        """Refuse -1 and below."""
        bad = ~((y > -1.0) & (y <= MAX_TARGET))
        reject_targets(self.name, y, bad, "a number above -1", "correct it or use 'squared'")

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The mean of log(1 + y)."""
        return np.array([fixed_mean(apply_elementwise(log1p_values, y, run), weight, run)])
