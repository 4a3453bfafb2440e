"""Read tables of any container as blocks of floats, without copying the whole table.

Every value becomes a float: float32 where that represents the column exactly (float32, float16, booleans, integers of
up to 16 bits), float64 otherwise; integers beyond 2**53 become the nearest float64. Dates, times and durations become
microseconds, dates since 1970-01-01 UTC. NaN, None, NA, NaT and masked entries are missing; infinities are values.

String columns, and all others in ``categorical_features``, are read as categories and codes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.vocabulary import CategoricalColumn, factorize_array
from sapwood.data.tables import conversion
from sapwood.errors import InputError

CHUNK_ROWS = 65_536
CHUNK_VALUES = 4_194_304  # at most, so that a converted chunk of a wide table has fewer rows


class Block(NamedTuple):
    """Rows of a table as a flat array: column j of row ``start + i`` is ``values[i*row_stride + j*column_stride]``."""

    start: int
    n_rows: int
    values: np.ndarray
    row_stride: int
    column_stride: int

    def matrix(self, n_features: int) -> np.ndarray:
        """Return the rows as a matrix that shares the memory."""
        strides = (self.row_stride * self.values.itemsize, self.column_stride * self.values.itemsize)
        return np.lib.stride_tricks.as_strided(self.values, (self.n_rows, n_features), strides, writeable=False)


class Table(ABC):
    """A table that is read in blocks of floats; ``dtype`` (float32 or float64) is the type of all blocks."""

    n_rows: int
    n_features: int
    dtype: np.dtype
    names: tuple[str, ...] | None = None
    has_string_names: bool = False
    is_sparse: bool = False
    zero_as_missing: bool = False

    @property
    def string_columns(self) -> tuple[int, ...]:
        """Numbers of the columns that hold strings and can only be read as categories."""
        return ()

    @property
    def numeric_categories(self) -> tuple[int, ...]:
        """Numbers of the ``string_columns`` whose declared categories are numbers: they can be read as numbers too."""
        return ()

    @abstractmethod
    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories and codes; its values must be strings, integers or booleans.

        With ``fractions``, numbers that are not integers are categories too, as those that the user declared are.
        """

    @abstractmethod
    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, matrix of floats in any memory order) for columns ``first`` to ``last``, all rows in order.

        Floats in memory are yielded as one matrix without a copy; other values are converted ``max_rows`` at a time.
        """

    @abstractmethod
    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order, without a copy where possible."""

    def take(self, rows: np.ndarray) -> Table:
        """Return a table of the given rows, whose numbers ascend; rows are copied when they are read."""
        return RowTable(self, rows)

    def describe_column(self, feature: int) -> str:
        """Return the name of a column for error messages."""
        return f"column {feature}" if self.names is None else f"column {self.names[feature]!r}"

    def chunk_rows(self) -> int:
        """Return the number of rows to convert at a time."""
        return max(1, min(CHUNK_ROWS, CHUNK_VALUES // self.n_features))

    def blocks(self, first: int = 0, last: int | None = None) -> Iterator[Block]:
        """Yield columns ``first`` to ``last`` as blocks for kernels."""
        for start, matrix in self.matrices(self.chunk_rows(), first, last):
            yield to_block(start, matrix)

    def contiguous_blocks(self, max_rows: int = CHUNK_ROWS) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, C-contiguous matrix): one matrix for an array of floats in C order, else chunks."""
        max_rows = min(max_rows, self.chunk_rows())
        for start, matrix in self.matrices(max_rows):
            if matrix.flags.c_contiguous:
                yield start, matrix
                continue
            for low in range(0, len(matrix), max_rows):
                yield start + low, np.ascontiguousarray(matrix[low : low + max_rows])


class ArrayTable(Table):
    """A NumPy array, read in place if it holds floats in a memory layout that kernels support."""

    def __init__(self, array: np.ndarray) -> None:
        self.n_rows, self.n_features = array.shape
        self._array = array
        self.is_in_place = _is_readable(array)
        self.dtype = array.dtype if self.is_in_place else conversion.float_type(array.dtype)
        self._categorical: dict[int, CategoricalColumn] = {}

    @cached_property
    def string_columns(self) -> tuple[int, ...]:
        """Numbers of the columns in which some value is a string."""
        if self._array.dtype.kind != "O":
            return ()
        columns = (self._array[:, f].tolist() for f in range(self.n_features))  # masked entries become None
        return tuple(f for f, values in enumerate(columns) if any(issubclass(t, str) for t in set(map(type, values))))

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories and codes, read once."""
        if feature not in self._categorical:
            column = self._array[:, feature]
            mask = np.ma.getmaskarray(column) if conversion.is_masked_array(column) else None
            name = self.describe_column(feature)
            self._categorical[feature] = factorize_array(np.asarray(column), name, mask, fractions)
        return self._categorical[feature]

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the array itself, or converted chunks of it."""
        array = self._array[:, first:last]
        if self.is_in_place:
            yield 0, array
            return
        for start in range(0, self.n_rows, max_rows):
            position = conversion.Position(start, first, None, self.names)
            yield start, conversion.to_floats(array[start : start + max_rows], position)

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        if list(features) == list(range(self.n_features)):
            return self
        return ArrayTable(self._array[:, list(features)])


class RowTable(Table):
    """Some rows of another table, gathered chunk by chunk."""

    def __init__(self, table: Table, rows: np.ndarray) -> None:
        self._table = table
        self._rows = rows
        self.n_rows, self.n_features = len(rows), table.n_features
        self.dtype, self.names, self.has_string_names = table.dtype, table.names, table.has_string_names

    @property
    def string_columns(self) -> tuple[int, ...]:
        """Numbers of the string columns of the whole table."""
        return self._table.string_columns

    @property
    def numeric_categories(self) -> tuple[int, ...]:
        """Numbers of the columns whose declared categories are numbers."""
        return self._table.numeric_categories

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as the categories of the whole table and the codes of the selected rows."""
        return self._table.categorical_column(feature, fractions).take(self._rows)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the selected rows of each chunk of the table."""
        for start, matrix in self._table.matrices(max_rows, first, last):
            low, high = np.searchsorted(self._rows, (start, start + len(matrix)))
            for begin in range(int(low), int(high), max_rows):
                yield begin, matrix[self._rows[begin : min(begin + max_rows, int(high))] - start]

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        return RowTable(self._table.select(features), self._rows)


def frame_library(X: Any, libraries: Collection[str] = ("pandas", "polars", "pyarrow")) -> str | None:
    """Return the library of a data frame if it is one of ``libraries``; None for anything else."""
    library = type(X).__module__.partition(".")[0]
    return library if library in libraries else None


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, list of rows, data frame or sparse matrix, without reading it."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def read_table(X: Any, to_predict: bool = False) -> Table:
    """Read a NumPy array, list of rows, pandas, polars or Arrow data frame, or SciPy sparse matrix as a table.

    Lazy frames, relations, Arrow streams and objects of the data frame interchange protocol are collected first. A
    table ``to_predict`` may have no rows, and an empty list has neither rows nor columns. A dict, a named tuple, a
    Series or a tuple of values is one row ``to_predict``.
    """
    min_rows = 0 if to_predict else 1
    if not isinstance(X, np.ndarray | list | tuple):
        from sapwood.data.tables.streamed_tables import collect_table

        X = collect_table(X)
        if type(X).__module__.startswith("scipy.sparse"):
            from sapwood.data.tables import sparse

            return sparse.read_sparse(X, min_rows=min_rows)
        if hasattr(type(X), "columns"):
            from sapwood.data.tables import frames, sparse  # narwhals is imported for data frames only

            return sparse.read_sparse_frame(X) or frames.read_frame(X, min_rows)
    if not isinstance(X, np.ndarray) or (X.dtype.names is not None and X.ndim == 1):
        from sapwood.data.tables import records

        if isinstance(X, np.ndarray):
            return records.read_structured(X)
        if isinstance(X, list | tuple) and len(X) > 0 and records.is_record(X[0]):
            return records.read_records(X)
        if to_predict and isinstance(X, list) and not X:
            return ArrayTable(np.empty((0, 0)))
        if to_predict and records.is_row(X):
            return records.read_row(X)
    return ArrayTable(_to_matrix(X, min_rows))


def materialize(table: Table) -> Table:
    """Return the table as one array of floats, so that it is converted once; a sparse table stays sparse."""
    return table if table.is_sparse else _dense_table(table)


def _dense_table(table: Table) -> Table:
    """Return the table as one array of floats: itself if it is one already."""
    if isinstance(table, ArrayTable) and table.is_in_place:
        return table
    matrix = np.empty((table.n_rows, table.n_features), dtype=table.dtype)
    for start, rows in table.contiguous_blocks():
        matrix[start : start + len(rows)] = rows
    return ArrayTable(matrix)


def single_block(table: Table) -> Block:
    """Return all rows of a table as one block; those of a sparse table become dense."""
    return next(_dense_table(table).blocks())


def to_block(start: int, matrix: np.ndarray) -> Block:
    """Return a matrix of floats as a flat block, copied if its memory layout is not supported."""
    if not _is_readable(matrix):
        matrix = np.ascontiguousarray(matrix)
    row_stride, column_stride = (stride // matrix.itemsize for stride in matrix.strides)
    length = (matrix.shape[0] - 1) * row_stride + (matrix.shape[1] - 1) * column_stride + 1 if matrix.size else 0
    flat = np.lib.stride_tricks.as_strided(matrix, (length,), (matrix.itemsize,), writeable=False)
    return Block(start, len(matrix), flat, row_stride, column_stride)


def _is_readable(array: np.ndarray) -> bool:
    """Return whether kernels can read the array in place: aligned native floats, strides of whole elements."""
    return (
        array.dtype in (np.float32, np.float64)
        and array.dtype.isnative
        and array.flags.aligned
        and not conversion.is_masked_array(array)
        and all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    )


def _to_matrix(X: Any, min_rows: int) -> np.ndarray:
    if X is None or isinstance(X, str | bytes | Mapping | Set | Iterator):
        raise InputError(
            f"Expected 2D array, got {type(X).__name__} instead: X must be an array, a list of rows or a data frame"
        )
    if conversion.is_masked_array(X):
        array: np.ndarray = X
    else:
        try:
            array = np.asarray(X)
        except ValueError as error:
            raise InputError(f"X cannot be read as a table, its rows must be of one length: {error}") from error
        if array.dtype.kind in "UST" and not isinstance(X, np.ndarray):
            # NumPy turned numbers beside a string into strings: keep the values as given.
            array = np.asarray(X, dtype=object)
    check_shape(array.shape, min_rows)
    conversion.check_type(array.dtype, "X")
    return array.astype(object) if array.dtype.kind in "UT" else array


def check_shape(shape: tuple[int, ...], min_rows: int = 1) -> None:
    """Raise an error unless the shape is that of a table with at least ``min_rows`` rows and one column."""
    if len(shape) != 2:
        raise InputError(
            f"Expected 2D array, got {len(shape)}D array instead: X has the shape {shape}. Reshape your data using "
            "array.reshape(-1, 1) if it is one feature or array.reshape(1, -1) if it is one row."
        )
    for length, least, name in zip(shape, (min_rows, 1), ("sample(s)", "feature(s)"), strict=True):
        if length < least:
            raise InputError(f"Found array with 0 {name} (shape={shape}) while a minimum of 1 is required.")
