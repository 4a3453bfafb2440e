"""Families of losses that share targets, a link or the way to their best constant."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import InputError, ParameterError
from sapwood.kernels.numeric.elementwise import apply_elementwise, log_values
from sapwood.kernels.numeric.sums import fixed_fractions, fixed_mean
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.base import Objective, reject_targets, weighted_quantile
from sapwood.objectives.best_constant import constant_between
from sapwood.objectives.links import Link, Log, Logit

# Lower bound of the frequency of a class, so that the score of a class without weight is finite.
MIN_PROBABILITY = 1e-15
MAX_LOG_ODDS = 34.5  # of a probability of 1 - MIN_PROBABILITY


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Return log(p / (1 - p)), with p kept within ``MIN_PROBABILITY`` and 1 - ``MIN_PROBABILITY``."""
    within = np.clip(probability, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    return apply_elementwise(log_values, within / (1.0 - within))


class ResidualObjective(Objective):
    """A convex loss of the residual: its best constant lies between the smallest and the largest target."""

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the score at which the gradients sum to 0."""
        return np.array([constant_between(self, y, weight, *workers.extrema(y), run, workers)])


class QuantileLeafObjective(Objective):
    """A piecewise linear loss: the best value of a leaf, and of all rows, is a weighted quantile of the residuals."""

    curvature = "surrogate"
    has_quantile_leaves = True

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the weighted quantile of the targets, one per output."""
        weights = self.leaf_weights(y, weight)
        return np.array([weighted_quantile(y, weights, quantile, run, workers) for quantile in self.leaf_quantiles])


class LogMeanObjective(Objective):
    """A loss with a log link whose best constant is the logarithm of the mean."""

    link = Log()

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the logarithm of the mean."""
        mean = fixed_mean(y, weight, run, workers)
        if mean == 0.0:
            raise InputError(f"objective {self.name!r}: every target is 0, which has no logarithm; use 'squared'")
        return apply_elementwise(log_values, np.array([mean]))


class BinaryObjective(Objective):
    """A loss of two classes: targets 0 and 1, one score."""

    task = "binary"
    supported_tasks = frozenset({"binary"})
    link: Link = Logit()

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets other than 0 and 1."""
        is_bad = ~((y == 0.0) | (y == 1.0))
        reject_targets(self.name, y, is_bad, "0 or 1", "encode the two classes so, or use 'softmax' for more")


class MulticlassObjective(Objective):
    """A loss of several classes: targets are class numbers from 0, one score per class."""

    n_classes: int
    task = "multiclass"
    supported_tasks = frozenset({"binary", "multiclass"})
    default_metric = "log_loss"

    @property
    def n_outputs(self) -> int:
        """One score per class."""
        if self.n_classes < 2:
            raise ParameterError(f"objective {self.name!r} has no number of classes yet; use for_classes")
        return self.n_classes

    def check_target(self, y: np.ndarray) -> None:
        """Reject targets that are not class numbers."""
        is_class = (y >= 0.0) & (y < self.n_classes) & (y == np.floor(y))
        allowed = f"a class number from 0 to {self.n_classes - 1}"
        reject_targets(self.name, y, ~is_class, allowed, "encode the classes so")

    def class_frequencies(
        self, y: np.ndarray, weight: np.ndarray | None, run: Run, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the fraction of the weight that each class has."""
        weights = np.ones(len(y)) if weight is None else weight
        parts = [weights[y == k] for k in range(self.n_outputs)]
        return np.array(fixed_fractions(weights, parts, run, workers))


def with_vector_leaves(objective: Objective) -> Objective:
    """Return a loss of several classes with vector leaves; others as they are."""
    if not isinstance(objective, MulticlassObjective):
        return objective
    return dataclasses.replace(objective, vector_leaves=True)  # type: ignore[type-var]
