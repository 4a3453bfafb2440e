"""Losses with settings of every kind, and targets they allow."""

from __future__ import annotations

import numpy as np

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
    random = np.random.default_rng(seed)
    if loss.task == "multiclass":
        return random.integers(0, loss.n_outputs, n).astype(float)
    if loss.task == "binary":
        return (random.uniform(size=n) < 0.7).astype(float)
    if loss.name == "cross_entropy":
        return random.uniform(size=n)
    if loss.name in ("poisson", "tweedie"):
        return np.maximum(random.poisson(1.5, n).astype(float), 0)
    if loss.name in ("gamma", "msle"):
        return random.gamma(2.0, size=n)
    return random.normal(size=n) * 3 + 1


def scores_near(loss: Objective, n: int, seed: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(loss.n_outputs, n))


def pairs_of(loss: Objective, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    out = np.full((loss.n_outputs, len(y), 2), 777, dtype=np.float32)
    loss.pairs(y, scores, out)
    return out
