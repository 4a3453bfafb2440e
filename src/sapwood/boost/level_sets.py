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
        ranks = source.table
        bins = np.where(np.isnan(ranks), 0, 1 + np.searchsorted(self._dataset.encoder.edges[feature], ranks))
        is_left = np.unpackbits(words.astype("<i8").view(np.uint8), bitorder="little")[bins].astype(bool)
        texts = ("missing", *map(repr, recipe.vocabularies[source.sources[0]].texts), "others")
        chosen = [text for text, goes_left, rank in zip(texts, is_left, ranks, strict=True) if goes_left and rank > 0]
        chosen += ["others"] if is_left[-1] else []
        shown = ", ".join(chosen[:LEVELS_SHOWN])
        shown += f" and {len(chosen) - LEVELS_SHOWN} more" if len(chosen) > LEVELS_SHOWN else ""
        return Derived(source.sources, MEMBER, (~is_left).astype(np.float64), source.counts, part=f"none of {shown}")


def leaves_of(tiles: np.ndarray, grown: Grown, run: Run) -> np.ndarray:
    """The leaf in which each binned row ends, of a tree with sets of levels."""
    assert grown.sets is not None
    out = np.empty(tiles.shape[1], dtype=np.int32)
    run(
        find_leaves, tiles, grown.feature, grown.bin, grown.missing_left, grown.left,
        np.ascontiguousarray(grown.sets), out,
    )  # fmt: skip
    return out
