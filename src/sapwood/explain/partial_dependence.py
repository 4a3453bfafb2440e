"""Effects of a feature on predictions: partial dependence, individual curves, accumulated local effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.categories.vocabulary import CategoricalColumn
from sapwood.data.tables.changed_column import ChangedColumn, read_column
from sapwood.data.tables.table import RowTable, Table
from sapwood.errors import InputError, ParameterError
from sapwood.explain.conditional_scores import ConditionalScores
from sapwood.explain.fitted_model import FittedModel
from sapwood.explain.prediction_difference import values_told_apart
from sapwood.model.model import Model
from sapwood.params.validators import is_integer

METHODS = ("brute", "recursion")
RESPONSES = ("raw", "prediction")
EXACT = "exact"


@dataclass(frozen=True, eq=False)
class FeatureEffect:
    """The effect of one feature at the points of a grid.

    Attributes
    ----------
    feature : str
        Name of the column.
    grid : ndarray (points,)
        Values of the feature: numbers, or categories as strings (None is missing).
    average : ndarray (points,) or (points, outputs)
        Mean over the rows.
    individual : ndarray (rows, points) or (rows, points, outputs) or None
        The curve of each row.
    """

    feature: str
    grid: np.ndarray
    average: np.ndarray
    individual: np.ndarray | None = None


def partial_dependence(
    model: Model,
    X: Any,
    feature: int | str,
    *,
    grid: Any = 100,
    method: str = "brute",
    response: str = "raw",
    n_jobs: int | None = None,
) -> FeatureEffect:
    """Return the mean score (or prediction) of all rows with the feature set to each value of a grid.

    ``grid`` is a number of quantiles of X, a list of values, or "exact": one value of every interval between the
    thresholds of the trees, so that the curve has all steps of the model. With ``method="recursion"`` other features
    are averaged by the cover of the trees instead of over the rows of X; there are no individual curves then.
    """
    _check_choice("method", method, METHODS)
    _check_choice("response", response, RESPONSES)
    table, f = model.align(X), FittedModel.of(model, "partial_dependence").feature(feature, "partial_dependence")
    values = _grid_of(model, table, f, grid)
    name, shown = model.feature_names[f], _shown(values)
    n = len(shown)
    if method == "recursion":
        if response != "raw":
            raise ParameterError("partial_dependence: method 'recursion' averages scores; use response='raw'")
        rows = ChangedColumn(RowTable(table, np.zeros(n, dtype=np.int64)), f, values)
        scores = ConditionalScores(model).given(model.transform(rows), [f], n_jobs)
        return FeatureEffect(name, shown, scores[0] if len(scores) == 1 else scores.T)
    curves = [
        _respond(model, ChangedColumn(table, f, _repeat(values, k, table.n_rows)), response, n_jobs) for k in range(n)
    ]
    individual = np.stack(curves, axis=1)
    return FeatureEffect(name, shown, individual.mean(axis=0), individual)


def accumulated_local_effects(
    model: Model,
    X: Any,
    feature: int | str,
    *,
    n_intervals: int = 50,
    response: str = "raw",
    n_jobs: int | None = None,
) -> FeatureEffect:
    """Return accumulated local effects of a numeric feature at the quantiles of X, with mean 0 over the rows.

    In each interval, the mean change of the score from its lower to its upper end is taken over the rows inside it; the
    effect is the sum of these changes. Unlike partial dependence it never sets a feature to a value that does not occur
    together with the others.
    """
    caller = "accumulated_local_effects"
    _check_choice("response", response, RESPONSES)
    table, f = model.align(X), FittedModel.of(model, caller).feature(feature, caller)
    if f in model.schema.categorical_columns:
        raise ParameterError(f"{caller}: column {model.feature_names[f]!r} is categorical, its values have no order")
    column = read_column(table, f, is_categorical=False)
    assert isinstance(column, np.ndarray)
    rows = np.flatnonzero(np.isfinite(column))
    edges = _quantiles(column[rows], n_intervals + 1, caller)
    if len(edges) < 2:
        raise InputError(f"{caller}: column {model.feature_names[f]!r} has fewer than two distinct values")
    interval = np.clip(np.searchsorted(edges, column[rows], side="left") - 1, 0, len(edges) - 2)
    chosen = RowTable(table, rows)
    upper, lower = (
        _respond(model, ChangedColumn(chosen, f, edges[interval + side]), response, n_jobs) for side in (1, 0)
    )
    counts = np.bincount(interval, minlength=len(edges) - 1)
    sums = np.zeros((len(edges) - 1, *upper.shape[1:]))
    np.add.at(sums, interval, upper - lower)
    steps = sums / np.maximum(counts, 1).reshape(-1, *[1] * (sums.ndim - 1))
    effect = np.concatenate([np.zeros((1, *sums.shape[1:])), np.cumsum(steps, axis=0)])
    middle = (effect[1:] + effect[:-1]) / 2
    centre = (middle * counts.reshape(-1, *[1] * (sums.ndim - 1))).sum(axis=0) / counts.sum()
    return FeatureEffect(model.feature_names[f], edges, effect - centre)


def _respond(model: Model, table: Table, response: str, n_jobs: int | None) -> np.ndarray:
    """Return scores, values, or probabilities: of the second class if there are two, else of each."""
    if response == "raw":
        return model.predict_raw(table, n_jobs=n_jobs)
    if model.classes is None:
        return model.predict(table, n_jobs=n_jobs)
    probability = model.predict_proba(table, n_jobs=n_jobs)
    return probability[:, 1] if probability.shape[1] == 2 else probability


def _grid_of(model: Model, table: Table, feature: int, grid: Any) -> np.ndarray | CategoricalColumn:
    """Return the values of the grid: floats, or categories with one code each."""
    if feature in model.schema.categorical_columns:
        known = values_told_apart(model, feature)
        assert isinstance(known, CategoricalColumn)
        if grid == EXACT or is_integer(grid):
            return known
        names = tuple(str(value) for value in grid)
        return CategoricalColumn(np.arange(len(names), dtype=np.int32), names)
    if isinstance(grid, str):
        _check_choice("grid", grid, (EXACT,))
        values = values_told_apart(model, feature)
        assert isinstance(values, np.ndarray)
        return values if len(values) else np.zeros(1)
    if not is_integer(grid):
        return np.asarray(grid, dtype=np.float64).reshape(-1)
    column = read_column(table, feature, is_categorical=False)
    assert isinstance(column, np.ndarray)
    return _quantiles(column[np.isfinite(column)], int(grid), "partial_dependence")


def _quantiles(column: np.ndarray, n: int, caller: str) -> np.ndarray:
    """Return up to n distinct quantiles from the minimum to the maximum, values of the column."""
    if n < 2:
        raise ParameterError(f"{caller}: a grid needs at least 2 points, got {n}")
    if len(column) == 0:
        raise InputError(f"{caller}: the column has no finite value")
    return np.unique(np.quantile(column, np.linspace(0.0, 1.0, n), method="inverted_cdf"))


def _shown(values: np.ndarray | CategoricalColumn) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return values
    return np.array([*values.categories, None], dtype=object)[values.codes]


def _repeat(values: np.ndarray | CategoricalColumn, k: int, n_rows: int) -> np.ndarray | CategoricalColumn:
    return np.full(n_rows, values[k]) if isinstance(values, np.ndarray) else values.take(np.full(n_rows, k))


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
