"""Rows of a table or vector by position, in the user's own container."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from sapwood import Dataset
from sapwood.data.tables.row_selection import select_rows

ROWS = np.array([3, 0, 0, 4], dtype=np.intp)
MATRIX = np.arange(15.0).reshape(5, 3)
MATRIX[1, 1] = MATRIX[3, 2] = np.nan
FRAME = pd.DataFrame(MATRIX, columns=list("abc"), index=list("vwxyz"))
TEXTS = ["p", "q", None, "r", "p"]

TABLES: dict[str, Any] = {
    "array": MATRIX,
    "array in columns": np.asfortranarray(MATRIX),
    "array of objects": MATRIX.astype(object),
    "masked array": np.ma.masked_invalid(MATRIX),
    "pandas": FRAME,
    "pandas sparse": FRAME.astype(pd.SparseDtype(float, 0.0)),
    "polars": pl.DataFrame(MATRIX, schema=list("abc")),
    "arrow table": pa.table({name: FRAME[name].to_numpy() for name in FRAME}),
    "arrow batch": pa.RecordBatch.from_pandas(FRAME, preserve_index=False),
    "narwhals": nw.from_native(FRAME),
}
VECTORS: dict[str, Any] = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS, dtype=object),
    "pandas": pd.Series(TEXTS, index=range(5, 10)),
    "pandas categories": pd.Series(TEXTS, dtype="category"),
    "pandas index": pd.Index(TEXTS),
    "pandas extension array": pd.array(TEXTS, dtype="string"),
    "polars": pl.Series(TEXTS),
    "arrow array": pa.array(TEXTS),
    "arrow chunks": pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
    "narwhals": nw.from_native(pl.Series(TEXTS), series_only=True),
}
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


def kind_of(X: Any) -> type:
    return list if isinstance(X, tuple) else type(X)


@pytest.mark.parametrize("name", TABLES)
def test_tables_keep_their_kind(name):
    found = select_rows(TABLES[name], ROWS)
    assert type(found) is kind_of(TABLES[name])
    columns = found.to_pandas() if hasattr(found, "to_pandas") else found
    np.testing.assert_array_equal(np.asarray(columns, dtype=float), MATRIX[ROWS])


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_keep_their_kind(name):
    found = select_rows(VECTORS[name], ROWS)
    assert type(found) is kind_of(VECTORS[name])
    values = found.to_pylist() if hasattr(found, "to_pylist") else list(found)
    assert [value if isinstance(value, str) else None for value in values] == ["r", "p", "p", "p"]


def test_a_list_of_rows_stays_one():
    assert select_rows([[1, "a"], [2, "b"], [3, "c"]], np.array([2, 0])) == [[3, "c"], [1, "a"]]


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("format", FORMATS)
def test_sparse_matrices_of_every_format_become_compressed_rows(format, kind):
    X = getattr(scipy.sparse, f"{format}_{kind}")(np.nan_to_num(MATRIX))
    found = select_rows(X, ROWS)
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), np.nan_to_num(MATRIX)[ROWS])


def test_labels_and_names_of_pandas_come_along():
    found = select_rows(FRAME, ROWS)
    assert list(found.index) == ["y", "v", "v", "z"] and list(found.columns) == ["a", "b", "c"]


def test_no_rows_are_a_table_without_rows():
    for X in (MATRIX, FRAME, TABLES["polars"], TABLES["arrow table"]):
        assert select_rows(X, ROWS[:0]).shape == (0, 3)
    assert select_rows(TEXTS, ROWS[:0]) == []


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("arrow batch", "narwhals")])
def test_it_selects_what_scikit_learn_does(name):
    """Record batches and frames of narwhals, which scikit-learn converts, keep their type here."""
    from sklearn.utils import _safe_indexing

    expected, found = _safe_indexing(TABLES[name], ROWS), select_rows(TABLES[name], ROWS)
    assert type(found) is type(expected)
    if isinstance(found, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected)
    elif isinstance(found, pa.Table):
        assert found.equals(expected) or found.to_pandas().equals(expected.to_pandas())
    elif isinstance(found, pl.DataFrame):
        assert found.equals(expected)
    else:
        np.testing.assert_array_equal(found.astype(float), expected.astype(float))


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_a_dataset_are_those_of_its_table(name):
    data = Dataset(TABLES[name])[ROWS]
    assert type(data.X) is kind_of(TABLES[name])
    whole = np.concatenate([matrix for _, matrix in data.table.contiguous_blocks()])
    np.testing.assert_array_equal(whole, MATRIX[ROWS])
