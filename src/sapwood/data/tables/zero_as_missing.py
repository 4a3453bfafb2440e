"""Tables whose zeros are missing values (``zero_as_missing``); categorical columns keep their zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.tables.sparse import SparseTable
from sapwood.data.tables.table import Table

if TYPE_CHECKING:
    from sapwood.data.categories.vocabulary import CategoricalColumn


def zeros_to_missing(table: Table) -> Table:
    """Return the table with its zeros missing, including those that a sparse table does not store."""
    if table.zero_as_missing:
        return table
    return SparseZeroAsMissing(table) if isinstance(table, SparseTable) else DenseZeroAsMissing(table)


def original_table(table: Table) -> Table:
    """Return the table as the user passed it, in which zeros are numbers."""
    return table.original if isinstance(table, DenseZeroAsMissing | SparseZeroAsMissing) else table


class DenseZeroAsMissing(Table):
    """A dense table whose chunks are copied with NaN for zeros."""

    zero_as_missing = True

    def __init__(self, table: Table) -> None:
        self.original = table
        self.n_rows, self.n_features, self.dtype = table.n_rows, table.n_features, table.dtype
        self.names, self.has_string_names = table.names, table.has_string_names

    @property
    def string_columns(self) -> tuple[int, ...]:
        """Numbers of the string columns."""
        return self.original.string_columns

    @property
    def numeric_categories(self) -> tuple[int, ...]:
        """Numbers of the columns whose declared categories are numbers."""
        return self.original.numeric_categories

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories, of which 0 may be one, and codes."""
        return self.original.categorical_column(feature, fractions)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows."""
        for start, matrix in self.original.matrices(max_rows, first, last):
            for low in range(0, len(matrix), max_rows):
                chunk = matrix[low : low + max_rows]
                yield start + low, np.where(chunk == 0.0, chunk.dtype.type(np.nan), chunk)

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        return DenseZeroAsMissing(self.original.select(features))

    def take(self, rows: np.ndarray) -> Table:
        """Return a table of the given rows, whose numbers ascend."""
        return DenseZeroAsMissing(self.original.take(rows))


class SparseZeroAsMissing(SparseTable):
    """A sparse table whose unstored values are missing; stored zeros and NaN are removed."""

    zero_as_missing = True

    def __init__(self, table: SparseTable) -> None:
        matrix = table._matrix
        stored = matrix.data
        if not ((stored < 0.0) | (stored > 0.0)).all():
            matrix = matrix.copy()
            matrix.data[np.isnan(matrix.data)] = 0.0
            matrix.eliminate_zeros()
        super().__init__(matrix, table.names, table.has_string_names)
        self.original = table

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories, of which 0 may be one, and codes."""
        return self.original.categorical_column(feature, fractions)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows as dense matrices."""
        for start, matrix in super().matrices(max_rows, first, last):
            matrix[matrix == 0.0] = np.nan
            yield start, matrix

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        return zeros_to_missing(self.original.select(features))

    def take(self, rows: np.ndarray) -> Table:
        """Return a table of the given rows, whose numbers ascend."""
        return zeros_to_missing(self.original.take(rows))
