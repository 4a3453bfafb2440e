"""The sets of levels that splits send to the left, as columns of 0 and 1 for the finished trees."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.data.dataset import Dataset
from sapwood.data.recipe import MEMBER, Derived
from sapwood.grow.grown import Grown
from sapwood.kernels.layout import IS_SET
from sapwood.kernels.split_levels import find_leaves
from sapwood.kernels.sums import Run
from sapwood.model.tree import Tree

HALF = 0.5
LEVELS_SHOWN = 4


class LevelSets:
    """Numbers the sets of a training behind the columns that trees were grown on."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._bins_of: dict[int, np.ndarray] = {}
        self.columns: list[Derived] = []

    def named(self, tree: Tree, grown: Grown) -> Tree:
        """The tree with a column of 0 (left) and 1 in the place of each set."""
        if grown.sets is None:
            return tree
        feature, threshold, missing_left = tree.feature.copy(), tree.threshold.copy(), tree.missing_left.copy()
        for node in np.flatnonzero((grown.bin == IS_SET) & (grown.feature >= 0)):
            feature[node] = self._number(int(grown.feature[node]), grown.sets[node])
            threshold[node], missing_left[node] = HALF, 0
        return dataclasses.replace(tree, feature=feature, threshold=threshold, missing_left=missing_left)

    def _number(self, feature: int, words: np.ndarray) -> int:
        key = (feature, words.tobytes())
        if key not in self._numbers:
            self._numbers[key] = self._dataset.n_features + len(self.columns)
            self.columns.append(self._column(feature, words))
        return self._numbers[key]

    def _column(self, feature: int, words: np.ndarray) -> Derived:
        recipe = self._dataset.recipe
        assert recipe is not None
        source = recipe.columns[feature]
        assert isinstance(source, Derived)
        is_left = np.unpackbits(words.astype("<i8").view(np.uint8), bitorder="little")[self._bins(feature)].astype(bool)
        known = np.flatnonzero(is_left & (source.table > 0.0))
        texts, last = recipe.vocabularies[source.sources[0]].texts, len(is_left) - 1
        named = [
            "missing" if code == 0 else "others" if code == last else repr(texts[code - 1])
            for code in known[:LEVELS_SHOWN].tolist()
        ]
        n_chosen = len(known)
        if is_left[last]:
            named, n_chosen = [*named, "others"][:LEVELS_SHOWN], n_chosen + 1
        shown = ", ".join(named) + (f" and {n_chosen - LEVELS_SHOWN} more" if n_chosen > LEVELS_SHOWN else "")
        return Derived(source.sources, MEMBER, (~is_left).astype(np.float64), source.counts, part=f"none of {shown}")

    def _bins(self, feature: int) -> np.ndarray:
        """The bin of every level of a column."""
        if feature not in self._bins_of:
            recipe = self._dataset.recipe
            assert recipe is not None
            source = recipe.columns[feature]
            assert isinstance(source, Derived)
            edges = self._dataset.encoder.edges[feature]
            self._bins_of[feature] = np.where(np.isnan(source.table), 0, 1 + np.searchsorted(edges, source.table))
        return self._bins_of[feature]


def leaves_of(tiles: np.ndarray, grown: Grown, run: Run) -> np.ndarray:
    """The leaf in which each binned row ends, of a tree with sets of levels."""
    assert grown.sets is not None
    out = np.empty(tiles.shape[1], dtype=np.int32)
    run(
        find_leaves, tiles, grown.feature, grown.bin, grown.missing_left, grown.left,
        np.ascontiguousarray(grown.sets), out,
    )  # fmt: skip
    return out
