"""Read tables of any kind as blocks of floats, without copying them whole.

Every value becomes a float: float32 where that holds the column exactly (float32, float16, booleans, integers of up to
16 bits), float64 otherwise; integers beyond 2**53 become the nearest float64. Dates, times and durations count
microseconds, dates from 1970-01-01 UTC. NaN, None, NA, NaT and masked entries are missing; infinities are values.

Columns of texts have no numbers: they are read as levels, as is any other column that the user calls a category.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.vocabulary import Levels, levels_of_array
from sapwood.data.tables import conversion
from sapwood.errors import InputError

CHUNK_ROWS = 65_536
CHUNK_VALUES = 4_194_304  # a converted chunk of a wide table has fewer rows


class Block(NamedTuple):
    """Rows of a table as flat memory: column j of row ``start + i`` is ``values[i*row_stride + j*column_stride]``."""

    start: int
    n_rows: int
    values: np.ndarray
    row_stride: int
    column_stride: int

    def matrix(self, n_features: int) -> np.ndarray:
        """The rows as a matrix, nothing copied."""
        strides = (self.row_stride * self.values.itemsize, self.column_stride * self.values.itemsize)
        return np.lib.stride_tricks.as_strided(self.values, (self.n_rows, n_features), strides, writeable=False)


class Table(ABC):
    """A table of numbers, read in blocks. ``dtype`` (float32 or float64) is that of all its blocks."""

    n_rows: int
    n_features: int
    dtype: np.dtype
    names: tuple[str, ...] | None = None
    has_string_names: bool = False
    is_sparse: bool = False
    zero_as_missing: bool = False

    @property
    def text_columns(self) -> tuple[int, ...]:
        """The columns that hold texts and can only be read as levels."""
        return ()

    @abstractmethod
    def levels(self, feature: int) -> Levels:
        """A column as levels; its values must be texts, whole numbers or truth values."""

    @abstractmethod
    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, matrix of floats in any order) for columns ``first`` to ``last``, all rows in turn.

        What lies in memory as floats comes whole and uncopied; what must be converted comes ``max_rows`` at a time.
        """

    @abstractmethod
    def select(self, features: Sequence[int]) -> Table:
        """The table with these columns in this order; nothing is copied unless it must be."""

    def take(self, rows: np.ndarray) -> Table:
        """The table with these rows (ascending numbers) only; nothing is copied until it is read."""
        return RowTable(self, rows)

    def called(self, feature: int) -> str:
        """What to call a column in messages."""
        return f"column {feature}" if self.names is None else f"column {self.names[feature]!r}"

    def chunk_rows(self) -> int:
        """How many rows to convert at a time."""
        return max(1, min(CHUNK_ROWS, CHUNK_VALUES // self.n_features))

    def blocks(self, first: int = 0, last: int | None = None) -> Iterator[Block]:
        """Yield columns ``first`` to ``last`` in blocks for kernels to read."""
        for start, matrix in self.matrices(self.chunk_rows(), first, last):
            yield block_of(start, matrix)

    def float_blocks(self, max_rows: int = CHUNK_ROWS) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, C-contiguous matrix); an array of floats in C order comes whole, other tables in chunks."""
        max_rows = min(max_rows, self.chunk_rows())
        for start, matrix in self.matrices(max_rows):
            if matrix.flags.c_contiguous:
                yield start, matrix
                continue
            for low in range(0, len(matrix), max_rows):
                yield start + low, np.ascontiguousarray(matrix[low : low + max_rows])


class ArrayTable(Table):
    """A NumPy array; it is read in place if it holds floats that kernels can reach."""

    def __init__(self, array: np.ndarray) -> None:
        self.n_rows, self.n_features = array.shape
        self._array = array
        self.is_in_place = _is_readable(array)
        self.dtype = array.dtype if self.is_in_place else conversion.float_type(array.dtype)
        self._levels: dict[int, Levels] = {}

    @cached_property
    def text_columns(self) -> tuple[int, ...]:
        """The columns in which some value is a text."""
        if self._array.dtype.kind != "O":
            return ()
        columns = (self._array[:, f].tolist() for f in range(self.n_features))  # masked entries become None
        return tuple(f for f, values in enumerate(columns) if any(issubclass(t, str) for t in set(map(type, values))))

    def levels(self, feature: int) -> Levels:
        """A column as levels, read once."""
        if feature not in self._levels:
            column = self._array[:, feature]
            mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else None
            self._levels[feature] = levels_of_array(np.ma.getdata(column), self.called(feature), mask)
        return self._levels[feature]

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the array itself, or chunks of it converted."""
        array = self._array[:, first:last]
        if self.is_in_place:
            yield 0, array
            return
        for start in range(0, self.n_rows, max_rows):
            yield start, conversion.to_floats(array[start : start + max_rows], conversion.Place(start, first))

    def select(self, features: Sequence[int]) -> Table:
        """The array with these columns in this order."""
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
    def text_columns(self) -> tuple[int, ...]:
        """The columns of texts of the whole table."""
        return self._table.text_columns

    def levels(self, feature: int) -> Levels:
        """A column's levels in the chosen rows."""
        return self._table.levels(feature).take(self._rows)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the chosen rows of the table's own chunks."""
        for start, matrix in self._table.matrices(max_rows, first, last):
            low, high = np.searchsorted(self._rows, (start, start + len(matrix)))
            for begin in range(int(low), int(high), max_rows):
                yield begin, matrix[self._rows[begin : min(begin + max_rows, int(high))] - start]

    def select(self, features: Sequence[int]) -> Table:
        """The same rows of the table's chosen columns."""
        return RowTable(self._table.select(features), self._rows)


def read_table(X: Any) -> Table:
    """See ``X`` (NumPy array, list of rows, pandas, polars or Arrow data frame, SciPy sparse matrix) as a table."""
    if not isinstance(X, np.ndarray | list | tuple):
        if type(X).__module__.startswith("scipy.sparse"):
            from sapwood.data.tables import sparse

            return sparse.read_sparse(X)
        if hasattr(type(X), "columns"):
            from sapwood.data.tables import (
                frames,
                sparse,  # what reads data frames is loaded only for them
            )

            return sparse.read_sparse_frame(X) or frames.read_frame(X)
    return ArrayTable(_matrix_of(X))


def in_memory(table: Table) -> Table:
    """The table as one array of floats, so that it is converted once; a sparse one stays as it is."""
    if table.is_sparse or (isinstance(table, ArrayTable) and table.is_in_place):
        return table
    matrix = np.empty((table.n_rows, table.n_features), dtype=table.dtype)
    for start, rows in table.float_blocks():
        matrix[start : start + len(rows)] = rows
    return ArrayTable(matrix)


def whole_block(table: Table) -> Block:
    """All rows of a table as one block."""
    assert not table.is_sparse
    return next(in_memory(table).blocks())


def block_of(start: int, matrix: np.ndarray) -> Block:
    """See a matrix of floats as flat memory."""
    if not _is_readable(matrix):
        matrix = np.ascontiguousarray(matrix)
    row_stride, column_stride = (stride // matrix.itemsize for stride in matrix.strides)
    length = (matrix.shape[0] - 1) * row_stride + (matrix.shape[1] - 1) * column_stride + 1 if matrix.size else 0
    flat = np.lib.stride_tricks.as_strided(matrix, (length,), (matrix.itemsize,), writeable=False)
    return Block(start, len(matrix), flat, row_stride, column_stride)


def _is_readable(array: np.ndarray) -> bool:
    """Tell whether kernels can read the array where it is: plain floats, whole steps forward between them."""
    return (
        array.dtype in (np.float32, np.float64)
        and array.dtype.isnative
        and array.flags.aligned
        and not isinstance(array, np.ma.MaskedArray)
        and all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    )


def _matrix_of(X: Any) -> np.ndarray:
    if X is None or isinstance(X, str | bytes | Mapping | Set | Iterator):
        raise InputError(
            f"Expected 2D array, got {type(X).__name__} instead: X must be an array, a list of rows or a data frame"
        )
    if isinstance(X, np.ma.MaskedArray):
        array: np.ndarray = X
    else:
        try:
            array = np.asarray(X)
        except ValueError as error:
            raise InputError(f"X cannot be read as a table, its rows must be of one length: {error}") from error
        if array.dtype.kind in "UST" and not isinstance(X, np.ndarray):
            array = np.asarray(X, dtype=object)  # numbers beside a text were turned into text: look at them as given
    check_shape(array.shape)
    conversion.check_type(array.dtype, "X")
    return array.astype(object) if array.dtype.kind in "UT" else array


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse what is not a table with at least one row and one column."""
    if len(shape) != 2:
        raise InputError(
            f"Expected 2D array, got {len(shape)}D array instead: X has the shape {shape}. Reshape your data using "
            "array.reshape(-1, 1) if it is one feature or array.reshape(1, -1) if it is one row."
        )
    for length, thing in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if length == 0:
            raise InputError(f"Found array with 0 {thing} (shape={shape}) while a minimum of 1 is required.")
