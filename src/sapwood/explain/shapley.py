"""Explain the predictions of a model by Shapley values of its features."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.categories.vocabulary import MISSING
from sapwood.data.tables.table import CHUNK_ROWS, Table
from sapwood.errors import ParameterError
from sapwood.explain.explanation import Explanation
from sapwood.explain.players import Players
from sapwood.explain.tree_shap import add_shap_values, expected_values, node_cover, pack_paths
from sapwood.model.model import Model
from sapwood.model.predict.node_index import NodeIndex


def explain(
    model: Model, X: Any, iterations: int | None = None, n_jobs: int | None = None, library: str | None = None
) -> Explanation:
    """Explain the scores of all rows (see ``shap_values``), with base values, data and names.

    ``library`` is that of the data frames to return; that of X by default.
    """
    table = model.align(X)
    values = shap_values(model, table, iterations, n_jobs)
    base = expected_scores(model[: model.checked_rounds(iterations)])
    data, display_data = _read_data(model, table)
    return Explanation(
        values, np.repeat(base[None] if len(base) > 1 else base, table.n_rows, axis=0), data, display_data,
        model.feature_names, _output_names(model), library or frame_library(X),
    )  # fmt: skip


def shap_values(model: Model, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
    """Return the Shapley values of the scores of all rows: (rows, features) or (rows, features, outputs).

    Exact path-dependent values (TreeSHAP): the value of a set of features is the mean of the leaves that agree with the
    row in these features, weighted by the training rows.
    """
    model = model[: model.checked_rounds(iterations)]
    if model.ensemble.leaf_coefficients is not None:
        raise ParameterError("Shapley values of linear leaves are not supported; train with leaf_model='constant'")
    table = model.align(X)
    players, nodes = Players.of(model), NodeIndex(model.ensemble, model.bitsets)
    packed = pack_paths(nodes, players, node_cover(model.ensemble))
    out = np.zeros((table.n_rows, model.n_features, model.n_outputs))
    add_shap_values(packed, players, model.transform(table), out, n_jobs)
    return out[:, :, 0] if model.n_outputs == 1 else out


def expected_scores(model: Model) -> np.ndarray:
    """Return the mean score (outputs,) that Shapley values are added to."""
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
        column = table.categorical_column(f)
        codes = vocabulary.encode(column)
        data[:, f] = np.where(codes == MISSING, np.nan, codes - 1)
        display[:, f] = np.array([*column.categories, None], dtype=object)[column.codes]
    return data, display


def frame_library(X: Any) -> str:
    """Return the name of the library of a data frame, pandas for anything else."""
    library = type(X).__module__.partition(".")[0]
    return library if library in ("polars", "pyarrow") else "pandas"
