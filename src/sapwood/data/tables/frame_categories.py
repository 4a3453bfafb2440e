"""Read the levels of a data frame's column by its own library's means."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from sapwood.data.categories.vocabulary import Levels, levels_of_array, levels_of_objects

TEXTS = (nw.String, nw.Categorical, nw.Enum)


def levels_of_series(series: nw.Series[Any], name: str) -> Levels:
    """The levels of a column of any kind that can have levels."""
    native = series.to_native()
    if isinstance(series.dtype, TEXTS):
        if series.implementation.is_polars():
            return _of_polars(native, name)
        if series.implementation.is_pyarrow():
            return _of_arrow(native, name)
        if series.implementation.is_pandas():
            return _of_pandas(native, name)
    if series.dtype.is_integer() or series.dtype == nw.Boolean:
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        zero = False if series.dtype == nw.Boolean else 0
        values = np.asarray(series.fill_null(zero).to_numpy()) if missing.any() else np.asarray(series.to_numpy())
        return levels_of_array(values, name, missing)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind == "O":
        return levels_of_objects(values.tolist(), name)
    return levels_of_array(values, name)


def _of_pandas(series: Any, name: str) -> Levels:
    if hasattr(series, "cat"):
        return Levels.of(series.cat.codes.to_numpy(), series.cat.categories.tolist(), name)
    numbers, distinct = series.factorize()
    return Levels.of(np.asarray(numbers), distinct.tolist(), name)


def _of_polars(series: Any, name: str) -> Levels:
    import polars

    if series.dtype == polars.String:
        series = series.cast(polars.Categorical)
    # Categories of one library-wide pool have numbers that are far apart: they are numbered anew.
    distinct = series.drop_nulls().unique()
    codes = distinct.to_physical().to_numpy().astype(np.int64)
    texts = distinct.cast(polars.String).to_list()
    table = np.full(int(codes.max(initial=-1)) + 2, -1, dtype=np.int64)
    table[codes] = np.arange(len(codes))
    rows = series.to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
    return Levels.of(table[rows], texts, name)


def _of_arrow(column: Any, name: str) -> Levels:
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(whole, pyarrow.ChunkedArray):
        whole = pyarrow.concat_arrays(whole.chunks)
    numbers = whole.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Levels.of(numbers, whole.dictionary.to_pylist(), name)
