"""A table with one column replaced: by one value for all rows, or by the same values in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sapwood.data.categories.vocabulary import CategoricalColumn
from sapwood.data.tables.table import Table


class ChangedColumn(Table):
    """A table whose column ``feature`` has other values: floats, or categories and codes."""

    def __init__(self, table: Table, feature: int, values: np.ndarray | CategoricalColumn) -> None:
        self._table, self._feature, self._values = table, feature, values
        self.n_rows, self.n_features, self.names = table.n_rows, table.n_features, table.names
        self.has_string_names, self.zero_as_missing = table.has_string_names, table.zero_as_missing
        self.dtype = np.dtype(np.float64)

    @property
    def string_columns(self) -> tuple[int, ...]:
        """Numbers of the columns that hold strings."""
        return self._table.string_columns

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories and codes."""
        if feature == self._feature and isinstance(self._values, CategoricalColumn):
            return self._values
        return self._table.categorical_column(feature, fractions)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield copies of chunks of rows."""
        position = self._feature - first
        for start, matrix in self._table.matrices(max_rows, first, last):
            for low in range(0, len(matrix), max_rows):
                changed = matrix[low : low + max_rows].astype(np.float64)
                if 0 <= position < matrix.shape[1] and isinstance(self._values, np.ndarray):
                    changed[:, position] = self._values[start + low : start + low + len(changed)]
                yield start + low, changed

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        chosen = self._table.select(features)
        if self._feature not in features:
            return chosen
        return ChangedColumn(chosen, list(features).index(self._feature), self._values)


def read_column(table: Table, feature: int, is_categorical: bool) -> np.ndarray | CategoricalColumn:
    """Return one column: floats, or categories and codes."""
    if is_categorical:
        return table.categorical_column(feature)
    return np.concatenate([matrix[:, 0].astype(np.float64) for _, matrix in table.select([feature]).matrices(1 << 16)])
