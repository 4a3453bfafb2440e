"""Objectives and metrics of two names that must mean the same: trained and evaluated by both libraries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.metrics.registry import resolve_metric
from sapwood.objectives.registry import resolve
from sapwood.params.aliases.alias import METRIC, OBJECTIVE
from tests.params.aliases.peers import rows

N_ROWS, N_ROUNDS, LEARNING_RATE = 400, 60, 0.3


def synonyms(library: str, kind: str) -> list[str]:
    """Return the names that are accepted because they mean the same, without those that a note qualifies."""
    return [name for row in rows(library, kind) if row.is_synonym and not row.note for name in row.names]


def target(task: str) -> np.ndarray:
    """Return targets that every loss of a task allows."""
    random = np.random.default_rng(0)
    if task == "multiclass":
        return random.choice(3, N_ROWS, p=[0.2, 0.3, 0.5])
    if task == "binary":
        return (random.random(N_ROWS) < 0.3).astype(int)
    return random.gamma(2.0, 2.0, N_ROWS) + 1.0


def task_of(name: str) -> str:
    """Return the task that an objective is tried on."""
    loss = resolve(name)
    return "probability" if loss.name == "cross_entropy" else loss.task


def objective_table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of two kinds of rows and a target for an objective."""
    task = task_of(name)
    y = np.random.default_rng(1).random(N_ROWS) if task == "probability" else target(task)
    return np.repeat([[0.0], [1.0]], N_ROWS // 2, axis=0), y


def our_predictions(name: str) -> np.ndarray:
    """Return what Sapwood predicts for the two kinds of rows, by classes as probabilities."""
    X, y = objective_table(name)
    is_classifier = task_of(name) in ("binary", "multiclass")
    estimator = SapwoodClassifier if is_classifier else SapwoodRegressor
    model = estimator(objective=name, n_estimators=N_ROUNDS, learning_rate=LEARNING_RATE, reg_lambda=0.0).fit(X, y)
    return (model.predict_proba if is_classifier else model.predict)(X[[0, -1]])


def check_objective(name: str, predict: Callable[[np.ndarray, np.ndarray, str], np.ndarray]) -> None:
    """Assert that a library converges to our predictions; it gets X, y and a task, and returns those of all rows."""
    X, y = objective_table(name)
    theirs = np.asarray(predict(X, y, task_of(name)), dtype=float)[[0, -1]]
    ours = our_predictions(name)
    if theirs.ndim == 1 and ours.ndim == 2:
        ours = ours[:, 1]
    np.testing.assert_allclose(theirs, ours, rtol=0.02)


def metric_table(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return targets, predictions and a task for a metric."""
    tasks = resolve_metric(name).tasks
    is_multiclass = name.lower().startswith(("m", "softmax", "ov")) and "multiclass" in tasks
    task = "regression" if "regression" in tasks else "multiclass" if is_multiclass else "binary"
    y, random = target(task), np.random.default_rng(2)
    if resolve_metric(name).name == "cross_entropy":
        return random.random(N_ROWS), np.clip(random.random(N_ROWS), 0.01, 0.99), "probability"
    if task == "multiclass":
        return y, random.dirichlet([1.0, 1.0, 1.0], N_ROWS), task
    prediction = random.random(N_ROWS) if task == "binary" else y * random.uniform(0.5, 2.0, N_ROWS)
    return y, prediction, task


def check_metric(name: str, evaluate: Callable[[np.ndarray, np.ndarray, str], float]) -> None:
    """Assert that a library computes our value of a metric, from targets, predictions and a task."""
    y, prediction, task = metric_table(name)
    assert np.isclose(evaluate(y, prediction, task), resolve_metric(name)(y, prediction), rtol=1e-4)


OBJECTIVES = {library: synonyms(library, OBJECTIVE) for library in ("LightGBM", "XGBoost", "CatBoost")}
METRICS = {library: synonyms(library, METRIC) for library in ("LightGBM", "XGBoost", "CatBoost")}
