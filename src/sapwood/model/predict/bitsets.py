"""Sets of levels packed for prediction: 64 sets of one category in the bits of one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.categories.transformer import SET, DerivedFeature, FeatureTransformer

WORD_BITS = 64
WORD = "word"


@dataclass(frozen=True, eq=False)
class CategoryBitset(DerivedFeature):
    """A column of words, in the place of up to 64 sets: bit k is 1 where the level is not in the k-th of them.

    ``sums`` are the ranks of levels, ``counts`` the word of each rank; what the words are as floats means nothing.
    """

    def values(self, codes: Mapping[int, np.ndarray]) -> np.ndarray:
        """The word of each row."""
        ranks = self.sums[np.minimum(codes[self.sources[0]], len(self.sums) - 1)]
        return self.counts[ranks]


@dataclass(frozen=True, eq=False)
class BitsetTransformer:
    """A recipe with words for its sets; for each of its former columns the new place, and the bit there (−1: none)."""

    transformer: FeatureTransformer
    place: np.ndarray
    bit: np.ndarray

    @classmethod
    def of(cls, recipe: FeatureTransformer) -> BitsetTransformer:
        """Put the sets of the same ranks together, in the order of their numbers."""
        columns: list[int | DerivedFeature] = []
        place, bit = np.full(recipe.n_columns, -1, dtype=np.int64), np.full(recipe.n_columns, -1, dtype=np.int64)
        together: dict[int, list[int]] = {}
        for k, column in enumerate(recipe.columns):
            if isinstance(column, DerivedFeature) and column.kind == SET:
                together.setdefault(id(column.sums), []).append(k)
            else:
                place[k] = len(columns)
                columns.append(column)
        for numbers in together.values():
            sets = [column for column in (recipe.columns[k] for k in numbers) if isinstance(column, DerivedFeature)]
            place[numbers] = len(columns) + np.arange(len(numbers)) // WORD_BITS
            bit[numbers] = np.arange(len(numbers)) % WORD_BITS
            columns.extend(_words(sets))
        return cls(replace(recipe, columns=tuple(columns)), place, bit)


def _words(sets: list[DerivedFeature]) -> list[CategoryBitset]:
    ranks = sets[0].sums.astype(np.uint8)
    members = np.stack([one.members for one in sets if one.members is not None])
    is_outside = 1 - np.unpackbits(members.astype("<i8").view(np.uint8), axis=1, bitorder="little")
    padded = np.zeros((-(-len(sets) // WORD_BITS) * WORD_BITS, is_outside.shape[1]), dtype=np.uint8)
    padded[: len(sets)] = is_outside
    lines = np.ascontiguousarray(np.packbits(padded, axis=0, bitorder="little").T).view("<u8").T
    return [CategoryBitset(sets[0].sources, WORD, ranks, line.astype(np.uint64).view(np.float64)) for line in lines]
