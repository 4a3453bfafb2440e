"""Read data frames (pandas, polars, Arrow and what else narwhals knows) column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.vocabulary import Levels, levels_of_array, levels_of_objects
from sapwood.data.tables import conversion
from sapwood.data.tables.table import Table, check_shape
from sapwood.errors import InputError, InputTypeError

TEXTS = (nw.String, nw.Categorical, nw.Enum)
# Columns whose values float32 holds exactly.
SMALL = {nw.Boolean(), nw.Int8(), nw.UInt8(), nw.Int16(), nw.UInt16(), nw.Float32()}
# NumPy has no such type, or none with missing values: cast before the values are handed over.
CASTS = ((nw.Boolean, nw.Int8()), ((nw.Decimal, nw.Int128, nw.UInt128), nw.Float64()))


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a data frame; it is converted when it is read."""

    name: str
    series: nw.Series[Any]
    dtype: np.dtype
    cast: nw.dtypes.DType | None

    @cached_property
    def has_texts(self) -> bool:
        """Whether the column holds texts."""
        if self.series.dtype == nw.Object:
            return any(issubclass(kind, str) for kind in set(map(type, self.series.to_list())))
        return isinstance(self.series.dtype, TEXTS)

    @cached_property
    def levels(self) -> Levels:
        """The column as levels."""
        return levels_of_series(self.series, f"column {self.name!r}")

    def read(self, start: int, stop: int) -> np.ndarray:
        """The rows from ``start`` to ``stop`` as floats."""
        if isinstance(self.series.dtype, TEXTS):
            raise InputTypeError(f"column {self.name!r} is of type {self.series.dtype}, but {conversion.REMEDY}")
        part = self.series[start:stop]
        if self.cast is not None:
            part = part.cast(self.cast)
        values = np.asarray(part.to_numpy())
        conversion.check_type(values.dtype, f"column {self.name!r}")
        return conversion.to_floats(values, conversion.Place(start, 0, self.name))


class ColumnTable(Table):
    """Columns of a data frame, converted chunk by chunk."""

    def __init__(self, columns: Sequence[Column], n_rows: int, has_string_names: bool) -> None:
        self._columns = tuple(columns)
        self.n_rows, self.n_features = n_rows, len(columns)
        self.names = tuple(column.name for column in columns)
        self.has_string_names = has_string_names
        self.dtype = np.result_type(np.float32, *(column.dtype for column in columns))

    @property
    def text_columns(self) -> tuple[int, ...]:
        """The columns that hold texts."""
        return tuple(f for f, column in enumerate(self._columns) if column.has_texts)

    def levels(self, feature: int) -> Levels:
        """A column as levels, read once."""
        return self._columns[feature].levels

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, each column contiguous."""
        columns = self._columns[first:last]
        for start in range(0, self.n_rows, max_rows):
            stop = min(start + max_rows, self.n_rows)
            lines = np.empty((len(columns), stop - start), dtype=self.dtype)
            for line, column in zip(lines, columns, strict=True):
                line[:] = column.read(start, stop)
            yield start, lines.T

    def select(self, features: Sequence[int]) -> Table:
        """The same rows of these columns in this order."""
        return ColumnTable([self._columns[f] for f in features], self.n_rows, self.has_string_names)


def read_frame(X: Any) -> ColumnTable:
    """See a data frame as a table; its columns must stand for numbers or hold texts."""
    if type(X).__module__.startswith("pyarrow") and type(X).__name__ == "RecordBatch":
        import pyarrow

        X = pyarrow.Table.from_batches([X])
    names = _names(X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise InputTypeError(
            f"X is a {type(X).__module__.split('.')[0]} {type(X).__name__}, which cannot be read as it is: "
            "pass a NumPy array or a data frame in memory (pandas, polars, pyarrow; collect a lazy frame first)"
        ) from error
    check_shape(frame.shape)
    columns = [_column(name, frame.get_column(label)) for name, label in zip(names, frame.columns, strict=True)]
    return ColumnTable(columns, len(frame), all(isinstance(label, str) for label in frame.columns))


def _names(X: Any) -> list[str]:
    if hasattr(X, "collect_schema") and not hasattr(X, "get_column"):
        return []  # a lazy frame: asking for its columns could cost a query, and it is refused anyway
    labels = X.column_names if hasattr(X, "column_names") else X.columns
    names = [str(label) for label in labels]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        shown = ", ".join(repr(name) for name in twice[:10])
        raise InputError(f"X has more than one column named {shown}: rename or drop them, names must be unique")
    return names


def _column(name: str, series: nw.Series[Any]) -> Column:
    kind = series.dtype
    if kind.is_nested() or str(kind) == "Binary":
        raise InputTypeError(f"column {name!r} is of type {kind}, which does not stand for numbers: drop it")
    cast = next((cast for types, cast in CASTS if isinstance(kind, types)), None)
    is_small = kind in SMALL or isinstance(kind, TEXTS)
    return Column(name, series, np.dtype(np.float32 if is_small else np.float64), cast)


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
