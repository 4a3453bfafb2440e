"""Feature transformer: compute the columns that trees are grown on from the columns of the user's table.

A numeric column keeps its number. The first column encoded from a categorical column takes its number; all other
encoded columns follow after the user's columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.combination_codes import combination_keys, encode_number_columns, find_keys
from sapwood.data.categories.vocabulary import MISSING, CategoricalColumn, Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.lazy_dataclass import dataclass

# Kinds of derived features, as written to model files: target statistic, frequency, one-hot indicator, rank of a
# category by frequency, and whether a category is outside a set that a split sends to the left.
STATISTIC, FREQUENCY, MEMBER, RANK, SET = "statistic", "frequency", "member", "rank", "set"
CATEGORIES_SHOWN = 4  # in the name of a set


@dataclass(frozen=True, eq=False)
class DerivedFeature:
    """A numeric column computed from a categorical column or a combination (``sources``) by tables.

    The tables have an entry per code of the source; the last is that of unknown categories. Codes of a combination are
    found by their ascending ``keys``. The value of a statistic is (``sums`` + weight·prior)/(``counts`` + weight), of a
    frequency ``counts``/weight, of a one-hot indicator ``sums``, of a rank ``sums`` with 0 for missing. A set has ranks
    in ``sums``, and is 0 for those whose bits are set in the 64-bit words ``members``, else 1. ``part`` names the
    column among others of the same sources.
    """

    sources: tuple[int, ...]
    kind: str
    sums: np.ndarray
    counts: np.ndarray
    prior: float = 0.0
    weight: float = 1.0
    keys: np.ndarray | None = None
    part: str = ""
    members: np.ndarray | None = None

    @property
    def n_categories(self) -> int:
        """Number of categories of a single source; the tables also have entries for missing and unknown ones."""
        return len(self.sums) - 2

    @cached_property
    def table(self) -> np.ndarray:
        """Value of each code."""
        if self.kind == SET:
            return 1.0 - self.is_member(self.sums.astype(np.int64))
        if self.kind == MEMBER:
            return self.sums
        if self.kind == RANK:
            return np.where(self.sums > 0.0, self.sums, np.nan)
        if self.kind == FREQUENCY:
            return self.counts / self.weight
        return (self.sums + self.weight * self.prior) / (self.counts + self.weight)

    def values(self, codes: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the value of each row from the codes of each source."""
        last = len(self.table) - 1
        if self.keys is None:
            return self.table[np.minimum(codes[self.sources[0]], last)]
        return self.table[find_keys(self.keys, combination_keys([codes[f] for f in self.sources]))]

    def is_member(self, ranks: np.ndarray) -> np.ndarray:
        """Return 1 for each rank that belongs to the set, else 0."""
        assert self.members is not None
        return np.unpackbits(self.members.astype("<i8").view(np.uint8), bitorder="little")[ranks]

    def name(self, schema: Schema, vocabularies: Mapping[int, Vocabulary]) -> str:
        """Return the names of the sources and what the column is."""
        sources = " × ".join(schema.name_of(f) for f in self.sources)
        part = self._describe_set(vocabularies[self.sources[0]]) if self.kind == SET else self.part or self.kind
        return f"{sources} ({part})"

    def _describe_set(self, vocabulary: Vocabulary) -> str:
        """Return the categories of a set, the first few by name."""
        last = len(self.sums) - 1
        codes = np.flatnonzero((self.table == 0.0) & (self.sums > 0.0))
        names = [
            "missing" if code == MISSING else repr(vocabulary.categories[code - 1]) for code in codes[:CATEGORIES_SHOWN]
        ]
        n_categories = len(codes)
        if self.table[last] == 0.0:
            names, n_categories = [*names, "others"][:CATEGORIES_SHOWN], n_categories + 1
        more = f" and {n_categories - CATEGORIES_SHOWN} more" if n_categories > CATEGORIES_SHOWN else ""
        return f"none of {', '.join(names)}{more}"


@dataclass(frozen=True, eq=False)
class FeatureTransformer:
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

    def column_names(self, schema: Schema) -> list[str]:
        """Return the name of each column."""
        return [schema.name_of(c) if isinstance(c, int) else c.name(schema, self.vocabularies) for c in self.columns]

    def codes(self, table: Table) -> dict[int, np.ndarray]:
        """Return the codes of all rows for each categorical column and each numeric column that has cuts."""
        codes = {f: vocabulary.encode(table.categorical_column(f)) for f, vocabulary in self.vocabularies.items()}
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
        combined = {f for c in columns if isinstance(c, DerivedFeature) for f in c.sources}
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

    def categorical_column(self, feature: int) -> CategoricalColumn:
        """Raise NotImplementedError: all columns are numeric."""
        raise NotImplementedError

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, each column contiguous in memory."""
        chosen = range(self.n_features)[first:last]
        numeric = [c for c in (self._transformer.columns[k] for k in chosen) if isinstance(c, int)]
        for start, matrix in self._numeric_chunks(numeric, max_rows):
            rows = slice(start, start + len(matrix))
            values = np.empty((len(chosen), len(matrix)))
            n_numeric = 0
            for out, k in zip(values, chosen, strict=True):
                column = self._transformer.columns[k]
                if isinstance(column, int):
                    out[:] = matrix[:, n_numeric]
                    n_numeric += 1
                elif k in self._computed:
                    out[:] = self._computed[k][rows]
                else:
                    out[:] = column.values({f: self._codes[f][rows] for f in column.sources})
            yield start, values.T

    def _numeric_chunks(self, columns: list[int], max_rows: int) -> Iterator[tuple[int, np.ndarray]]:
        if not columns:
            for start in range(0, self.n_rows, max_rows):
                yield start, np.empty((min(max_rows, self.n_rows - start), 0))
            return
        for start, matrix in self._table.select(columns).matrices(max_rows):
            for low in range(0, len(matrix), max_rows):
                yield start + low, matrix[low : low + max_rows]

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        transformer = replace(self._transformer, columns=tuple(self._transformer.columns[k] for k in features))
        computed = {new: self._computed[k] for new, k in enumerate(features) if k in self._computed}
        return TransformedTable(self._table, transformer, self._codes, computed)
