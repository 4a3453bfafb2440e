"""Pack trees into the arrays that the prediction kernels read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.kernels.predict import linear_leaves, packed_forest
from sapwood.lazy_dataclass import dataclass
from sapwood.model.ensemble import Ensemble
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.predict.byte_packing import PackedByteTrees, pack_byte_trees
from sapwood.model.predict.float32_thresholds import Thresholds
from sapwood.model.predict.node_index import NodeIndex, count_true_before

# Position in a tree's table of each exit of its top, numbered from the left: the order of the de Bruijn products.
EXIT_POSITIONS = ((np.int64(packed_forest.DE_BRUIJN) << np.arange(packed_forest.MAX_EXITS)) & 0xFFFFFFFF) >> 27
MAX_SYMMETRIC_DEPTH = 16


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """The trees of an ensemble as the kernels read them, and the thresholds of the splits in their tops.

    ``linear`` holds linear leaves, if there are any; ``node_index`` returns the nodes that were packed.
    """

    forest: packed_forest.Forest
    thresholds: Thresholds
    linear: linear_leaves.LinearForest | None = None
    node_index: Callable[[], NodeIndex] | None = None

    @cached_property
    def byte_trees(self) -> PackedByteTrees | None:
        """The trees packed for prediction on bytes, or None if they do not fit."""
        return None if self.linear is not None or self.node_index is None else pack_byte_trees(self.node_index())


def pack_trees(ensemble: Ensemble, with_tops: bool = True, bitsets: BitsetTransformer | None = None) -> PackedTrees:
    """Pack the splits of each tree's top and the tables of all trees (see ``kernels/predict/packed_forest.py``).

    Without tops, every tree is walked down from its root, the first entry of its table. ``bitsets`` maps sets of
    categories to the bits of bitset columns.
    """
    nodes = NodeIndex(ensemble, bitsets)
    symmetric = find_symmetric(nodes) if with_tops else np.zeros(ensemble.n_trees, dtype=bool)
    in_symmetric = symmetric[nodes.tree]
    top = _choose_tops(nodes) if with_tops else np.zeros(ensemble.n_nodes, dtype=bool)
    top = np.where(in_symmetric, nodes.inner, top)
    n_exits, first_exit, _ = nodes.number_leaves(top)
    is_exit = ~top & ((nodes.parent < 0) | top[nodes.parent])
    below = ~top & ~is_exit
    n_below = np.diff(count_true_before(below, ensemble.tree_start))
    n_leaves = np.diff(count_true_before(~nodes.inner, ensemble.tree_start))
    tables = np.concatenate([[0], np.cumsum(np.where(symmetric, n_leaves, packed_forest.MAX_EXITS + n_below))])
    exit_position = EXIT_POSITIONS[np.where(is_exit & ~in_symmetric, first_exit, 0)]
    exit_position = np.where(in_symmetric, first_exit, exit_position)
    position = tables[nodes.tree] + np.where(is_exit, exit_position, packed_forest.MAX_EXITS)
    position[below] += (np.cumsum(below) - 1 - count_true_before(below, ensemble.tree_start)[nodes.tree])[below]

    # One split represents all splits of a depth of a symmetric tree: the leftmost.
    splits = top & (~in_symmetric | (first_exit == 0))
    trees = np.zeros((ensemble.n_trees, 5), dtype=np.int64)
    starts = count_true_before(splits, ensemble.tree_start)
    trees[:, packed_forest.SPLITS_BEGIN], trees[:, packed_forest.SPLITS_END] = starts[:-1], starts[1:]
    trees[:, packed_forest.TABLE], trees[:, packed_forest.OUTPUT] = tables[:-1], ensemble.tree_output
    trees[:, packed_forest.KIND] = np.where(symmetric, packed_forest.SYMMETRIC, n_below > 0)

    features, slots = _feature_slots(nodes)
    n_left = np.where(in_symmetric[splits], 0, n_exits[nodes.left[splits]])
    links = _pack_links(nodes, slots, position, int(tables[-1]), ~top)
    values = np.zeros((len(links), ensemble.width))
    values[position[~top]] = ensemble.value[~top]
    numbers = np.zeros(len(links), dtype=np.int32)
    numbers[position[~top]] = nodes.number[~top]
    forest = packed_forest.Forest(
        trees=trees,
        slots=np.where(
            nodes.bit[splits] < 0,
            2 * slots[splits] + (ensemble.missing_left[splits] == 0),
            -1 - (packed_forest.WORD_BITS * slots[splits] + nodes.bit[splits]),
        ),
        masks=_clear_masks(first_exit[splits], n_left),
        features=features,
        links=links,
        thresholds=links.view(np.float64),
        values=values,
        nodes=numbers,
    )
    linear = pack_linear_leaves(ensemble, bitsets)
    return PackedTrees(forest, Thresholds(ensemble.threshold[splits]), linear, partial(NodeIndex, ensemble, bitsets))


def pack_linear_leaves(
    ensemble: Ensemble, bitsets: BitsetTransformer | None = None
) -> linear_leaves.LinearForest | None:
    """Return the coefficients of linear leaves for the kernels; None if all leaves are constant."""
    coefficients = ensemble.leaf_coefficients
    if coefficients is None:
        return None
    feature = coefficients.feature
    return linear_leaves.LinearForest(
        tree_start=ensemble.tree_start,
        tree_output=ensemble.tree_output,
        value=ensemble.value.reshape(-1),
        intercept=coefficients.intercept,
        start=coefficients.start,
        feature=feature if bitsets is None else bitsets.column[feature].astype(feature.dtype),
        centre=coefficients.centre,
        slope=coefficients.slope,
    )


def find_symmetric(nodes: NodeIndex) -> np.ndarray:
    """Return which trees have one split for all nodes of a depth, and all their leaves at the same depth."""
    ensemble = nodes.ensemble
    depths = ensemble.node_depths()
    first = ensemble.tree_start[:-1]
    max_depth = np.maximum.reduceat(depths, first) if len(first) else first
    is_symmetric = (max_depth > 0) & (max_depth <= MAX_SYMMETRIC_DEPTH)
    is_symmetric[nodes.tree[~nodes.inner & (depths < max_depth[nodes.tree])]] = False
    is_symmetric[nodes.tree[nodes.bit >= 0]] = False
    for level in nodes.levels:
        # The splits of a depth are ordered by tree; each must equal its neighbour in the same tree.
        same_tree = nodes.tree[level[1:]] == nodes.tree[level[:-1]]
        differs = np.zeros(len(same_tree), dtype=bool)
        for field in (ensemble.feature, ensemble.threshold, ensemble.missing_left):
            differs |= field[level[1:]] != field[level[:-1]]
        is_symmetric[nodes.tree[level[1:][same_tree & differs]]] = False
    return is_symmetric


def _choose_tops(nodes: NodeIndex) -> np.ndarray:
    """Mark the splits of each tree's top: a subtree from the root of the splits that most training rows passed."""
    rows = np.where(nodes.inner, nodes.ensemble.count, -1)
    for level in nodes.levels:
        for child in (nodes.left[level], nodes.left[level] + 1):
            rows[child] = np.minimum(rows[child], rows[level])
    order = np.lexsort((nodes.number, -rows, nodes.tree))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = nodes.number  # trees keep their ranges, so the n-th node of a tree in this order has rank n
    return nodes.inner & (rank < packed_forest.MAX_EXITS - 1)


