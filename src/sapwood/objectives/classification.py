"""Losses for classes. Two classes are 0 and 1 (also written -1 and 1, s below); several are numbered from 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.losses import binary as losses_binary
from sapwood.kernels.losses import multiclass as losses_classes
from sapwood.kernels.numeric.elementary import apply_elementwise, log_values
from sapwood.kernels.numeric.sums import fixed_mean
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives import links
from sapwood.objectives.base import Objective, check_setting, flat_pairs, reject_targets
from sapwood.objectives.best_constant import constant_between
from sapwood.objectives.registry import register

# A class without weight gets this probability, so that its score is finite.
MIN_PROBABILITY = 1e-15
MAX_CONSTANT = 34.5  # its log-odds


def log_odds(probability: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of shares p of the weight, kept finite."""
    within = np.clip(probability, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    return apply_elementwise(log_values, within / (1.0 - within))


class BinaryObjective(Objective):
    """A loss for a target of 0 or 1 and one score."""

    task = "binary"
    supported_tasks = frozenset({"binary"})
    link: links.Link = links.Logit()

    def check_target(self, y: np.ndarray) -> None:
        """Refuse what is neither 0 nor 1."""
        bad = ~((y == 0.0) | (y == 1.0))
        reject_targets(self.name, y, bad, "0 or 1", "encode the two classes so, or use 'softmax' for more")


@register
class Logistic(BinaryObjective):
    """log(1 + e^F) - y F, that is log(1 + e^(-sF)); for more than two classes, softmax."""

    name = "logistic"
    aliases: ClassVar[tuple[str, ...]] = ("log_loss", "binary_logistic", "binary_crossentropy")
    supported_tasks = frozenset({"binary", "multiclass"})
    default_metric = "log_loss"
    pairs_kernel = losses_binary.logistic_pairs
    loss_kernel = losses_binary.logistic_loss

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The log-odds of the mean."""
        return log_odds(np.array([fixed_mean(y, weight, run)]))

    def for_classes(self, n_classes: int) -> Objective:
        """This loss, or softmax for more than two classes."""
        return self if n_classes == 2 else Softmax(n_classes=n_classes)


@register
class CrossEntropy(Logistic):
    """The logistic loss for targets that are probabilities."""

    name = "cross_entropy"
    aliases = ("xentropy",)
    task = "regression"
    supported_tasks = frozenset({"regression"})
    default_metric = "cross_entropy"

    def check_target(self, y: np.ndarray) -> None:
        """Refuse what lies outside of 0 and 1."""
        reject_targets(
            self.name, y, ~((y >= 0.0) & (y <= 1.0)), "a probability from 0 to 1", "rescale it or use 'squared'"
        )

    def for_classes(self, n_classes: int) -> Objective:
        """Refuse: the targets are numbers."""
        return Objective.for_classes(self, n_classes)


@register
class Exponential(BinaryObjective):
    """e^(-sF), AdaBoost's loss: its weights are unbounded, so that outliers can rule it."""

    name = "exponential"
    link = links.HalfLogit()
    pairs_kernel = losses_binary.exponential_pairs
    loss_kernel = losses_binary.exponential_loss

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """Half the log-odds of the mean."""
        return 0.5 * log_odds(np.array([fixed_mean(y, weight, run)]))


@register
@dataclass(frozen=True, repr=False)
class Focal(BinaryObjective):
    """-w (1 - p)^gamma log p, p the probability of the true class: rows well on their side fade.

    ``alpha`` is w for class 1 and 1 - ``alpha`` for class 0; None is 1 for both.
    """

    gamma: float = 2.0
    alpha: float | None = None

    name = "focal"
    curvature = "floored"
    pairs_kernel = losses_binary.focal_pairs
    loss_kernel = losses_binary.focal_loss

    def __post_init__(self) -> None:
        check_setting(self, "gamma", 0.0 <= self.gamma < math.inf, "a number of at least 0")
        check_setting(self, "alpha", self.alpha is None or 0.0 < self.alpha < 1.0, "a number between 0 and 1, or None")

    def numbers(self) -> np.ndarray:
        """The power and the weights of class 1 and class 0."""
        return np.array([self.gamma, 1.0, 1.0] if self.alpha is None else [self.gamma, self.alpha, 1.0 - self.alpha])

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """Where the gradients sum to 0."""
        return np.array([constant_between(self, y, weight, -MAX_CONSTANT, MAX_CONSTANT, run)])


@register
class Hinge(BinaryObjective):
    """max(0, 1 - sF); the prediction is 0 up to a score of -1 and 1 from a score of 1."""

    name = "hinge"
    curvature = "surrogate"
    link = links.Margin()
    pairs_kernel = losses_binary.hinge_pairs
    loss_kernel = losses_binary.hinge_loss

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The side of the heavier class."""
        return np.sign([fixed_mean(y, weight, run) - 0.5])

    def initial_scores(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """Between the margins: at the best constant the rows of the heavier class have no gradient at all."""
        return np.array([2.0 * fixed_mean(y, weight, run) - 1.0])


class MulticlassObjective(Objective):
    """A loss with one score per class; the target is the number of the class."""

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
        """Refuse what is not the number of a class."""
        fits = (y >= 0.0) & (y < self.n_classes) & (y == np.floor(y))
        reject_targets(
            self.name, y, ~fits, f"the number of a class, 0 to {self.n_classes - 1}", "encode the classes so"
        )

    def class_frequencies(self, y: np.ndarray, weight: np.ndarray | None, run: Run) -> np.ndarray:
        """The share of the weight that each class has."""
        return np.array([fixed_mean((y == k).astype(np.float64), weight, run) for k in range(self.n_outputs)])


@register
@dataclass(frozen=True, repr=False)
class Softmax(MulticlassObjective):
    """-log p of the row's class, p in proportion to e^F.

    All scores of a row move together, so the hessian of each is p (1 - p) times ``curvature_factor``, which is
    K / (K - 1) for K classes unless given; 1 is the exact diagonal. With ``vector_leaves`` one tree serves all classes,
    its leaves answering a value for each; else every class has its own tree.
    """

    n_classes: int = 0
    curvature_factor: float | None = None
    vector_leaves: bool = False

    name = "softmax"
    aliases = ("multinomial", "multiclass", "categorical_crossentropy")
    link = links.Softmax()

    def __post_init__(self) -> None:
        fits = self.curvature_factor is None or 0.0 < self.curvature_factor < math.inf
        check_setting(self, "curvature_factor", fits, "a number above 0, or None")

    @property
    def curvature(self) -> str:
        """Exact for a factor of 1."""
        return "exact" if self.curvature_factor == 1.0 else "surrogate"

    def for_classes(self, n_classes: int) -> Softmax:
        """This loss with so many classes."""
        return Softmax(n_classes, self.curvature_factor, self.vector_leaves)

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The logarithm of each class's share."""
        return apply_elementwise(log_values, np.maximum(self.class_frequencies(y, weight, run), MIN_PROBABILITY))

    def pairs(self, y: np.ndarray, scores: np.ndarray, out: np.ndarray, run: Run = run_serial) -> None:
        """Fill ``out`` (n_outputs, n, 2) with gradients and hessians."""
        n_classes = self.n_outputs
        factor = n_classes / (n_classes - 1.0) if self.curvature_factor is None else self.curvature_factor
        kept = flat_pairs(out).view(np.float64)
        run(losses_classes.softmax_pairs, y, scores, factor, np.empty((3, len(y))), kept, flat_pairs(out))

    def loss(self, y: np.ndarray, scores: np.ndarray, run: Run = run_serial) -> np.ndarray:
        """The loss of each row."""
        out = np.empty(len(y))
        run(losses_classes.softmax_loss, y, scores, np.empty((2, len(y))), out)
        return out


@register
@dataclass(frozen=True, repr=False)
class OneVsAll(MulticlassObjective):
    """The logistic loss of each class against the rest, with a tree for each or ``vector_leaves`` for all."""

    n_classes: int = 0
    vector_leaves: bool = False

    name = "one_vs_all"
    aliases = ("one_vs_rest", "ova", "ovr")
    link = links.OneVsAll()
    pairs_kernel = losses_classes.one_vs_all_pairs
    loss_kernel = losses_classes.one_vs_all_loss

    def for_classes(self, n_classes: int) -> OneVsAll:
        """This loss with so many classes."""
        return OneVsAll(n_classes, self.vector_leaves)

    def best_constant(self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial) -> np.ndarray:
        """The log-odds of each class's share."""
        return log_odds(self.class_frequencies(y, weight, run))
