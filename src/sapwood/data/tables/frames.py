"""Read data frames (pandas, polars, Arrow and others that narwhals supports) column by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.vocabulary import CategoricalColumn, factorize_array, factorize_objects
from sapwood.data.tables import conversion
from sapwood.data.tables.table import Table, check_shape
from sapwood.errors import InputError, InputTypeError
from sapwood.lazy_dataclass import dataclass

STRING_TYPES = (nw.String, nw.Categorical, nw.Enum)
# Types whose values float32 represents exactly.
FLOAT32_TYPES = {nw.Boolean(), nw.Int8(), nw.UInt8(), nw.Int16(), nw.UInt16(), nw.Float32()}
# Types that NumPy lacks, or lacks with missing values, and the types they are cast to before conversion to NumPy.
CASTS = ((nw.Boolean, nw.Int8()), ((nw.Decimal, nw.Int128, nw.UInt128), nw.Float64()))


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a data frame, converted when it is read."""

    name: str
    series: nw.Series[Any]
    dtype: np.dtype
    cast: nw.dtypes.DType | None

    @cached_property
    def holds_strings(self) -> bool:
        """Whether the column holds strings."""
        if self.series.dtype == nw.Object:
            return any(issubclass(kind, str) for kind in set(map(type, self.series.to_list())))
        return isinstance(self.series.dtype, STRING_TYPES)

    @cached_property
    def has_numeric_categories(self) -> bool:
        """Whether the column is of pandas' categorical type with numbers as categories."""
        if not isinstance(self.series.dtype, nw.Categorical | nw.Enum) or not self.series.implementation.is_pandas():
            return False
        return getattr(self.series.to_native().cat.categories.dtype, "kind", "O") in "biuf"

    def categorical(self, fractions: bool) -> CategoricalColumn:
        """Return the column as categories and codes."""
        return factorize_series(self.series, f"column {self.name!r}", fractions)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from ``start`` to ``stop`` as floats."""
        if self.has_numeric_categories:
            return _category_numbers(self.series.to_native()[start:stop])
        if isinstance(self.series.dtype, STRING_TYPES):
            raise InputTypeError(f"column {self.name!r} is of type {self.series.dtype}, but {conversion.REMEDY}")
        chunk = self.series[start:stop]
        if self.cast is not None:
            chunk = chunk.cast(self.cast)
        values = np.asarray(chunk.to_numpy())
        conversion.check_type(values.dtype, f"column {self.name!r}")
        return conversion.to_floats(values, conversion.Position(start, 0, self.name))


class FrameTable(Table):
    """A data frame whose columns are converted chunk by chunk."""

    def __init__(self, columns: Sequence[Column], n_rows: int, has_string_names: bool) -> None:
        self._columns = tuple(columns)
        self._categorical: dict[int, CategoricalColumn] = {}
        self.n_rows, self.n_features = n_rows, len(columns)
        self.names = tuple(column.name for column in columns)
        self.has_string_names = has_string_names
        self.dtype = np.result_type(np.float32, *(column.dtype for column in columns))

    @property
    def string_columns(self) -> tuple[int, ...]:
        """Numbers of the columns that hold strings."""
        return tuple(f for f, column in enumerate(self._columns) if column.holds_strings)

    @property
    def numeric_categories(self) -> tuple[int, ...]:
        """Numbers of the columns whose declared categories are numbers."""
        return tuple(f for f, column in enumerate(self._columns) if column.has_numeric_categories)

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories and codes, read once."""
        if feature not in self._categorical:
            self._categorical[feature] = self._columns[feature].categorical(fractions)
        return self._categorical[feature]

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, each column contiguous in memory."""
        columns = self._columns[first:last]
        for start in range(0, self.n_rows, max_rows):
            stop = min(start + max_rows, self.n_rows)
            values = np.empty((len(columns), stop - start), dtype=self.dtype)
            for out, column in zip(values, columns, strict=True):
                out[:] = column.read(start, stop)
            yield start, values.T

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        return FrameTable([self._columns[f] for f in features], self.n_rows, self.has_string_names)


def read_frame(X: Any, min_rows: int = 1) -> FrameTable:
    """Wrap a data frame as a table; its columns must be numeric or hold strings."""
    if type(X).__module__.startswith("pyarrow") and type(X).__name__ == "RecordBatch":
        import pyarrow

        X = pyarrow.Table.from_batches([X])
    names = _column_names(X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise InputTypeError(
            f"X is a {type(X).__module__.split('.')[0]} {type(X).__name__}, which is not supported: "
            "pass a NumPy array or a data frame in memory (pandas, polars, pyarrow; collect a lazy frame first)"
        ) from error
    check_shape(frame.shape, min_rows)
    columns = [_make_column(name, frame.get_column(label)) for name, label in zip(names, frame.columns, strict=True)]
    return FrameTable(columns, len(frame), all(isinstance(label, str) for label in frame.columns))


def _column_names(X: Any) -> list[str]:
    if hasattr(X, "collect_schema") and not hasattr(X, "get_column"):
        return []  # a lazy frame: reading its columns could run a query, and it is rejected afterwards
    labels = X.column_names if hasattr(X, "column_names") else X.columns
    names = [str(label) for label in labels]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        names_shown = ", ".join(repr(name) for name in repeated[:10])
        raise InputError(f"X has more than one column named {names_shown}: rename or drop them, names must be unique")
    return names


def _make_column(name: str, series: nw.Series[Any]) -> Column:
    kind = series.dtype
    if kind.is_nested() or str(kind) == "Binary":
        raise InputTypeError(f"column {name!r} is of type {kind}, which is not numeric: drop it")
    cast = next((cast for types, cast in CASTS if isinstance(kind, types)), None)
    column = Column(name, series, np.dtype(np.float64), cast)
    is_small = kind in FLOAT32_TYPES or (isinstance(kind, STRING_TYPES) and not column.has_numeric_categories)
    return replace(column, dtype=np.dtype(np.float32)) if is_small else column


def _category_numbers(series: Any) -> np.ndarray:
    """Return a pandas series of categories that are numbers as float64."""
    numbers = np.append(np.asarray(series.cat.categories, dtype=np.float64), np.nan)
    return numbers[series.cat.codes.to_numpy()]


def factorize_series(series: nw.Series[Any], name: str, fractions: bool = False) -> CategoricalColumn:
    """Read a column of strings, integers or booleans as categories and codes, by means of its own library."""
    native = series.to_native()
    if isinstance(series.dtype, STRING_TYPES):
        if series.implementation.is_polars():
            return _factorize_polars(native, name)
        if series.implementation.is_pyarrow():
            return _factorize_arrow(native, name)
        if series.implementation.is_pandas():
            return _factorize_pandas(native, name)
    if series.dtype.is_integer() or series.dtype == nw.Boolean:
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        zero = False if series.dtype == nw.Boolean else 0
        values = np.asarray(series.fill_null(zero).to_numpy()) if missing.any() else np.asarray(series.to_numpy())
        return factorize_array(values, name, missing)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind == "O":
        return factorize_objects(values.tolist(), name, fractions)
    return factorize_array(values, name, None, fractions)


def _factorize_pandas(series: Any, name: str) -> CategoricalColumn:
    if hasattr(series, "cat"):
        return CategoricalColumn.of(series.cat.codes.to_numpy(), series.cat.categories.tolist(), name, fractions=True)
    codes, distinct = series.factorize()
    return CategoricalColumn.of(np.asarray(codes), distinct.tolist(), name)


def _factorize_polars(series: Any, name: str) -> CategoricalColumn:
    import polars

    if series.dtype == polars.String:
        series = series.cast(polars.Categorical)
    # Physical codes may come from a pool of all categories of the process: renumber those of this column.
    distinct = series.drop_nulls().unique()
    codes = distinct.to_physical().to_numpy().astype(np.int64)
    categories = distinct.cast(polars.String).to_list()
    new_codes = np.full(int(codes.max(initial=-1)) + 2, -1, dtype=np.int64)
    new_codes[codes] = np.arange(len(codes))
    rows = series.to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
    return CategoricalColumn.of(new_codes[rows], categories, name)


def _factorize_arrow(column: Any, name: str) -> CategoricalColumn:
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = column.unify_dictionaries().combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    if isinstance(array, pyarrow.ChunkedArray):
        array = pyarrow.concat_arrays(array.chunks)
    codes = array.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return CategoricalColumn.of(codes, array.dictionary.to_pylist(), name, fractions=True)
