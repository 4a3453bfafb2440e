"""Focal loss for imbalanced classes."""

from __future__ import annotations

import math

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.elementary import exp, log1p
from sapwood.kernels.numeric.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.threads.slices import slice_start
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, kernel, run_serial
from sapwood.objectives.base import check_setting
from sapwood.objectives.best_constant import constant_between
from sapwood.objectives.loss_families import MAX_LOG_ODDS, BinaryObjective
from sapwood.objectives.registry import register


@kernel(PAIRS)
def focal_pairs(member, members, sync, y, scores, params, out):
    """-w q^gamma log p with p = 1 / (1 + e^(-sF)) and q = 1 - p.

    The hessian is negative for large errors; its lower bound is that of the logistic loss times w q^gamma.
    """
    n = y.shape[0]
    gamma = params[0]
    weight_1 = params[1]
    weight_0 = params[2]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        w = weight_1 if s > 0.0 else weight_0
        u = s * scores[0, i]
        e = exp(-abs(u))
        d = 1.0 / (1.0 + e)
        p = d if u >= 0.0 else e * d
        q = e * d if u >= 0.0 else d
        tail = log1p(e)
        log_p = (u if u < 0.0 else 0.0) - tail
        log_q = (-u if u > 0.0 else 0.0) - tail
        factor = w * exp(gamma * log_q)
        curvature = q * (2.0 * gamma + 1.0) + gamma * log_p * (q - gamma * p)
        gradient = s * factor * (gamma * p * log_p - q)
        store_pair(out, 0, i, gradient, factor * p * (curvature if curvature > q else q))


@kernel(LOSS)
def focal_loss(member, members, sync, y, scores, params, out):
    """-w q^gamma log p with p = 1 / (1 + e^(-sF)) and q = 1 - p."""
    n = y.shape[0]
    gamma = params[0]
    weight_1 = params[1]
    weight_0 = params[2]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        w = weight_1 if s > 0.0 else weight_0
        u = s * scores[0, i]
        tail = log1p(exp(-abs(u)))
        log_p = (u if u < 0.0 else 0.0) - tail
        log_q = (-u if u > 0.0 else 0.0) - tail
        out[i] = -w * exp(gamma * log_q) * log_p


@register
@dataclass(frozen=True, repr=False)
class Focal(BinaryObjective):
    """-w (1 - p)^gamma log p, p the probability of the true class: down-weights rows that are classified well.

    Logit link. For very imbalanced classes. w is the weight of the class.

    Parameters
    ----------
    gamma : float, default=2.0
        Strength of the down-weighting of rows that are classified well; 0 gives the logistic loss.
    alpha : float, optional
        Weight w of class 1, between 0 and 1; that of class 0 is 1 - ``alpha``. By default both are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.objectives import Focal
    >>> SapwoodClassifier(objective=Focal(gamma=2.0))
    SapwoodClassifier(objective=Focal(gamma=2.0, alpha=None))
    >>> Focal(gamma=2.0).loss(np.array([1.0]), np.array([[0.0]])).round(3)  # y = 1, F = 0
    array([0.173])
    """

    gamma: float = 2.0
    alpha: float | None = None

    name = "focal"
    curvature = "floored"
    pairs_kernel = focal_pairs
    loss_kernel = focal_loss

    def __post_init__(self) -> None:
        check_setting(self, "gamma", 0.0 <= self.gamma < math.inf, "a number of at least 0")
        check_setting(self, "alpha", self.alpha is None or 0.0 < self.alpha < 1.0, "a number between 0 and 1, or None")

    def kernel_params(self) -> np.ndarray:
        """Return gamma and the weights of class 1 and class 0."""
        return np.array([self.gamma, 1.0, 1.0] if self.alpha is None else [self.gamma, self.alpha, 1.0 - self.alpha])

    def best_constant(
        self, y: np.ndarray, weight: np.ndarray | None = None, run: Run = run_serial, workers: Workers = LOCAL
    ) -> np.ndarray:
        """Return the score at which the gradients sum to 0."""
        return np.array([constant_between(self, y, weight, -MAX_LOG_ODDS, MAX_LOG_ODDS, run, workers)])
