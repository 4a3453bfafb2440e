"""Blend models by the weights that are best for their out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import is_classifier
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import check_cv, cross_val_predict

from sapwood.errors import ParameterError

MIN_PROBABILITY = 2.0**-52
MAX_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Blend:
    """Result of :func:`blend`.

    Attributes
    ----------
    estimator : VotingClassifier or VotingRegressor
        The models fitted on all rows, averaged with the weights.
    weights : dict
        Weight of each model; they sum to 1.
    losses : dict
        Out-of-fold loss of each model and of the ``"blend"``: mean squared error or log loss.
    correlations : ndarray (models, models)
        Correlations of the models' out-of-fold errors: good models that are little correlated gain most.
    """

    estimator: Any
    weights: dict[str, float]
    losses: dict[str, float]
    correlations: np.ndarray

    def __str__(self) -> str:
        width = max(map(len, self.losses))
        lines = [f"{name:<{width}}  weight {w:.3f}  loss {self.losses[name]:.6g}" for name, w in self.weights.items()]
        return "\n".join([*lines, f"{'blend':<{width}}  {'':12}  loss {self.losses['blend']:.6g}"])


def blend(estimators: Mapping[str, Any] | Sequence[tuple[str, Any]], X: Any, y: Any, *, cv: Any = 5) -> Blend:
    """Average models with non-negative weights that minimise the loss of their out-of-fold predictions.

    Parameters
    ----------
    estimators : dict or list of (str, estimator)
        Classifiers with ``predict_proba``, or regressors, by name.
    X, y : table and array-like
        Rows and targets.
    cv : int or splitter, default=5
        Folds, the same for all models.

    Returns
    -------
    Blend
        The averaged models fitted on all rows, weights, losses and the correlations of errors.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.practice import blend
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = blend({"trees": SapwoodRegressor(n_estimators=50), "ridge": RidgeCV()}, X, y)
    >>> result.losses["blend"] <= min(result.losses["trees"], result.losses["ridge"])
    True
    """
    named = list(estimators.items()) if isinstance(estimators, Mapping) else list(estimators)
    if len(named) < 2:
        raise ParameterError(f"blend needs at least two models, got {len(named)}")
    kinds = {is_classifier(model) for _, model in named}
    if len(kinds) > 1:
        raise ParameterError("blend takes classifiers or regressors, not both: pass models of one kind")
    is_class = kinds.pop()
    target = np.asarray(y)
    folds = list(check_cv(cv, target, classifier=is_class).split(X, target))
    method = "predict_proba" if is_class else "predict"
    predictions = [cross_val_predict(model, X, target, cv=folds, method=method) for _, model in named]
    values = np.stack([_of_true_class(target, p) if is_class else p for p in predictions])
    weights = best_mixture(values) if is_class else best_average(values, target)
    names = [name for name, _ in named]
    losses = {name: _loss(target, v, is_class) for name, v in zip(names, values, strict=True)}
    losses["blend"] = _loss(target, weights @ values, is_class)
    errors = values if is_class else values - target
    vote = (
        VotingClassifier(named, voting="soft", weights=weights) if is_class else VotingRegressor(named, weights=weights)
    )
    return Blend(vote.fit(X, target), dict(zip(names, weights.tolist(), strict=True)), losses, np.corrcoef(errors))


def best_average(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return non-negative weights of sum 1 with the least squared error of the mean of predictions (models, n)."""
    # Weights of sum 1 turn sum(w p) - y into sum(w (p - y)); a heavy equation for the sum makes it a non-negative
    # least-squares problem.
    errors = (predictions - y).T
    heavy = 1e4 * max(1.0, float(np.abs(errors).max())) * np.sqrt(len(y))
    weights, _ = nnls(np.vstack([errors, np.full(len(predictions), heavy)]), np.append(np.zeros(len(y)), heavy))
    return weights / weights.sum()


def best_mixture(probabilities: np.ndarray) -> np.ndarray:
    """Return the weights (models,) of a mixture with the least log loss, given p (models, n) of the true classes.

    Expectation maximisation: the log loss of a mixture is convex in its weights, and every step lowers it.
    """
    p = np.maximum(probabilities, MIN_PROBABILITY)
    weights = np.full(len(p), 1.0 / len(p))
    for _ in range(MAX_STEPS):
        shares = weights[:, None] * p
        updated = (shares / shares.sum(axis=0)).mean(axis=1)
        if np.abs(updated - weights).max() < 1e-7:
            return updated
        weights = updated
    return weights


def _of_true_class(y: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    _, codes = np.unique(y, return_inverse=True)
    return probabilities[np.arange(len(y)), codes]


def _loss(y: np.ndarray, values: np.ndarray, is_class: bool) -> float:
    if is_class:
        return float(-np.log(np.maximum(values, MIN_PROBABILITY)).mean())
    return float(np.square(values - y).mean())
