"""How the columns that trees are grown on come from the user's columns.

The column of a user's number keeps its place. In the place of a category stands the first column made of it; what else
is made of categories follows behind the user's columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.categories.combination_codes import codes_of_columns, codes_of_numbers, combine_codes, find_keys
from sapwood.data.categories.vocabulary import Levels, Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table

STATISTIC, FREQUENCY, MEMBER, RANK, SET = "statistic", "frequency", "member", "rank", "set"
LEVELS_SHOWN = 4  # in the name of a set


@dataclass(frozen=True, eq=False)
class DerivedFeature:
    """A column made of one category or several columns crossed (``sources``): one number per level, from tables.

    The tables have an entry for each code of the source. Crossed levels are found by their ``keys``, which ascend, and
    have an entry each. The last entry is for all others. A statistic is (``sums`` + weight·prior)/(``counts`` +
    weight), a frequency ``counts``/weight, membership ``sums`` itself, 0 or 1, a rank ``sums`` too, 0 being missing. A
    set has ranks in ``sums``, and is 0 for those whose bits are 1 in the words of ``members``, else 1. ``part`` tells
    such columns apart.
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
    def n_levels(self) -> int:
        """The levels of a single source; the tables also have entries for missing and for all others."""
        return len(self.sums) - 2

    @cached_property
    def table(self) -> np.ndarray:
        """The value of every level."""
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
        """The value of each row, given the codes of every source."""
        last = len(self.table) - 1
        if self.keys is None:
            return self.table[np.minimum(codes[self.sources[0]], last)]
        places = find_keys(self.keys, combine_codes([codes[f] for f in self.sources]))
        return self.table[places]

    def is_member(self, ranks: np.ndarray) -> np.ndarray:
        """1 for each rank that belongs to the set, else 0."""
        assert self.members is not None
        return np.unpackbits(self.members.astype("<i8").view(np.uint8), bitorder="little")[ranks]

    def name(self, schema: Schema, vocabularies: Mapping[int, Vocabulary]) -> str:
        """What to call it: the columns it is made of, and what of them."""
        sources = " × ".join(schema.name_of(f) for f in self.sources)
        part = self._levels_named(vocabularies[self.sources[0]]) if self.kind == SET else self.part or self.kind
        return f"{sources} ({part})"

    def _levels_named(self, vocabulary: Vocabulary) -> str:
        """The levels of a set, the first few by their texts."""
        last = len(self.sums) - 1
        chosen = np.flatnonzero((self.table == 0.0) & (self.sums > 0.0))
        named = ["missing" if code == 0 else repr(vocabulary.texts[code - 1]) for code in chosen[:LEVELS_SHOWN]]
        n_chosen = len(chosen)
        if self.table[last] == 0.0:
            named, n_chosen = [*named, "others"][:LEVELS_SHOWN], n_chosen + 1
        more = f" and {n_chosen - LEVELS_SHOWN} more" if n_chosen > LEVELS_SHOWN else ""
        return f"none of {', '.join(named)}{more}"


