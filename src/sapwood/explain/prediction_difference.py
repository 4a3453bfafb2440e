"""PredictionDiff: which features decide that one of two rows has the higher score."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.categories.vocabulary import CategoricalColumn
from sapwood.data.tables.changed_column import ChangedColumn
from sapwood.data.tables.table import RowTable
from sapwood.errors import InputError, ParameterError
from sapwood.model.model import Model


def prediction_difference(model: Model, X: Any, n_jobs: int | None = None) -> np.ndarray:
    """Return for each column the largest change of the difference of the scores of two rows.

    The column is set to the same value in both rows, for all values that trees tell apart; only values count for which
    the order of the two scores is reversed.
    """
    if X is None:
        raise InputError("importance: kind 'prediction_diff' compares two rows: pass them as X")
    if model.n_outputs > 1:
        raise ParameterError(
            f"importance: kind 'prediction_diff' compares one score, the model has {model.n_outputs} outputs"
        )
    table = model.align(X)
    if table.n_rows != 2:
        raise InputError(f"importance: kind 'prediction_diff' compares two rows, X has {table.n_rows}")
    first, second = model.predict_raw(table, n_jobs=n_jobs)
    difference = first - second
    changes = np.zeros(model.n_features)
    for f in range(model.n_features):
        values = values_told_apart(model, f)
        n = len(values.codes) if isinstance(values, CategoricalColumn) else len(values)
        if n > 1:
            both = np.tile(np.arange(n), 2)
            column = values.take(both) if isinstance(values, CategoricalColumn) else values[both]
            scores = model.predict_raw(ChangedColumn(RowTable(table, np.repeat([0, 1], n)), f, column), n_jobs=n_jobs)
            changed = scores[:n] - scores[n:]
            reversed_order = np.sign(changed) * np.sign(difference) < 0
            changes[f] = np.abs(changed - difference)[reversed_order].max(initial=0.0)
    return changes


def values_told_apart(model: Model, feature: int) -> np.ndarray | CategoricalColumn:
    """Return one value of each interval between thresholds, and a missing one; or each category, and a missing one."""
    if feature in model.schema.categorical_columns:
        assert model.transformer is not None
        categories = model.transformer.vocabularies[feature].categories
        return CategoricalColumn(np.arange(-1, len(categories), dtype=np.int32), categories)
    thresholds = numeric_thresholds(model, feature)
    if len(thresholds) == 0:
        return thresholds
    return np.array([*thresholds, np.nextafter(thresholds[-1], np.inf), np.nan])


def numeric_thresholds(model: Model, feature: int) -> np.ndarray:
    """Return the sorted thresholds of a numeric column, with those of its combinations; equal values go left."""
    columns = list(range(model.n_features)) if model.transformer is None else list(model.transformer.columns)
    numbers = [k for k, column in enumerate(columns) if isinstance(column, int) and column == feature]
    thresholds = model.ensemble.threshold[np.isin(model.ensemble.feature, numbers)]
    cuts = np.empty(0) if model.transformer is None else model.transformer.cuts.get(feature, np.empty(0))
    return np.unique(np.concatenate([thresholds, cuts]))
