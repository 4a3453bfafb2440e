"""Tables whose zeros count as missing; columns read as levels keep theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.tables.sparse import SparseTable
from sapwood.data.tables.table import Table

if TYPE_CHECKING:
    from sapwood.data.categories.vocabulary import Levels


def zeros_to_missing(table: Table) -> Table:
    """The table with its zeros missing, those that a sparse one does not store too."""
    if table.zero_as_missing:
        return table
    return SparseZeroAsMissing(table) if isinstance(table, SparseTable) else DenseZeroAsMissing(table)


def zeros_kept(table: Table) -> Table:
    """The table as given, zeros being numbers."""
    return table.given if isinstance(table, DenseZeroAsMissing | SparseZeroAsMissing) else table


def row_zeros_to_missing(row: Sequence[float] | np.ndarray) -> np.ndarray:
    """One row of numbers with its zeros missing."""
    values = np.array(row, dtype=np.float64)
    values[values == 0.0] = np.nan
    return values


class DenseZeroAsMissing(Table):
    """Another table's chunks, copied with their zeros missing."""

    zero_as_missing = True

    def __init__(self, table: Table) -> None:
        self.given = table
        self.n_rows, self.n_features, self.dtype = table.n_rows, table.n_features, table.dtype
        self.names, self.has_string_names = table.names, table.has_string_names

    @property
    def text_columns(self) -> tuple[int, ...]:
        """The columns of texts of the table as given."""
        return self.given.text_columns

    def levels(self, feature: int) -> Levels:
        """A column's levels, 0 among them."""
        return self.given.levels(feature)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows."""
        for start, matrix in self.given.matrices(max_rows, first, last):
            for low in range(0, len(matrix), max_rows):
                chunk = matrix[low : low + max_rows]
                yield start + low, np.where(chunk == 0.0, chunk.dtype.type(np.nan), chunk)

    def select(self, features: Sequence[int]) -> Table:
        """The same of the table's chosen columns."""
        return DenseZeroAsMissing(self.given.select(features))

    def take(self, rows: np.ndarray) -> Table:
        """The same of the table's chosen rows."""
        return DenseZeroAsMissing(self.given.take(rows))


class SparseZeroAsMissing(SparseTable):
    """A sparse table of the values that are there: what it does not store is missing."""

    zero_as_missing = True

    def __init__(self, table: SparseTable) -> None:
        matrix = table._matrix
        stored = matrix.data
        if not ((stored < 0.0) | (stored > 0.0)).all():
            matrix = matrix.copy()
            matrix.data[np.isnan(matrix.data)] = 0.0
            matrix.eliminate_zeros()
        super().__init__(matrix, table.names, table.has_string_names)
        self.given = table

    def levels(self, feature: int) -> Levels:
        """A column's levels, 0 among them."""
        return self.given.levels(feature)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, made dense."""
        for start, matrix in super().matrices(max_rows, first, last):
            matrix[matrix == 0.0] = np.nan
            yield start, matrix

    def select(self, features: Sequence[int]) -> Table:
        """The same of the table's chosen columns."""
        return zeros_to_missing(self.given.select(features))

    def take(self, rows: np.ndarray) -> Table:
        """The same of the table's chosen rows."""
        return zeros_to_missing(self.given.take(rows))