@dataclass(frozen=True, eq=False)
class FeatureTransformer:
    """The levels of category columns by the user's number, and the column of trees that each number stands for.

    ``columns`` has an entry per column of trees: the number of a user's column, or what is made of categories.
    ``cuts`` are those between the levels of columns of numbers that are crossed with categories.
    """

    vocabularies: Mapping[int, Vocabulary]
    columns: tuple[int | DerivedFeature, ...]
    cuts: Mapping[int, np.ndarray] = field(default_factory=dict)

    @property
    def n_columns(self) -> int:
        """How many columns trees are grown on."""
        return len(self.columns)

    @property
    def has_sets(self) -> bool:
        """Whether some columns are sets of levels."""
        return any(isinstance(c, DerivedFeature) and c.kind == SET for c in self.columns)

    @cached_property
    def sources(self) -> tuple[tuple[int, ...], ...]:
        """The user's columns that each column is made of."""
        return tuple((c,) if isinstance(c, int) else c.sources for c in self.columns)

    def names(self, schema: Schema) -> list[str]:
        """What to call every column."""
        return [schema.name_of(c) if isinstance(c, int) else c.name(schema, self.vocabularies) for c in self.columns]

    def codes(self, table: Table) -> dict[int, np.ndarray]:
        """The code of each row's level in every category column, and in those of numbers that are crossed."""
        levels = {f: vocabulary.encode(table.levels(f)) for f, vocabulary in self.vocabularies.items()}
        return levels | codes_of_columns(table, self.cuts)

    def apply(self, table: Table) -> Table:
        """The columns of trees for rows that took no part in the statistics."""
        return TransformedTable(table, self, self.codes(table))

    def row(self, row: Sequence[Any], schema: Schema) -> np.ndarray:
        """The columns of trees for one row in the user's order."""
        codes = {
            f: np.array([vocabulary.code_of(row[f], f"column {schema.name_of(f)!r}")], dtype=np.int32)
            for f, vocabulary in self.vocabularies.items()
        }
        zero = np.nan if schema.zero_as_missing else 0.0
        for f, cuts in self.cuts.items():
            codes[f] = codes_of_numbers(np.array([float(row[f]) or zero]), cuts)
        return np.array([float(row[c]) or zero if isinstance(c, int) else c.values(codes)[0] for c in self.columns])

    def fold(self, values: np.ndarray, n_features: int) -> np.ndarray:
        """Amounts per column as amounts per user's column; what several have made is divided equally among them."""
        folded = np.zeros(n_features)
        for value, sources in zip(values, self.sources, strict=True):
            folded[list(sources)] += value / len(sources)
        return folded

    def update(self, digest: Any) -> None:
        """Feed everything that decides a prediction to a digest."""
        for f, vocabulary in self.vocabularies.items():
            digest.update(repr((f, vocabulary.texts)).encode())
        for f, cuts in self.cuts.items():
            digest.update(repr((f, len(cuts))).encode() + cuts.tobytes())
        ranked: set[int] = set()
        for column in self.columns:
            if isinstance(column, int):
                digest.update(repr(column).encode())
            elif column.members is not None:
                digest.update(repr((column.sources, column.kind, column.members.tolist())).encode())
                digest.update(b"" if id(column.sums) in ranked else column.sums.tobytes())
                ranked.add(id(column.sums))
            else:
                digest.update(repr((column.sources, column.kind, column.prior, column.weight)).encode())
                digest.update(column.table.tobytes())
                digest.update(b"" if column.keys is None else column.keys.tobytes())

    def keeping(self, used: np.ndarray, n_features: int) -> tuple[FeatureTransformer, np.ndarray]:
        """The recipe without the columns that no tree uses, and the new number of each column (−1: dropped)."""
        kept = [k for k in range(self.n_columns) if k < n_features or used[k]]
        place = np.full(self.n_columns, -1, dtype=np.int32)
        place[kept] = np.arange(len(kept))
        columns = tuple(self.columns[k] for k in kept)
        crossed = {f for c in columns if isinstance(c, DerivedFeature) for f in c.sources}
        cuts = {f: line for f, line in self.cuts.items() if f in crossed}
        return replace(self, columns=columns, cuts=cuts), place

    def joined(self, later: FeatureTransformer, n_features: int) -> tuple[FeatureTransformer, np.ndarray]:
        """The columns of this recipe, then what a later one makes of categories; the new number of each of those.

        Columns of numbers that both have cut are cut alike.
        """
        columns = list(self.columns)
        place = np.empty(later.n_columns, dtype=np.int32)
        for k, column in enumerate(later.columns):
            if isinstance(column, int):
                place[k] = column
            else:
                place[k] = len(columns)
                columns.append(column)
        return FeatureTransformer(
            later.vocabularies, tuple(columns), dict(sorted({**self.cuts, **later.cuts}.items()))
        ), place


class TransformedTable(Table):
    """The columns of trees, computed chunk by chunk; ``made`` gives those that are known already, by their place."""

    def __init__(
        self,
        table: Table,
        recipe: FeatureTransformer,
        codes: Mapping[int, np.ndarray],
        made: Mapping[int, np.ndarray] | None = None,
    ) -> None:
        self.n_rows, self.n_features = table.n_rows, recipe.n_columns
        self.dtype = np.dtype(np.float64)
        self._table, self._recipe, self._codes, self._made = table, recipe, codes, made or {}

    def levels(self, feature: int) -> Levels:
        """No column of these has levels any more."""
        raise NotImplementedError

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, each column contiguous."""
        chosen = range(self.n_features)[first:last]
        numbers = [c for c in (self._recipe.columns[k] for k in chosen) if isinstance(c, int)]
        for start, matrix in self._number_chunks(numbers, max_rows):
            rows = slice(start, start + len(matrix))
            lines = np.empty((len(chosen), len(matrix)))
            place = 0
            for line, k in zip(lines, chosen, strict=True):
                column = self._recipe.columns[k]
                if isinstance(column, int):
                    line[:] = matrix[:, place]
                    place += 1
                elif k in self._made:
                    line[:] = self._made[k][rows]
                else:
                    line[:] = column.values({f: self._codes[f][rows] for f in column.sources})
            yield start, lines.T

    def _number_chunks(self, numbers: list[int], max_rows: int) -> Iterator[tuple[int, np.ndarray]]:
        if not numbers:
            for start in range(0, self.n_rows, max_rows):
                yield start, np.empty((min(max_rows, self.n_rows - start), 0))
            return
        for start, matrix in self._table.select(numbers).matrices(max_rows):
            for low in range(0, len(matrix), max_rows):
                yield start + low, matrix[low : low + max_rows]

    def select(self, features: Sequence[int]) -> Table:
        """The same rows of these columns in this order."""
        recipe = replace(self._recipe, columns=tuple(self._recipe.columns[k] for k in features))
        made = {place: self._made[k] for place, k in enumerate(features) if k in self._made}
        return TransformedTable(self._table, recipe, self._codes, made)
