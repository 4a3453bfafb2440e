"""Pack trees into the arrays that the prediction kernels read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.kernels.predict import linear_leaves as predict_linear
from sapwood.kernels.predict import trees as predict
from sapwood.model.ensemble import Ensemble
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.predict.byte_packing import PackedByteTrees, pack_byte_trees
from sapwood.model.predict.node_index import NodeIndex, count_true_before, rounded_down

# Where the exits of a tree's top, numbered from the left, stand in its table: in the order of the de Bruijn products.
PLACES = ((np.int64(predict.BRUIJN) << np.arange(predict.TOP)) & 0xFFFFFFFF) >> 27
MAX_SYMMETRIC_DEPTH = 16  # of a tree that is asked level by level


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """The trees of an ensemble as the kernels want them, and the thresholds of small trees for float64 values.

    ``linear`` is what their leaves answer, if some of them have slopes; ``find_nodes`` tells what was packed.
    """

    forest: predict.Forest
    thresholds: np.ndarray
    linear: predict_linear.LinearForest | None = None
    find_nodes: Callable[[], NodeIndex] | None = None

    @cached_property
    def by_bytes(self) -> PackedByteTrees | None:
        """The trees for prediction with bytes, if they are fit for it."""
        return None if self.linear is not None or self.find_nodes is None else pack_byte_trees(self.find_nodes())

    @cached_property
    def thresholds_32(self) -> np.ndarray:
        """The thresholds for float32 values."""
        return rounded_down(self.thresholds)

    def thresholds_for(self, dtype: np.dtype) -> np.ndarray:
        """The thresholds in the type of the values that are compared with them."""
        return self.thresholds_32 if dtype == np.float32 else self.thresholds


def pack_trees(ensemble: Ensemble, with_tops: bool = True, compact: BitsetTransformer | None = None) -> PackedTrees:
    """Lay out the splits of each tree's top and the tables of all trees (see ``kernels/predict/trees.py``).

    Without tops, every tree is walked down from its root, the first entry of its table. Where sets of levels are bits
    in words, ``compact`` tells their places.
    """
    nodes = NodeIndex(ensemble, compact)
    symmetric = _find_symmetric(nodes) if with_tops else np.zeros(ensemble.n_trees, dtype=bool)
    in_symmetric = symmetric[nodes.tree]
    top = _choose_tops(nodes) if with_tops else np.zeros(ensemble.n_nodes, dtype=bool)
    top = np.where(in_symmetric, nodes.inner, top)
    n_exits, first_exit = _number_exits(nodes, top)
    is_exit = ~top & ((nodes.parent < 0) | top[nodes.parent])
    below = ~top & ~is_exit
    n_below = np.diff(count_true_before(below, ensemble.tree_start))
    n_leaves = np.diff(count_true_before(~nodes.inner, ensemble.tree_start))
    tables = np.concatenate([[0], np.cumsum(np.where(symmetric, n_leaves, predict.TOP + n_below))])
    of_exit = np.where(in_symmetric, first_exit, PLACES[np.where(is_exit & ~in_symmetric, first_exit, 0)])
    place = tables[nodes.tree] + np.where(is_exit, of_exit, predict.TOP)
    place[below] += (np.cumsum(below) - 1 - count_true_before(below, ensemble.tree_start)[nodes.tree])[below]

    # Of a symmetric tree the leftmost split of each level stands for all.
    asked = top & (~in_symmetric | (first_exit == 0))
    trees = np.zeros((ensemble.n_trees, 5), dtype=np.int64)
    starts = count_true_before(asked, ensemble.tree_start)
    trees[:, predict.FIRST], trees[:, predict.LAST] = starts[:-1], starts[1:]
    trees[:, predict.TABLE], trees[:, predict.OUTPUT] = tables[:-1], ensemble.tree_output
    trees[:, predict.KIND] = np.where(symmetric, predict.SYMMETRIC, n_below > 0)

    features, slots = _slots(nodes)
    n_left = np.where(in_symmetric[asked], 0, n_exits[nodes.left[asked]])
    links = _links(nodes, slots, place, int(tables[-1]), ~top)
    values = np.zeros((len(links), ensemble.width))
    values[place[~top]] = ensemble.value[~top]
    numbers = np.zeros(len(links), dtype=np.int32)
    numbers[place[~top]] = nodes.number[~top]
    forest = predict.Forest(
        trees=trees,
        slots=np.where(
            nodes.bit[asked] < 0,
            2 * slots[asked] + (ensemble.missing_left[asked] == 0),
            -1 - (predict.WORD_BITS * slots[asked] + nodes.bit[asked]),
        ),
        masks=_masks(first_exit[asked], n_left),
        features=features,
        links=links,
        thresholds=links.view(np.float64),
        values=values,
        nodes=numbers,
    )
    linear = linear_forest(ensemble, compact)
    return PackedTrees(forest, ensemble.threshold[asked], linear, partial(NodeIndex, ensemble, compact))


def linear_forest(ensemble: Ensemble, compact: BitsetTransformer | None = None) -> predict_linear.LinearForest | None:
    """What the leaves answer, if some of them have slopes."""
    terms = ensemble.leaf_coefficients
    if terms is None:
        return None
    return predict_linear.LinearForest(
        tree_start=ensemble.tree_start,
        tree_output=ensemble.tree_output,
        value=ensemble.value.reshape(-1),
        intercept=terms.intercept,
        start=terms.start,
        feature=terms.feature if compact is None else compact.place[terms.feature].astype(terms.feature.dtype),
        centre=terms.centre,
        slope=terms.slope,
    )


def _find_symmetric(nodes: NodeIndex) -> np.ndarray:
    """Which trees ask the same question everywhere on a level, and have all their leaves on the last."""
    ensemble = nodes.ensemble
    depths = ensemble.node_depths()
    first = ensemble.tree_start[:-1]
    deepest = np.maximum.reduceat(depths, first) if len(first) else first
    found = (deepest > 0) & (deepest <= MAX_SYMMETRIC_DEPTH)
    found[nodes.tree[~nodes.inner & (depths < deepest[nodes.tree])]] = False
    found[nodes.tree[nodes.bit >= 0]] = False
    for level in nodes.levels:
        # The splits of a level follow each other tree by tree; each must ask what its neighbour asks.
        same_tree = nodes.tree[level[1:]] == nodes.tree[level[:-1]]
        unlike = np.zeros(len(same_tree), dtype=bool)
        for column in (ensemble.feature, ensemble.threshold, ensemble.missing_left):
            unlike |= column[level[1:]] != column[level[:-1]]
        found[nodes.tree[level[1:][same_tree & unlike]]] = False
    return found


def _choose_tops(nodes: NodeIndex) -> np.ndarray:
    """Mark the splits that are asked together: per tree those that most training rows passed, each below another."""
    rows = np.where(nodes.inner, nodes.ensemble.count, -1)
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            rows[child] = np.minimum(rows[child], rows[level])
    order = np.lexsort((nodes.number, -rows, nodes.tree))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = nodes.number  # the trees stay in place, so the n-th of a tree in this order has rank n
    return nodes.inner & (rank < predict.TOP - 1)


def _number_exits(nodes: NodeIndex, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of exits below each node of the tops, and the number of the first of them counted from the left."""
    levels = [level[top[level]] for level in nodes.levels]
    counts = np.ones(len(top), dtype=np.int64)
    for level in reversed(levels):
        counts[level] = counts[nodes.left[level]] + counts[nodes.left[level] + 1]
    first = np.zeros(len(top), dtype=np.int64)
    for level in levels:
        left = nodes.left[level]
        first[left] = first[level]
        first[left + 1] = first[level] + counts[left]
    return counts, first


