"""Explain the predictions of a model by Shapley values of its features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sapwood.data.categories.vocabulary import MISSING
from sapwood.data.tables.table import CHUNK_ROWS, Table, frame_library, materialize
from sapwood.errors import InputError, ParameterError
from sapwood.explain.cover import expected_values, node_cover
from sapwood.explain.explanation import Explanation
from sapwood.explain.players import Players
from sapwood.explain.symmetric_tables import add_table_values, choose_trees, compute_tables, select_trees
from sapwood.explain.tree_shap import add_shap_values, follow_background_row, pack_paths
from sapwood.model.model import Model
from sapwood.model.predict.node_index import NodeIndex
from sapwood.native.system.available_memory import available_memory


def explain(
    model: Model,
    X: Any,
    iterations: int | None = None,
    n_jobs: int | None = None,
    *,
    background: Any = None,
    library: str | None = None,
) -> Explanation:
    """Explain the scores of all rows (see ``shap_values``), with base values, data and names.

    ``library`` is that of the data frames to return; that of X by default.
    """
    table = model.align(X)
    values = shap_values(model, table, iterations, n_jobs, background=background)
    base = expected_scores(model[: model.checked_rounds(iterations)], background)
    data, display_data = _read_data(model, table)
    return Explanation(
        values, np.repeat(base[None] if len(base) > 1 else base, table.n_rows, axis=0), data, display_data,
        model.feature_names, _output_names(model), library or frame_library(X) or "pandas",
    )  # fmt: skip


def shap_values(
    model: Model, X: Any, iterations: int | None = None, n_jobs: int | None = None, *, background: Any = None
) -> np.ndarray:
    """Return the Shapley values of the scores of all rows: (rows, features) or (rows, features, outputs).

    Exact path-dependent values (TreeSHAP): the value of a set of features is the mean of the leaves that agree with the
    row in these features, weighted by the training rows. With a ``background`` table they are interventional: the value
    of a set is the mean score of the background rows with these features replaced by those of the row.
    """
    model = model[: model.checked_rounds(iterations)]
    return _compute(model, X, 1, n_jobs) if background is None else _intervene(model, X, background, n_jobs)


def shap_interaction_values(
    model: Model, X: Any, iterations: int | None = None, n_jobs: int | None = None
) -> np.ndarray:
    """Return the interaction values of the scores of all rows: (rows, features, features) or (..., outputs).

    The interaction of two features stands half in each of their two entries; main effects are on the diagonal. The sum
    over an axis of features gives the Shapley values.
    """
    return _compute(model[: model.checked_rounds(iterations)], X, 2, n_jobs)


def _compute(model: Model, X: Any, order: int, n_jobs: int | None) -> np.ndarray:
    table = model.align(X)
    players, nodes = Players.of(model), NodeIndex(model.ensemble, model.bitsets)
    packed = pack_paths(nodes, players, node_cover(model.ensemble), model.bitsets)
    out = _allocate((table.n_rows, *[model.n_features] * order, model.n_outputs))
    rows = model.transform(table)
    has_table = choose_trees(nodes) if order == 1 else np.zeros(model.ensemble.n_trees, dtype=bool)
    if has_table.any():
        rows = materialize(rows)
        add_table_values(compute_tables(select_trees(packed, has_table)), players, rows, out, n_jobs)
        packed = select_trees(packed, ~has_table)
    if not has_table.all():
        add_shap_values(packed, players, rows, out, n_jobs)
    return out[..., 0] if model.n_outputs == 1 else out


def _intervene(model: Model, X: Any, background: Any, n_jobs: int | None) -> np.ndarray:
    if model.ensemble.leaf_coefficients is not None:
        raise ParameterError(
            "a background is not supported with linear leaves; leave it out, or train with leaf_model='constant'"
        )
    table = model.align(X)
    players = Players.of(model)
    packed = pack_paths(NodeIndex(model.ensemble, model.bitsets), players, node_cover(model.ensemble), model.bitsets)
    rows, others = materialize(model.transform(table)), model.transform(model.align(background))
    out = _allocate((table.n_rows, model.n_features, model.n_outputs))
    for _, matrix in others.contiguous_blocks():
        for row in matrix.astype(np.float64, copy=False):
            add_shap_values(follow_background_row(packed, row), players, rows, out, n_jobs)
    out /= others.n_rows
    return out[..., 0] if model.n_outputs == 1 else out


def _allocate(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of zeros; raise an InputError before the memory of the machine is exhausted."""
    n_bytes, available = 8 * math.prod(shape), available_memory()
    if available is not None and n_bytes > available:
        raise InputError(
            f"values of shape {shape} take {n_bytes / 1e9:.1f} GB, of which {available / 1e9:.1f} are available: "
            "explain fewer rows at a time"
        )
    return np.zeros(shape)


def expected_scores(model: Model, background: Any = None) -> np.ndarray:
    """Return the mean score (outputs,) that Shapley values are added to."""
    if background is not None:
        return np.atleast_1d(model.predict_raw(background).mean(axis=0))
    nodes = NodeIndex(model.ensemble, model.bitsets)
    return model.base_scores + expected_values(nodes, node_cover(model.ensemble))


def _output_names(model: Model) -> list[str] | None:
    if model.n_outputs == 1:
        return None
    if model.classes is not None:
        return [str(label) for label in model.classes.tolist()]
    return [f"output {k}" for k in range(model.n_outputs)]


def _read_data(model: Model, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of an aligned table as floats, with categories as codes, and with categories by name."""
    vocabularies = {} if model.transformer is None else model.transformer.vocabularies
    numeric = [f for f in range(table.n_features) if f not in vocabularies]
    data = np.full((table.n_rows, table.n_features), np.nan)
    if numeric:
        for start, matrix in table.select(numeric).matrices(CHUNK_ROWS):
            data[start : start + len(matrix), numeric] = matrix
    if not vocabularies:
        return data, data
    display = data.astype(object)
    for f, vocabulary in vocabularies.items():
        column = table.categorical_column(f, vocabulary.has_fractions)
        codes = vocabulary.encode(column)
        data[:, f] = np.where(codes == MISSING, np.nan, codes - 1)
        display[:, f] = np.array([*column.categories, np.nan], dtype=object)[column.codes]
    return data, display
