"""Losses with settings of every kind, and targets they allow."""

from __future__ import annotations

import numpy as np

from sapwood.errors import InputError
from sapwood.objectives import Expectile, Focal, Huber, OneVsAll, Quantile, Softmax, Tweedie
from sapwood.objectives.base import Objective
from sapwood.objectives.registry import losses

MORE = [
    Quantile(0.9), Quantile([0.1, 0.5, 0.9]), Huber(0.3), Expectile(0.8), Tweedie(1.2), Focal(3.0, 0.25), Focal(0.0),
    Softmax(2), Softmax(4, curvature_factor=1.0), OneVsAll(4),
]  # fmt: skip


def every_loss() -> list[Objective]:
    """Each registered loss as it comes, and those of ``MORE``; losses for classes have three of them."""
    plain = [loss() for loss in dict.fromkeys(losses().values())]
    return [loss.for_classes(3) if loss.task == "multiclass" else loss for loss in plain] + MORE


def name_of(loss: Objective) -> str:
    return repr(loss)


def targets(loss: Objective, n: int, seed: int = 3) -> np.ndarray:
    """Random targets that the loss allows: classes, numbers, counts, amounts above 0 or probabilities."""
    random = np.random.default_rng(seed)
    if loss.task == "multiclass":
        return random.integers(0, loss.n_outputs, n).astype(float)
    if loss.task == "binary":
        return (random.uniform(size=n) < 0.7).astype(float)
    numbers, counts = random.normal(size=n) * 3 + 1, random.poisson(1.5, n).astype(float)
    amounts, probabilities = random.gamma(2.0, size=n), random.uniform(size=n)
    return next(y for y in (numbers, counts, amounts, probabilities) if is_allowed(loss, y))


def is_allowed(loss: Objective, y: np.ndarray) -> bool:
    try:
        loss.check_target(y)
    except InputError:
        return False
    return True


def scores_near(loss: Objective, n: int, seed: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(loss.n_outputs, n))


def pairs_of(loss: Objective, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    out = np.full((loss.n_outputs, len(y), 2), 777, dtype=np.float32)
    loss.pairs(y, scores, out)
    return out
