"""Assemble the trees of a training run, grown in bins, into the trees of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.derived_feature import SET, DerivedFeature
from sapwood.grow.grown_tree import FittedTree, join_nodes, thresholds
from sapwood.kernels.layout import BITSET_SPLIT
from sapwood.model.ensemble_builder import join_trees
from sapwood.model.linear_leaves import join_coefficients

# Columns of nodes that a model keeps unchanged.
NODE_COLUMNS = ("feature", "missing_left", "left", "count", "gain", "weight")
INDICATOR_THRESHOLD = 0.5


class TreeAssembler:
    """Replaces bins by thresholds and sets of categories by indicator features.

    Every set of categories that some split sends to the left becomes a derived feature: 0 for its categories, 1 for the
    others. ``columns`` are these features; their numbers follow those of the dataset.
    """

    def __init__(self, dataset: BinnedDataset) -> None:
        self._dataset = dataset
        self._number_of_set: dict[tuple[int, bytes], int] = {}
        self.columns: list[DerivedFeature] = []

    def join(self, trees: Sequence[FittedTree], width: int) -> dict[str, Any]:
        """Return the arrays of all trees, concatenated, and the first node of each."""
        if not trees:
            return join_trees((), width)
        grown = [tree.grown for tree in trees]
        joined = join_nodes(grown)
        nodes = {name: getattr(joined, name) for name in NODE_COLUMNS}
        exact = [tree.threshold for tree in grown if tree.threshold is not None]
        mapper = self._dataset.bin_mapper
        nodes["threshold"] = np.concatenate(exact) if exact else thresholds(joined.feature, joined.bin, mapper)
        nodes["value"] = np.concatenate([tree.value for tree in trees])
        nodes["gradient"] = np.concatenate([tree.gradient for tree in grown])
        nodes["hessian"] = np.concatenate([tree.hessian for tree in grown])
        if width == 1:
            nodes |= {name: nodes[name][:, 0] for name in ("gradient", "hessian")}
        bitsets = [tree.sets for tree in grown if tree.sets is not None]
        if bitsets:
            self._split_by_indicators(nodes, joined.bin, np.concatenate(bitsets))
        return {
            **nodes,
            "tree_start": np.cumsum([0, *(len(tree.value) for tree in trees)]),
            "leaf_coefficients": join_coefficients([(tree.grown.leaf_coefficients, tree.value) for tree in trees]),
        }

    def _split_by_indicators(self, nodes: dict[str, np.ndarray], bins: np.ndarray, bitsets: np.ndarray) -> None:
        """Split the nodes that have a set of categories by the indicator feature of the set."""
        feature, threshold, missing_left = nodes["feature"], nodes["threshold"], nodes["missing_left"]
        chosen = np.flatnonzero((bins == BITSET_SPLIT) & (feature >= 0))
        feature[chosen] = [
            self._indicator(f, bitset) for f, bitset in zip(feature[chosen].tolist(), bitsets[chosen], strict=True)
        ]
        threshold[chosen], missing_left[chosen] = INDICATOR_THRESHOLD, 0

    def _indicator(self, feature: int, bitset: np.ndarray) -> int:
        """Return the number of the indicator feature of a set; bits of the set are codes of categories."""
        key = (feature, bitset.tobytes())
        if key not in self._number_of_set:
            assert self._dataset.transformer is not None
            source = self._dataset.transformer.columns[feature]
            assert isinstance(source, DerivedFeature)
            self._number_of_set[key] = self._dataset.n_features + len(self.columns)
            self.columns.append(DerivedFeature(source.sources, SET, source.sums, source.sums, members=bitset))
        return self._number_of_set[key]
