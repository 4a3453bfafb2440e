"""Positions of the nodes of all trees of an ensemble, from which trees are packed."""

from __future__ import annotations

import numpy as np

from sapwood.model.ensemble import Ensemble
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.tree import LEAF


class NodeIndex:
    """For each node of an ensemble its tree, its number there, and its parent and left child counted over all trees.

    ``column`` is the column of the split; ``bit`` the bit of a category bitset that decides it, −1 where a threshold
    does. ``levels`` are the splits of all trees, one array per depth.
    """

    def __init__(self, ensemble: Ensemble, bitsets: BitsetTransformer | None = None) -> None:
        self.ensemble = ensemble
        self.column, self.bit = ensemble.feature, np.full(ensemble.n_nodes, -1, dtype=np.int64)
        if bitsets is not None:
            self.column = np.where(ensemble.feature == LEAF, LEAF, bitsets.column[ensemble.feature])
            self.bit = np.where(ensemble.feature == LEAF, -1, bitsets.bit[ensemble.feature])
        self.tree = ensemble.tree_of_node()
        self.number = np.arange(ensemble.n_nodes) - ensemble.tree_start[self.tree]
        self.inner = ensemble.feature != LEAF
        self.left = ensemble.left + ensemble.tree_start[self.tree]
        self.parent = np.full(ensemble.n_nodes, -1, dtype=np.int64)
        splits = np.flatnonzero(self.inner)
        self.parent[self.left[splits]] = self.parent[self.left[splits] + 1] = splits
        depths = ensemble.node_depths()[splits]
        order = splits[np.argsort(depths, kind="stable")]
        self.levels = np.split(order, np.cumsum(np.bincount(depths))[:-1]) if len(order) else []

    def number_leaves(
        self, inner: np.ndarray, smaller_first: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number the leaves of each tree from 0, where ``inner`` marks the nodes that count as splits.

        Return the number of leaves below each node, the first of them, and whether those on the right of a split come
        first: they do where they are fewer and ``smaller_first`` is set.
        """
        levels = [level[inner[level]] for level in self.levels]
        counts = np.ones(len(inner), dtype=np.int64)
        for level in reversed(levels):
            counts[level] = counts[self.left[level]] + counts[self.left[level] + 1]
        first = np.zeros(len(inner), dtype=np.int64)
        right_first = np.zeros(len(inner), dtype=bool)
        for level in levels:
            left = self.left[level]
            swapped = smaller_first & (counts[left] > counts[left + 1])
            right_first[level] = swapped
            first[left] = first[level] + np.where(swapped, counts[left + 1], 0)
            first[left + 1] = first[level] + np.where(swapped, 0, counts[left])
        return counts, first, right_first


def count_true_before(mask: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the number of true entries of ``mask`` before each position."""
    return np.concatenate([[0], np.cumsum(mask)])[positions]