def _slots(nodes: NodeIndex) -> tuple[np.ndarray, np.ndarray]:
    """The columns in use (at least one, for the leaves to look at), and for each node the place of its column."""
    features = np.flatnonzero(np.bincount(nodes.column[nodes.inner]))
    if len(features) == 0:
        features = np.zeros(1, dtype=np.int64)
    slots = np.searchsorted(features, np.where(nodes.inner, nodes.column, features[0]))
    return features, slots.astype(np.int64)


def _masks(first: np.ndarray, n_left: np.ndarray) -> np.ndarray:
    """All bits but ``n_left`` from ``first`` on."""
    ones = (np.uint64(1) << n_left.astype(np.uint64)) - np.uint64(1)
    return (~(ones << first.astype(np.uint64))).astype(np.uint32)


def _links(nodes: NodeIndex, slots: np.ndarray, place: np.ndarray, length: int, kept: np.ndarray) -> np.ndarray:
    """The table of nodes as pairs of words; a leaf points to itself and no value is above its threshold."""
    links = np.zeros((length, 2), dtype=np.uint64)
    inner = nodes.inner[kept]
    child = np.where(inner, nodes.left[kept], np.flatnonzero(kept))
    missing_right = inner & (nodes.ensemble.missing_left[kept] == 0)
    word = place[child].astype(np.uint64)
    word |= missing_right.astype(np.uint64) << predict.MISSING_RIGHT_BIT
    word |= slots[kept].astype(np.uint64) << predict.SLOT_BIT
    in_word = nodes.bit[kept] >= 0
    word |= in_word.astype(np.uint64) << predict.SET_BIT
    links[place[kept], 0] = word
    links.view(np.float64)[place[kept], 1] = np.where(inner, nodes.ensemble.threshold[kept], np.inf)
    links[place[kept][in_word], 1] = nodes.bit[kept][in_word].astype(np.uint64)
    return links
