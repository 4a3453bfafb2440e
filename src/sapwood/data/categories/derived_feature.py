"""Derived features: numeric columns that are computed from the columns of the user's table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sapwood.cached_property import WithCaches, cached_property
from sapwood.data.categories.combination_codes import combination_keys, find_keys
from sapwood.data.categories.vocabulary import MISSING, Vocabulary
from sapwood.data.tables.schema import Schema
from sapwood.lazy_dataclass import dataclass

# Kinds of derived features, as written to model files: target statistic, frequency, one-hot indicator, rank of a
# category by frequency, and whether a category is outside a set that a split sends to the left.
STATISTIC, FREQUENCY, MEMBER, RANK, SET = "statistic", "frequency", "member", "rank", "set"
CATEGORIES_SHOWN = 4  # in the name of a set


@dataclass(frozen=True, eq=False)
class DerivedFeature(WithCaches):
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
