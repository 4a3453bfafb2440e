"""A table whose target pulls against the constraints, for every loss and growth."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.objectives import CustomLoss, OneVsAll, Quantile, Softmax
from sapwood.objectives.base import Objective
from sapwood.objectives.registry import losses
from sapwood.params.options import Symmetric

N_FEATURES = 5
GROWTHS = {
    "leafwise": "leafwise",
    "levelwise": "levelwise",
    "symmetric": "symmetric",
    "cosine": Symmetric("cosine"),
}
WAYS: dict[str, dict[str, Any]] = {
    f"{name} {cells}": {"growth": growth, "precision": cells}
    for name, growth in GROWTHS.items()
    for cells in ("packed", "wide")
}
WAYS |= {f"{growth} exact": {"growth": growth, "split_search": "exact"} for growth in ("leafwise", "levelwise")}

LOSSES: dict[str, Objective] = {loss.name: loss() for loss in dict.fromkeys(losses().values())} | {
    "three quantiles": Quantile([0.1, 0.5, 0.9]),
    "vector leaves": Softmax(vector_leaves=True),
    "one against all in vectors": OneVsAll(vector_leaves=True),
    "one line": CustomLoss(lambda y, f: np.log(np.cosh(y - f))),
}


def rows(loss: Objective, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, target and weights; the target waves along all features."""
    random = np.random.default_rng(5)
    X = random.uniform(-2, 2, size=(n, N_FEATURES))
    X[:, 4] = np.round(2 * X[:, 4])
    signal = np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]) * X[:, 2] + 0.5 * X[:, 3] * X[:, 4] + X[:, 0] - X[:, 1]
    X[random.uniform(size=X.shape) < 0.1] = np.nan
    return X, target(loss, signal, random), random.gamma(2.0, size=n)


def target(loss: Objective, signal: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if loss.task == "multiclass":
        return np.digitize(signal, [-1.0, 1.0]).astype(float)
    if loss.task == "binary":
        return (signal + random.logistic(size=len(signal)) > 0).astype(float)
    if loss.name == "cross_entropy":
        return 1.0 / (1.0 + np.exp(-signal))
    if loss.name in ("poisson", "tweedie"):
        return random.poisson(np.exp(0.5 * signal)).astype(float)
    if loss.name in ("gamma", "msle", "mape"):
        return np.exp(0.5 * signal)
    return signal


def fit(loss: Objective, **params: Any) -> SapwoodClassifier | SapwoodRegressor:
    """A small model of this loss on its table."""
    X, y, weight = rows(loss)
    estimator = SapwoodClassifier if loss.task in ("binary", "multiclass") else SapwoodRegressor
    few = {"n_estimators": 6, "learning_rate": 0.5, "max_leaves": 16}
    if params.get("growth") in (None, "leafwise", "levelwise"):
        few["min_child_samples"] = 5
    return estimator(**({"objective": loss} | few | params)).fit(X, y, sample_weight=weight)
