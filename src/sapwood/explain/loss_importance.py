"""Importances on data: how much the loss grows when a feature is removed from the model or permuted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sapwood.data.tables.changed_column import ChangedColumn, read_column
from sapwood.data.tables.table import Table
from sapwood.errors import InputError, ParameterError
from sapwood.explain.conditional_scores import ConditionalScores
from sapwood.explain.fitted_model import FittedModel
from sapwood.model.model import Model
from sapwood.objectives.base import Objective, mean_loss
from sapwood.objectives.registry import restore

CALLER = "importance"


class LabeledRows(NamedTuple):
    """Rows with their target as float64 and the loss of the model."""

    table: Table
    y: np.ndarray
    weight: np.ndarray | None
    objective: Objective

    def loss(self, scores: np.ndarray) -> float:
        """Return the mean loss at scores (outputs, rows)."""
        return mean_loss(self.objective, self.y, np.ascontiguousarray(scores), self.weight)


def read_rows(model: Model, X: Any, y: Any, sample_weight: Any, kind: str) -> LabeledRows:
    """Read X and y; raise an InputError if one is missing."""
    if X is None or y is None:
        raise InputError(f"importance: kind {kind!r} measures the loss on data: pass X and y")
    if "name" not in model.objective:
        raise ParameterError(f"importance: kind {kind!r} needs the objective, which the model does not contain")
    table = model.align(X)
    fitted = FittedModel.of(model, CALLER)
    target, weight = fitted.target(y, table.n_rows, CALLER), fitted.weight(sample_weight, table.n_rows)
    settings = {name: value for name, value in model.objective.items() if name != "name"}
    objective = restore(model.objective["name"], settings.get("settings", settings))
    return LabeledRows(table, target, weight, objective)


def loss_function_change(model: Model, rows: LabeledRows, n_jobs: int | None = None) -> np.ndarray:
    """Return for each column the loss without it minus the loss of the model.

    A column is removed by replacing its splits by the mean of their sides, weighted by cover.
    """
    features, conditional = model.transform(rows.table), ConditionalScores(model)
    loss = rows.loss(_scores(model, rows.table, n_jobs))
    changes = np.zeros(model.n_features)
    for f in set(conditional.players.share_feature.tolist()):
        changes[f] = rows.loss(conditional.without(features, f, n_jobs)) - loss
    return changes


def permutation_importance(
    model: Model, rows: LabeledRows, n_repeats: int, random_state: int, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column the mean increase of the loss when its values are permuted, and its standard error."""
    if n_repeats < 2:
        raise ParameterError(f"n_repeats must be at least 2, for a standard error, got {n_repeats!r}")
    used = model.ensemble.used_features(model.n_columns)
    sources = [(f,) for f in range(model.n_features)] if model.transformer is None else model.transformer.sources
    columns = sorted({f for k in np.flatnonzero(used) for f in sources[k]})
    loss = rows.loss(_scores(model, rows.table, n_jobs))
    changes = np.zeros((n_repeats, model.n_features))
    for f in columns:
        values = read_column(rows.table, f, f in model.schema.categorical_columns)
        for repeat in range(n_repeats):
            order = np.random.default_rng([random_state, f, repeat]).permutation(rows.table.n_rows)
            permuted = values[order] if isinstance(values, np.ndarray) else values.take(order)
            changes[repeat, f] = rows.loss(_scores(model, ChangedColumn(rows.table, f, permuted), n_jobs)) - loss
    return changes.mean(axis=0), changes.std(axis=0, ddof=1) / np.sqrt(n_repeats)


def _scores(model: Model, table: Table, n_jobs: int | None) -> np.ndarray:
    """Return the scores (outputs, rows)."""
    scores = model.predict_raw(table, n_jobs=n_jobs)
    return scores[None] if scores.ndim == 1 else scores.T
