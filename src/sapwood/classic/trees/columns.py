"""The columns of a table as decision trees read them: numbers, and codes of categories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.data.categories.plan import find_categorical_columns
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Schema of the training table, and the vocabularies of its categorical columns."""

    schema: Schema
    vocabularies: Mapping[int, Vocabulary]

    @classmethod
    def of(cls, table: Table, categorical_features: Any) -> TreeColumns:
        """Read the categories of a training table."""
        schema = Schema.of(table, find_categorical_columns(categorical_features, table))
        schema.check(table)
        columns = {f: table.categorical_column(f) for f in schema.categorical_columns}
        return cls(schema, {f: Vocabulary.of(column.observed) for f, column in columns.items()})

    @property
    def n_codes(self) -> list[int]:
        """Number of codes of each categorical column, 0 for a numeric one."""
        return [self.vocabularies[f].n_codes if f in self.vocabularies else 0 for f in range(self.schema.n_features)]

    def values(self, table: Table) -> np.ndarray:
        """Return a table with these columns as a matrix (columns, rows): numbers, NaN where missing, and codes."""
        out = np.empty((self.schema.n_features, table.n_rows))
        numeric = [f for f in range(self.schema.n_features) if f not in self.vocabularies]
        if numeric:
            for start, matrix in table.select(numeric).matrices(table.chunk_rows()):
                out[numeric, start : start + len(matrix)] = matrix.T
        for f, vocabulary in self.vocabularies.items():
            out[f] = vocabulary.encode_column(table, f)
        return out

    def column(self, feature: int) -> str:
        """Return the name of a column."""
        return self.schema.name_of(feature)

    def category(self, feature: int, code: int) -> str:
        """Return the name of a category."""
        categories = self.vocabularies[feature].categories
        return "missing" if code == 0 else categories[code - 1] if code <= len(categories) else "others"
