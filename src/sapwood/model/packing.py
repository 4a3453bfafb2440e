"""Pack trees into the arrays that the prediction kernels read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sapwood.kernels import predict
from sapwood.model.ensemble import Ensemble
from sapwood.model.tree import LEAF

NARROW_LEAVES, BROAD_LEAVES = 32, 64


@dataclass(frozen=True, eq=False)
class Packed:
    """The trees of an ensemble as the kernels want them, and the thresholds of small trees for float64 values."""

    forest: predict.Forest
    thresholds: np.ndarray

    @cached_property
    def thresholds_32(self) -> np.ndarray:
        """The largest float32 not above each threshold: float32 values compare with it as with the threshold."""
        with np.errstate(over="ignore"):
            rounded = self.thresholds.astype(np.float32)
        above = rounded > self.thresholds
        rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
        return rounded

    def thresholds_for(self, dtype: np.dtype) -> np.ndarray:
        """The thresholds in the type of the values that are compared with them."""
        return self.thresholds_32 if dtype == np.float32 else self.thresholds


def pack(ensemble: Ensemble) -> Packed:
    """Sort trees by size and lay out their splits, nodes and tables (see ``kernels/predict.py``)."""
    features, slots = _slots(ensemble)
    leaf = ensemble.feature == LEAF
    tree = ensemble.tree_of_node()
    n_leaves, first_leaf = _count_leaves(ensemble)
    tree_leaves = n_leaves[ensemble.tree_start[:-1]]
    kinds = np.where(tree_leaves <= NARROW_LEAVES, predict.NARROW, predict.DEEP)
    kinds[(tree_leaves > NARROW_LEAVES) & (tree_leaves <= BROAD_LEAVES)] = predict.BROAD

    sizes = np.choose(kinds, [NARROW_LEAVES, BROAD_LEAVES, np.diff(ensemble.tree_start)])
    tables = np.concatenate([[0], np.cumsum(sizes)])
    places = _places(kinds[tree], first_leaf, np.arange(ensemble.n_nodes) - ensemble.tree_start[tree])
    kept = leaf | (kinds[tree] == predict.DEEP)
    values = np.zeros((tables[-1], ensemble.width))
    nodes = np.zeros(tables[-1], dtype=np.int32)
    where = (tables[tree] + places)[kept]
    values[where] = ensemble.value[kept]
    nodes[where] = (np.arange(ensemble.n_nodes) - ensemble.tree_start[tree])[kept]

    asked = ~leaf & (kinds[tree] != predict.DEEP)
    deep = kinds[tree] == predict.DEEP
    links = _links(ensemble, slots, deep, leaf)
    trees = np.zeros((ensemble.n_trees, 6), dtype=np.int64)
    trees[:, predict.KIND] = kinds
    for column, where in ((predict.FIRST, ensemble.tree_start[:-1]), (predict.LAST, ensemble.tree_start[1:])):
        counted = np.where(kinds == predict.DEEP, _count_before(deep, where), _count_before(asked, where))
        trees[:, column] = counted
    trees[:, predict.TABLE] = tables[:-1]
    trees[:, predict.OUTPUT] = ensemble.tree_output
    trees[:, predict.DEPTH] = _tree_depths(ensemble)
    forest = predict.Forest(
        trees=trees,
        slots=2 * slots[asked] + (ensemble.missing_left[asked] == 0),
        masks=_masks(first_leaf[asked], n_leaves[_left_nodes(ensemble, asked)]),
        features=features,
        links=links,
        thresholds=links.view(np.float64),
        values=values,
        nodes=nodes,
    )
    return Packed(forest, ensemble.threshold[asked])


def _slots(ensemble: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """The features in use (at least one, for the leaves to look at), and for each node the place of its feature."""
    inner = ensemble.feature != LEAF
    features = np.unique(ensemble.feature[inner]).astype(np.int64)
    if len(features) == 0:
        features = np.zeros(1, dtype=np.int64)
    slots = np.searchsorted(features, np.where(inner, ensemble.feature, features[0]))
    return features, slots.astype(np.int64)


def _left_nodes(ensemble: Ensemble, chosen: np.ndarray) -> np.ndarray:
    """The left child of the chosen nodes, counted over all trees."""
    return ensemble.left[chosen] + ensemble.tree_start[ensemble.tree_of_node()[chosen]]


def _count_leaves(ensemble: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """The number of leaves below each node, and the number of the first of them counted from the left."""
    depths = ensemble.node_depths()
    order = np.argsort(depths, kind="stable")
    order = order[ensemble.feature[order] != LEAF]
    levels = np.split(order, np.cumsum(np.bincount(depths[order]))[:-1]) if len(order) else []
    lefts = _left_nodes(ensemble, order)
    lefts_of = np.zeros(ensemble.n_nodes, dtype=np.int64)
    lefts_of[order] = lefts
    counts = np.ones(ensemble.n_nodes, dtype=np.int64)
    for level in reversed(levels):
        counts[level] = counts[lefts_of[level]] + counts[lefts_of[level] + 1]
    first = np.zeros(ensemble.n_nodes, dtype=np.int64)
    for level in levels:
        left = lefts_of[level]
        first[left] = first[level]
        first[left + 1] = first[level] + counts[left]
    return counts, first


def _places(kinds: np.ndarray, first_leaf: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Where each leaf stands in its tree's table: in the order of the de Bruijn products, or of the nodes."""
    bits = np.minimum(first_leaf, BROAD_LEAVES - 1).astype(np.uint64)
    narrow = ((np.uint64(predict.BRUIJN_32) << bits) & np.uint64(predict.ALL_32)) >> np.uint64(27)
    broad = (predict.BRUIJN_64 << bits) >> np.uint64(58)
    return np.choose(kinds, [narrow.astype(np.int64), broad.astype(np.int64), node])


def _masks(first: np.ndarray, n_left: np.ndarray) -> np.ndarray:
    """All bits but ``n_left`` from ``first`` on."""
    ones = (np.uint64(1) << n_left.astype(np.uint64)) - np.uint64(1)
    return ~(ones << first.astype(np.uint64))


def _links(ensemble: Ensemble, slots: np.ndarray, deep: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """The nodes of deep trees as pairs of words; a leaf points to itself and no value is above its threshold."""
    place = np.cumsum(deep) - 1
    chosen = np.flatnonzero(deep)
    child = chosen.copy()
    inner = ~leaf[chosen]
    child[inner] = _left_nodes(ensemble, chosen[inner])
    links = np.empty((len(chosen), 2), dtype=np.uint64)
    missing_right = inner & (ensemble.missing_left[chosen] == 0)
    links[:, 0] = place[child].astype(np.uint64)
    links[:, 0] |= missing_right.astype(np.uint64) << predict.MISSING_RIGHT_BIT
    links[:, 0] |= slots[chosen].astype(np.uint64) << predict.SLOT_BIT
    links.view(np.float64)[:, 1] = np.where(inner, ensemble.threshold[chosen], np.inf)
    return links


def _count_before(chosen: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(chosen)])[where]


def _tree_depths(ensemble: Ensemble) -> np.ndarray:
    if ensemble.n_trees == 0:
        return np.zeros(0, dtype=np.int64)
    return np.maximum.reduceat(ensemble.node_depths(), ensemble.tree_start[:-1])
