"""The nodes of all trees of an ensemble, for those who pack them."""

from __future__ import annotations

import numpy as np

from sapwood.model.ensemble import Ensemble
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.tree import LEAF


class NodeIndex:
    """Where each node stands: its tree, its number there, its parent and left child counted over all trees.

    ``column`` is the one that a split asks, ``bit`` the one of its words that decides, −1 where a threshold does.
    """

    def __init__(self, ensemble: Ensemble, compact: BitsetTransformer | None = None) -> None:
        self.ensemble = ensemble
        self.column, self.bit = ensemble.feature, np.full(ensemble.n_nodes, -1, dtype=np.int64)
        if compact is not None:
            self.column = np.where(ensemble.feature == LEAF, LEAF, compact.place[ensemble.feature])
            self.bit = np.where(ensemble.feature == LEAF, -1, compact.bit[ensemble.feature])
        self.tree = ensemble.tree_of_node()
        self.number = np.arange(ensemble.n_nodes) - ensemble.tree_start[self.tree]
        self.inner = ensemble.feature != LEAF
        self.left = ensemble.left + ensemble.tree_start[self.tree]
        self.parent = np.full(ensemble.n_nodes, -1, dtype=np.int64)
        splits = np.flatnonzero(self.inner)
        self.parent[self.left[splits]] = self.parent[self.left[splits] + 1] = splits
        depths = ensemble.node_depths()[splits]
        order = splits[np.argsort(depths, kind="stable")]
        # The splits of all trees, one array per depth.
        self.levels = np.split(order, np.cumsum(np.bincount(depths))[:-1]) if len(order) else []


def count_true_before(chosen: np.ndarray, where: np.ndarray) -> np.ndarray:
    """How many are chosen before each of some places."""
    return np.concatenate([[0], np.cumsum(chosen)])[where]


def rounded_down(thresholds: np.ndarray) -> np.ndarray:
    """The largest float32 not above each threshold: float32 values compare with it as with the threshold."""
    with np.errstate(all="ignore"):
        rounded = thresholds.astype(np.float32)
        above = rounded > thresholds
        rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded
