"""Feature transformer: compute the columns that trees are grown on from the columns of the user's table.

A numeric column keeps its number. The first column encoded from a categorical column takes its number; all other
encoded columns follow after the user's columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from sapwood.cached_property import WithCaches, cached_property
from sapwood.data.categories.combination_codes import encode_number_columns
from sapwood.data.categories.derived_feature import SET, DerivedFeature
from sapwood.data.categories.numeric_cross import NumericCross
from sapwood.data.categories.vocabulary import CategoricalColumn, Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class FeatureTransformer(WithCaches):
    """Vocabularies of the categorical columns by column number, and the definition of each column of the trees.

    ``columns`` has an entry per column of the trees: the number of a numeric column of the user's table, or a derived
    feature. ``cuts`` are the cut points of numeric columns that are combined with categorical ones.
    """

    vocabularies: Mapping[int, Vocabulary]
    columns: tuple[int | DerivedFeature, ...]
    cuts: Mapping[int, np.ndarray] = field(default_factory=dict)

    @property
    def n_columns(self) -> int:
        """Number of columns that trees are grown on."""
        return len(self.columns)

    @property
    def has_category_sets(self) -> bool:
        """Whether some column is a set of categories."""
        return any(isinstance(c, DerivedFeature) and c.kind == SET for c in self.columns)

    @cached_property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the user's columns from which each column is computed."""
        return tuple((c,) if isinstance(c, int) else c.sources for c in self.columns)

    @cached_property
    def number_sources(self) -> tuple[int, ...]:
        """Numbers of the numeric columns that numeric crosses are computed from."""
        return tuple(sorted({f for c in self.columns if isinstance(c, NumericCross) for f in c.number_sources}))

    def with_crosses(self, crosses: Sequence[NumericCross]) -> FeatureTransformer:
        """Return the transformer with numeric crosses as further columns."""
        return replace(self, columns=(*self.columns, *crosses))

    def cross_names(self, schema: Schema) -> list[str]:
        """Return the names of the numeric crosses."""
        return [c.name(schema, self.vocabularies) for c in self.columns if isinstance(c, NumericCross)]

    def column_names(self, schema: Schema) -> list[str]:
        """Return the name of each column."""
        return [schema.name_of(c) if isinstance(c, int) else c.name(schema, self.vocabularies) for c in self.columns]

    def codes(self, table: Table) -> dict[int, np.ndarray]:
        """Return the codes of all rows for each categorical column and each numeric column that has cuts."""
        codes = {f: vocabulary.encode_column(table, f) for f, vocabulary in self.vocabularies.items()}
        return codes | encode_number_columns(table, self.cuts)

    def transform(self, table: Table) -> Table:
        """Return the columns of the trees for new rows, which took no part in the statistics."""
        return TransformedTable(table, self, self.codes(table))

    def to_user_columns(self, values: np.ndarray, n_features: int) -> np.ndarray:
        """Sum values per column of the trees by user's column; those of combinations are divided equally."""
        sums = np.zeros(n_features)
        for value, sources in zip(values, self.sources, strict=True):
            sums[list(sources)] += value / len(sources)
        return sums

    def update_digest(self, digest: Any) -> None:
        """Add everything that decides a prediction to a digest."""
        for f, vocabulary in self.vocabularies.items():
            digest.update(repr((f, vocabulary.categories)).encode())
        for f, cuts in self.cuts.items():
            digest.update(repr((f, len(cuts))).encode() + cuts.tobytes())
        digested: set[int] = set()  # the ranks that sets share are added once
        for column in self.columns:
            if isinstance(column, int):
                digest.update(repr(column).encode())
            elif column.members is not None:
                digest.update(repr((column.sources, column.kind, column.members.tolist())).encode())
                digest.update(b"" if id(column.sums) in digested else column.sums.tobytes())
                digested.add(id(column.sums))
            else:
                digest.update(repr((column.sources, column.kind, column.prior, column.weight)).encode())
                digest.update(column.table.tobytes())
                digest.update(b"" if column.keys is None else column.keys.tobytes())

    def drop_unused(self, used: np.ndarray, n_features: int) -> tuple[FeatureTransformer, np.ndarray]:
        """Return the transformer without the columns that no tree uses, and the columns' new numbers (−1: dropped).

        The first ``n_features`` columns are kept.
        """
        kept = [k for k in range(self.n_columns) if k < n_features or used[k]]
        new_number = np.full(self.n_columns, -1, dtype=np.int32)
        new_number[kept] = np.arange(len(kept))
        columns = tuple(self.columns[k] for k in kept)
        tables = [c for c in columns if isinstance(c, DerivedFeature) and not isinstance(c, NumericCross)]
        combined = {f for c in tables for f in c.sources}
        cuts = {f: points for f, points in self.cuts.items() if f in combined}
        return replace(self, columns=columns, cuts=cuts), new_number

    def join(self, later: FeatureTransformer, n_features: int) -> tuple[FeatureTransformer, np.ndarray]:
        """Return the columns of this transformer and the derived ones of a later one, and the latter's new numbers.

        Numeric columns that have cuts in both have the same cuts.
        """
        columns = list(self.columns)
        new_number = np.empty(later.n_columns, dtype=np.int32)
        for k, column in enumerate(later.columns):
            if isinstance(column, int):
                new_number[k] = column
            else:
                new_number[k] = len(columns)
                columns.append(column)
        cuts = dict(sorted({**self.cuts, **later.cuts}.items()))
        return FeatureTransformer(later.vocabularies, tuple(columns), cuts), new_number


