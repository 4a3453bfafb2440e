"""Category bitsets for prediction: up to 64 sets of categories of one column as the bits of one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sapwood.data.categories.derived_feature import SET, DerivedFeature
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.lazy_dataclass import dataclass

BITSET_BITS = 64
BITSET = "bitset"


@dataclass(frozen=True, eq=False)
class CategoryBitset(DerivedFeature):
    """A column of 64-bit integers that replaces up to 64 sets: bit k is 1 where the category is not in set k.

    ``sums`` holds the bin of each category, ``counts`` the bitset of each bin, viewed as float64 so that it can stand
    in a table of floats.
    """

    def values(self, codes: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the bitset of each row."""
        bins = self.sums[np.minimum(codes[self.sources[0]], len(self.sums) - 1)]
        return self.counts[bins]


@dataclass(frozen=True, eq=False)
class BitsetTransformer:
    """A feature transformer whose sets are packed into bitsets.

    For each column of the original transformer, ``column`` is its new number and ``bit`` its bit there (−1: the column
    is not a set).
    """

    transformer: FeatureTransformer
    column: np.ndarray
    bit: np.ndarray

    @classmethod
    def of(cls, original: FeatureTransformer) -> BitsetTransformer:
        """Pack the sets of the same categorical column together, in the order of their numbers."""
        columns: list[int | DerivedFeature] = []
        column, bit = np.full(original.n_columns, -1, dtype=np.int64), np.full(original.n_columns, -1, dtype=np.int64)
        sets_by_bins: dict[int, list[int]] = {}
        for k, feature in enumerate(original.columns):
            if isinstance(feature, DerivedFeature) and feature.kind == SET:
                sets_by_bins.setdefault(id(feature.sums), []).append(k)
            else:
                column[k] = len(columns)
                columns.append(feature)
        for numbers in sets_by_bins.values():
            sets = [
                feature for feature in (original.columns[k] for k in numbers) if isinstance(feature, DerivedFeature)
            ]
            column[numbers] = len(columns) + np.arange(len(numbers)) // BITSET_BITS
            bit[numbers] = np.arange(len(numbers)) % BITSET_BITS
            columns.extend(_pack_sets(sets))
        return cls(replace(original, columns=tuple(columns)), column, bit)


def _pack_sets(sets: list[DerivedFeature]) -> list[CategoryBitset]:
    bins = sets[0].sums.astype(np.uint8)
    members = np.stack([feature.members for feature in sets if feature.members is not None])
    is_outside = 1 - np.unpackbits(members.astype("<i8").view(np.uint8), axis=1, bitorder="little")
    padded = np.zeros((-(-len(sets) // BITSET_BITS) * BITSET_BITS, is_outside.shape[1]), dtype=np.uint8)
    padded[: len(sets)] = is_outside
    bitsets = np.ascontiguousarray(np.packbits(padded, axis=0, bitorder="little").T).view("<u8").T
    return [CategoryBitset(sets[0].sources, BITSET, bins, one.astype(np.uint64).view(np.float64)) for one in bitsets]
