"""Losses for targets on the whole line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.losses import regression as kernels
from sapwood.kernels.losses.gradient_pairs import MAX_FLOAT32
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.base import Objective, check_setting, reject_targets, weighted_quantile
from sapwood.objectives.best_constant import constant_between
from sapwood.objectives.links import Identity, Link, Sorted
from sapwood.objectives.registry import register


@register
class Squared(Objective):
    """(y - F)^2 / 2; its best constant is the mean."""

    name = "squared"
    aliases = ("squared_error", "mse", "l2")
    default_metric = "rmse"
    pairs_kernel = kernels.squared_pairs
    loss_kernel = kernels.squared_loss

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The mean."""
        return np.array([fixed_mean(y, weight, run)])


class QuantileLeafObjective(Objective):
    """A loss with corners, whose best value, of a leaf as of all rows, is a weighted quantile of the residuals."""

    curvature = "surrogate"
    has_quantile_leaves = True

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The weighted quantile of the targets, one per output."""
        weights = self.leaf_weights(y, weight)
        return np.array([weighted_quantile(y, weights, level, run) for level in self.leaf_quantiles])


@register
class Absolute(QuantileLeafObjective):
    """|y - F|; its best constant is the median."""

    name = "absolute"
    aliases = ("absolute_error", "mae", "l1")
    default_metric = "mae"
    leaf_quantiles = (0.5,)
    pairs_kernel = kernels.absolute_pairs
    loss_kernel = kernels.absolute_loss


@register
class Mape(QuantileLeafObjective):
    """|y - F| / |y|; its best constant is the median under weights 1 / |y|."""

    name = "mape"
    aliases = ("mean_absolute_percentage_error",)
    default_metric = "mape"
    leaf_quantiles = (0.5,)
    pairs_kernel = kernels.mape_pairs
    loss_kernel = kernels.mape_loss

    def check_target(self, y: np.ndarray) -> None:
        """Refuse 0, of which nothing is a percentage."""
        super().check_target(y)
        remedy = "drop the row, or use 'absolute' or 'poisson'"
        reject_targets(self.name, y, np.abs(y) < 1.0 / MAX_FLOAT32, "a number other than 0", remedy)

    def leaf_weights(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Weights over |y|."""
        return super().leaf_weights(y, weight) / np.abs(y)


@register
@dataclass(frozen=True, repr=False)
class Quantile(QuantileLeafObjective):
    """The pinball loss: a (y - F) above the score, (1 - a) (F - y) below, for a level a or several of them.

    Several levels give one score each; the prediction of a row is its scores in ascending order, so that quantiles
    never cross.
    """

    level: Any = 0.5

    name = "quantile"
    aliases = ("pinball",)
    pairs_kernel = kernels.quantile_pairs
    loss_kernel = kernels.quantile_loss

    def __post_init__(self) -> None:
        several = isinstance(self.level, Iterable)
        levels = tuple(sorted(float(level) for level in self.level)) if several else (float(self.level),)
        if not levels or len(set(levels)) < len(levels) or not all(0.0 < level < 1.0 for level in levels):
            allowed = "a number between 0 and 1, or several different ones"
            raise ParameterError(f"Quantile: level={self.level!r}; allowed is {allowed}")
        object.__setattr__(self, "level", levels if several else levels[0])

    @property
    def leaf_quantiles(self) -> tuple[float, ...]:
        """The levels, ascending."""
        return self.level if isinstance(self.level, tuple) else (self.level,)

    @property
    def n_outputs(self) -> int:
        """One score per level."""
        return len(self.leaf_quantiles)

    @property
    def link(self) -> Link:
        """Scores as they are, or in order where there are several."""
        return Identity() if self.n_outputs == 1 else Sorted()

    @property
    def default_metric(self) -> str:
        """The pinball loss of the same levels."""
        return "quantile@" + ",".join(f"{level!r}" for level in self.leaf_quantiles)

    def numbers(self) -> np.ndarray:
        """The levels."""
        return np.array(self.leaf_quantiles)

    def settings(self) -> dict[str, Any]:
        """The level, or a list of them."""
        return {"level": list(self.level) if isinstance(self.level, tuple) else self.level}


class ResidualObjective(Objective):
    """A convex loss of the residual: its best constant lies between the least and the largest target."""

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """Where the gradients sum to 0."""
        return np.array([constant_between(self, y, weight, float(np.min(y)), float(np.max(y)), run)])


@register
@dataclass(frozen=True, repr=False)
class Huber(ResidualObjective):
    """(y - F)^2 / 2 up to a residual of ``delta``, straight beyond."""

    delta: float = 1.0

    name = "huber"
    aliases = ("huber_loss",)
    curvature = "surrogate"
    pairs_kernel = kernels.huber_pairs
    loss_kernel = kernels.huber_loss

    def __post_init__(self) -> None:
        check_setting(self, "delta", 0.0 < self.delta < math.inf, "a number above 0")


@register
@dataclass(frozen=True, repr=False)
class Expectile(ResidualObjective):
    """Squared error weighted by ``level`` above the score and by 1 - ``level`` below."""

    level: float = 0.5

    name = "expectile"
    pairs_kernel = kernels.expectile_pairs
    loss_kernel = kernels.expectile_loss

    def __post_init__(self) -> None:
        check_setting(self, "level", 0.0 < self.level < 1.0, "a number between 0 and 1")


@register
class LogCosh(ResidualObjective):
    """log(cosh(y - F)): squared error for small residuals, absolute error for large ones."""

    name = "log_cosh"
    aliases = ("logcosh",)
    curvature = "surrogate"
    pairs_kernel = kernels.log_cosh_pairs
    loss_kernel = kernels.log_cosh_loss