class TransformedTable(Table):
    """The columns of the trees, computed chunk by chunk; ``computed`` holds those that exist already, by number."""

    def __init__(
        self,
        table: Table,
        transformer: FeatureTransformer,
        codes: Mapping[int, np.ndarray],
        computed: Mapping[int, np.ndarray] | None = None,
    ) -> None:
        self.n_rows, self.n_features = table.n_rows, transformer.n_columns
        self.dtype = np.dtype(np.float64)
        self._table, self._transformer, self._codes, self._computed = table, transformer, codes, computed or {}

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Raise NotImplementedError: all columns are numeric."""
        raise NotImplementedError

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, each column contiguous in memory."""
        chosen = [self._transformer.columns[k] for k in range(self.n_features)[first:last]]
        read = sorted(
            {c for c in chosen if isinstance(c, int)}
            | {f for c in chosen if isinstance(c, NumericCross) for f in c.number_sources}
        )
        computed = [self._computed.get(k) for k in range(self.n_features)[first:last]]
        for start, matrix in self._numeric_chunks(read, max_rows):
            rows = slice(start, start + len(matrix))
            numbers = dict(zip(read, matrix.T, strict=True))
            values = np.empty((len(chosen), len(matrix)))
            for out, column, known in zip(values, chosen, computed, strict=True):
                if isinstance(column, int):
                    out[:] = numbers[column]
                elif known is not None:
                    out[:] = known[rows]
                else:
                    out[:] = self._derive(column, rows, numbers)
            yield start, values.T

    def _derive(self, column: DerivedFeature, rows: slice, numbers: Mapping[int, np.ndarray]) -> np.ndarray:
        codes = {f: self._codes[f][rows] for f in column.sources if f in self._codes}
        return column.cross(numbers, codes) if isinstance(column, NumericCross) else column.values(codes)

    def _numeric_chunks(self, columns: list[int], max_rows: int) -> Iterator[tuple[int, np.ndarray]]:
        if not columns:
            for start in range(0, self.n_rows, max_rows):
                yield start, np.empty((min(max_rows, self.n_rows - start), 0))
            return
        for start, matrix in self._table.select(columns).matrices(max_rows):
            for low in range(0, len(matrix), max_rows):
                yield start + low, matrix[low : low + max_rows]

    def with_crosses(self, crosses: Sequence[NumericCross]) -> TransformedTable:
        """Return the table with numeric crosses as further columns."""
        return TransformedTable(self._table, self._transformer.with_crosses(crosses), self._codes, self._computed)

    def number_and_codes(self, number: int, category: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the values of a numeric column of the user's table, the codes of a categorical one, and how many."""
        chunks = self._table.select([number]).matrices(self._table.chunk_rows())
        values = np.concatenate([matrix[:, 0] for _, matrix in chunks]).astype(np.float64)
        return values, self._codes[category], self._transformer.vocabularies[category].n_codes

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        transformer = replace(self._transformer, columns=tuple(self._transformer.columns[k] for k in features))
        computed = {new: self._computed[k] for new, k in enumerate(features) if k in self._computed}
        return TransformedTable(self._table, transformer, self._codes, computed)
