"""At equal settings every loss ends as low on unseen rows as in a library that has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.objectives import Huber, Quantile, Tweedie, mean_loss, resolve

N, ROUNDS, LEAVES, RATE, ROWS_IN_LEAF, PENALTY = 4000, 50, 15, 0.1, 20, 1.0

FOR_LIGHTGBM = {
    "squared": ("squared", {"objective": "regression"}),
    "absolute": ("absolute", {"objective": "regression_l1"}),
    "huber": (Huber(1.0), {"objective": "huber", "alpha": 1.0}),
    "quantile": (Quantile(0.8), {"objective": "quantile", "alpha": 0.8}),
    "mape": ("mape", {"objective": "mape"}),
    "poisson": ("poisson", {"objective": "poisson"}),
    "gamma": ("gamma", {"objective": "gamma"}),
    "tweedie": (Tweedie(1.5), {"objective": "tweedie", "tweedie_variance_power": 1.5}),
    "logistic": ("logistic", {"objective": "binary"}),
    "cross_entropy": ("cross_entropy", {"objective": "cross_entropy"}),
    "softmax": ("softmax", {"objective": "multiclass", "num_class": 3}),
    "one_vs_all": ("one_vs_all", {"objective": "multiclassova", "num_class": 3}),
}
FOR_XGBOOST = {
    "squared": ("squared", {"objective": "reg:squarederror"}),
    "absolute": ("absolute", {"objective": "reg:absoluteerror"}),
    "quantile": (Quantile(0.8), {"objective": "reg:quantileerror", "quantile_alpha": 0.8}),
    "poisson": ("poisson", {"objective": "count:poisson"}),
    "gamma": ("gamma", {"objective": "reg:gamma"}),
    "tweedie": (Tweedie(1.5), {"objective": "reg:tweedie", "tweedie_variance_power": 1.5}),
    "logistic": ("logistic", {"objective": "binary:logistic"}),
    "cross_entropy": ("cross_entropy", {"objective": "reg:logistic"}),
    "hinge": ("hinge", {"objective": "binary:hinge", "base_score": 0.0}),
    "softmax": ("softmax", {"objective": "multi:softprob", "num_class": 3}),
}
FOR_SKLEARN = {
    "squared": ("squared", {"loss": "squared_error"}),
    "absolute": ("absolute", {"loss": "absolute_error"}),
    "quantile": (Quantile(0.8), {"loss": "quantile", "quantile": 0.8}),
    "poisson": ("poisson", {"loss": "poisson"}),
    "gamma": ("gamma", {"loss": "gamma"}),
    "logistic": ("logistic", {"loss": "log_loss"}),
    "softmax": ("softmax", {"loss": "log_loss"}),
}


def rows(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of few values, so that all libraries have the same bins, and a target that the loss allows."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 50, size=(N, 6)).astype(np.float64)
    signal = np.sin(X[:, 0] / 8) + (X[:, 1] - 25) * (X[:, 2] > 20) / 25 + X[:, 3] / 50 + 0.5 * random.normal(size=N)
    targets = {
        "poisson": lambda: random.poisson(np.exp(signal)),
        "tweedie": lambda: random.poisson(np.exp(signal)) * random.gamma(2.0, size=N),
        "gamma": lambda: np.exp(signal) * random.gamma(3.0, size=N),
        "mape": lambda: 2.0 + np.exp(signal),
        "cross_entropy": lambda: 1 / (1 + np.exp(-2 * signal)),
        "logistic": lambda: signal + random.logistic(size=N) > 0,
        "hinge": lambda: signal > 0.5,
        "softmax": lambda: np.digitize(signal, [0.0, 1.0]),
        "one_vs_all": lambda: np.digitize(signal, [0.0, 1.0]),
    }
    return X, targets.get(name, lambda: signal)().astype(np.float64)


def our_loss_and(name: str, objective: Any, their_scores: np.ndarray) -> tuple[float, float]:
    """The mean loss on unseen rows of our model, and of a peer's scores."""
    (X, y), (X_test, y_test) = rows(name, 0), rows(name, 1)
    loss = resolve(objective)
    loss = loss.for_classes(3) if loss.task == "multiclass" else loss
    model = (SapwoodRegressor if loss.task == "regression" else SapwoodClassifier)(
        objective=objective, n_estimators=ROUNDS, max_leaves=LEAVES, learning_rate=RATE,
        min_child_samples=ROWS_IN_LEAF, reg_lambda=PENALTY,
    ).fit(X, y)  # fmt: skip
    both = [np.asarray(s, dtype=np.float64).reshape(len(y_test), -1) for s in (model.predict_raw(X_test), their_scores)]
    ours, theirs = (mean_loss(loss, y_test, np.ascontiguousarray(scores.T)) for scores in both)
    return ours, theirs


def assert_within_a_hundredth(name: str, objective: Any, their_scores: np.ndarray) -> None:
    ours, theirs = our_loss_and(name, objective, their_scores)
    assert ours <= theirs + 0.01 * abs(theirs)


@pytest.mark.parametrize("name", FOR_LIGHTGBM)
def test_as_low_as_lightgbm(name):
    lightgbm = pytest.importorskip("lightgbm")
    (X, y), (X_test, _) = rows(name, 0), rows(name, 1)
    objective, settings = FOR_LIGHTGBM[name]
    params = {
        "num_leaves": LEAVES, "learning_rate": RATE, "min_data_in_leaf": ROWS_IN_LEAF, "lambda_l2": PENALTY,
        "verbose": -1, "num_threads": 1, **settings,
    }  # fmt: skip
    booster = lightgbm.train(params, lightgbm.Dataset(X, y), ROUNDS)
    assert_within_a_hundredth(name, objective, booster.predict(X_test, raw_score=True))


@pytest.mark.parametrize("name", FOR_XGBOOST)
def test_as_low_as_xgboost(name):
    xgboost = pytest.importorskip("xgboost")
    (X, y), (X_test, _) = rows(name, 0), rows(name, 1)
    objective, settings = FOR_XGBOOST[name]
    params = {
        "max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide", "eta": RATE, "lambda": PENALTY,
        "verbosity": 0, "nthread": 1, **settings,
    }  # fmt: skip
    booster = xgboost.train(params, xgboost.DMatrix(X, y), ROUNDS)
    assert_within_a_hundredth(name, objective, booster.predict(xgboost.DMatrix(X_test), output_margin=True))


@pytest.mark.parametrize("name", FOR_SKLEARN)
def test_as_low_as_scikit_learn(name):
    (X, y), (X_test, _) = rows(name, 0), rows(name, 1)
    objective, settings = FOR_SKLEARN[name]
    kind = HistGradientBoostingClassifier if settings["loss"] == "log_loss" else HistGradientBoostingRegressor
    theirs = kind(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, min_samples_leaf=ROWS_IN_LEAF,
        l2_regularization=PENALTY, early_stopping=False, **settings,
    ).fit(X, y)  # fmt: skip
    scores = theirs.decision_function(X_test) if kind is HistGradientBoostingClassifier else theirs.predict(X_test)
    assert_within_a_hundredth(name, objective, np.log(scores) if name in ("poisson", "gamma") else scores)