def _feature_slots(nodes: NodeIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns in use (at least one, which leaves refer to), and the index of each node's column there."""
    features = np.flatnonzero(np.bincount(nodes.column[nodes.inner]))
    if len(features) == 0:
        features = np.zeros(1, dtype=np.int64)
    slots = np.searchsorted(features, np.where(nodes.inner, nodes.column, features[0]))
    return features, slots.astype(np.int64)


def _clear_masks(first: np.ndarray, n_left: np.ndarray) -> np.ndarray:
    """Return masks of all bits but ``n_left`` from ``first`` on: the exits that remain when a row goes right."""
    ones = (np.uint64(1) << n_left.astype(np.uint64)) - np.uint64(1)
    return (~(ones << first.astype(np.uint64))).astype(np.uint32)


def _pack_links(
    nodes: NodeIndex, slots: np.ndarray, position: np.ndarray, length: int, included: np.ndarray
) -> np.ndarray:
    """Return the table of nodes as pairs of 64-bit words; a leaf links to itself and has an infinite threshold."""
    links = np.zeros((length, 2), dtype=np.uint64)
    inner = nodes.inner[included]
    child = np.where(inner, nodes.left[included], np.flatnonzero(included))
    missing_right = inner & (nodes.ensemble.missing_left[included] == 0)
    is_bitset = nodes.bit[included] >= 0
    link = position[child].astype(np.uint64)
    link |= missing_right.astype(np.uint64) << packed_forest.MISSING_RIGHT_BIT
    link |= slots[included].astype(np.uint64) << packed_forest.SLOT_BIT
    link |= is_bitset.astype(np.uint64) << packed_forest.BITSET_BIT
    place = position[included]
    links[place, 0] = link
    links.view(np.float64)[place, 1] = np.where(inner, nodes.ensemble.threshold[included], np.inf)
    links[place[is_bitset], 1] = nodes.bit[included][is_bitset].astype(np.uint64)
    return links
