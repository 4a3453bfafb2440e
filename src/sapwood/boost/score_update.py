"""Add a new tree to the scores of binned rows: training rows, validation sets and supporting models alike.

All binned rows are sent through trees here. Rows that a tree was just grown on are already sorted by its leaves; other
rows are sent through it by the fastest kernel for the tree and the layout of the bins.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.tables.table import Block
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.kernels.leaves.leaf_refit import add_node_values
from sapwood.kernels.leaves.leaf_values import add_leaf_values, add_leaf_vectors
from sapwood.kernels.predict.binned_columns import BLOCK, add_small_tree, add_symmetric_tree, read_symmetric_levels
from sapwood.kernels.predict.binned_rows import add_scores_binned, add_scores_sparse, find_binned_leaves
from sapwood.kernels.predict.linear_leaves import LinearForest, add_linear_leaves
from sapwood.model.tree import LEAF
from sapwood.native.runtime.kernel import Run
from sapwood.native.threads.team import Team

MAX_BIT_LEAVES = 64  # of a tree whose leaves are bits of a word
MAX_BIT_DEPTH = 8  # of a symmetric tree whose leaves are numbered by bits


class BinnedRows(Protocol):
    """Rows in bins, by rows in ``tiles`` and by features in ``columns`` (None if only tiles are kept).

    Features that are mostly in one bin may be in ``sparse_bins`` instead; ``raw_values`` are set if leaves are linear.
    """

    @property
    def tiles(self) -> np.ndarray: ...  # noqa: D102
    @property
    def columns(self) -> np.ndarray | None: ...  # noqa: D102
    @property
    def sparse_bins(self) -> SparseBins | None: ...  # noqa: D102
    @property
    def raw_values(self) -> Block | None: ...  # noqa: D102


def add_tree(rows: BinnedRows, tree: FittedTree, scores: np.ndarray, team: Team) -> None:
    """Send rows through a tree and add its values to their scores (outputs, rows)."""
    if tree.grown.leaf_coefficients is None:
        _add_values(rows, tree.grown, tree.value, tree.output, scores, team)
    else:
        _add_linear(rows, find_nodes(rows, tree.grown, team), tree, scores, team.run)


def add_grown_tree(rows: BinnedRows, tree: FittedTree, scores: np.ndarray, team: Team, run: Run) -> None:
    """Add a tree to the scores of the rows that it was just grown on, which are all sorted by its leaves.

    ``run`` may cache the arguments of the previous round.
    """
    grown, value, output = tree.grown, tree.value, tree.output
    if grown.leaf_coefficients is not None:
        _add_linear(rows, _nodes_of_grown_rows(rows, grown, team), tree, scores, team.run)
    elif value.shape[1] > 1:
        leaf_of_row = np.empty(scores.shape[1], dtype=np.uint32)
        team.run(add_leaf_vectors, grown.leaf_rows, grown.leaf_ranges, value[grown.leaf_node], leaf_of_row, scores)
    else:
        run(add_leaf_values, grown.leaf_rows, grown.leaves, grown.n_leaves, value, output, scores)


def add_by_nodes(nodes: np.ndarray, tree: FittedTree, scores: np.ndarray, run: Run) -> None:
    """Add a tree to the scores of rows whose leaves are known (``find_nodes``)."""
    run(add_node_values, nodes, tree.value, tree.output, scores)


def find_nodes(rows: BinnedRows, grown: GrownTree, team: Team, is_grown_on: bool = False) -> np.ndarray:
    """Return the leaf of each row as float64; ``is_grown_on`` is true if the tree was just grown on all of the rows."""
    if is_grown_on:
        return _nodes_of_grown_rows(rows, grown, team)
    found = np.zeros((1, rows.tiles.shape[1]))
    _add_values(rows, grown, _node_numbers(grown), 0, found, team)
    return found[0]


def _nodes_of_grown_rows(rows: BinnedRows, grown: GrownTree, team: Team) -> np.ndarray:
    found = np.zeros((1, rows.tiles.shape[1]))
    team.run(add_leaf_values, grown.leaf_rows, grown.leaves, grown.n_leaves, _node_numbers(grown), 0, found)
    return found[0]


def _node_numbers(grown: GrownTree) -> np.ndarray:
    return np.arange(len(grown.feature), dtype=np.float64)[:, None]


def _add_values(
    rows: BinnedRows, grown: GrownTree, value: np.ndarray, output: int, scores: np.ndarray, team: Team
) -> None:
    """Add ``value`` (nodes, width) of the leaf of each row to the scores from ``output`` on."""
    tiles = rows.tiles
    if grown.threshold is not None:  # with exact search, tiles hold the values themselves
        scores[output : output + value.shape[1]] += value[grown.route_values(tiles)].T
    elif rows.sparse_bins is not None:
        sparse = rows.sparse_bins
        team.run(
            add_scores_sparse, tiles, sparse.table, sparse.start, sparse.entries, grown.feature, grown.bin,
            grown.missing_left, grown.left, value, output, scores,
        )  # fmt: skip
    elif grown.sets is not None:
        leaves = np.empty(tiles.shape[1], dtype=np.int32)
        team.run(
            find_binned_leaves, tiles, grown.feature, grown.bin, grown.missing_left, grown.left,
            np.ascontiguousarray(grown.sets), leaves,
        )  # fmt: skip
        scores[output : output + value.shape[1]] += value[leaves].T
    elif rows.columns is None or not _add_by_columns(rows.columns, grown, value, output, scores, team):
        team.run(
            add_scores_binned, tiles, grown.feature, grown.bin, grown.missing_left, grown.left, value, output, scores,
            0, tiles.shape[1],
        )  # fmt: skip


def _add_by_columns(
    columns: np.ndarray, grown: GrownTree, value: np.ndarray, output: int, scores: np.ndarray, team: Team
) -> bool:
    """Add the values of a symmetric or small tree, column by column; return whether the tree is symmetric or small."""
    n_leaves = len(value) // 2 + 1
    levels = SymmetricLevels.of(grown, columns.dtype)
    if levels is not None:
        bits = np.empty((team.members, BLOCK), dtype=np.uint8)
        values = np.ascontiguousarray(value[levels.leaves])
        team.run(add_symmetric_tree, columns, levels.features, levels.splits, bits, values, output, scores)
        return True
    if n_leaves > MAX_BIT_LEAVES:
        return False
    nodes, size = grown.integers, team.members
    below, cuts = (np.empty((size, len(nodes), 2), dtype) for dtype in (np.int64, columns.dtype))
    values = np.empty((size, n_leaves, value.shape[1]))
    planes = np.empty((size, -(-n_leaves // 8) + 1, BLOCK), np.uint8)
    team.run(add_small_tree, columns, nodes, np.ascontiguousarray(value), below, cuts, values, planes, output, scores)
    return True


class SymmetricLevels(NamedTuple):
    """A symmetric tree by depth: the column and the split of each depth, and the node of each leaf by its path as bits.

    Read by ``kernels/predict/binned_columns.py``.
    """

    features: np.ndarray
    splits: np.ndarray
    leaves: np.ndarray

    @classmethod
    def of(cls, grown: GrownTree, dtype: np.dtype) -> SymmetricLevels | None:
        """Return the splits of a tree by depth, for bins of a type; None if they differ between nodes of one depth."""
        n_leaves = len(grown.integers) // 2 + 1
        depth = n_leaves.bit_length() - 1
        if n_leaves != 1 << depth or not 0 < depth <= MAX_BIT_DEPTH:
            return None
        features, leaves = np.empty(depth, dtype=np.int64), np.empty(n_leaves, dtype=np.int64)
        splits = np.empty((depth, 2), dtype=np.int64)
        read_symmetric_levels(grown.integers, features, splits, leaves)
        return None if features[0] == LEAF else cls(features, splits.astype(dtype), leaves)


def _add_linear(rows: BinnedRows, nodes: np.ndarray, tree: FittedTree, scores: np.ndarray, run: Run) -> None:
    """Add the linear models of the leaves to the scores, constant values for rows with a missing feature."""
    coefficients, values = tree.grown.leaf_coefficients, rows.raw_values
    assert coefficients is not None and values is not None
    forest = LinearForest(
        tree_start=np.array([0, len(tree.value)]),
        tree_output=np.array([tree.output], dtype=np.int32),
        value=tree.value.reshape(-1),
        intercept=coefficients.intercept,
        start=coefficients.start,
        feature=coefficients.feature,
        centre=coefficients.centre,
        slope=coefficients.slope,
    )
    bounds = np.array([0, len(nodes), 0, 0], dtype=np.int64)
    block = (values.values, values.row_stride, values.column_stride)
    run(add_linear_leaves, *block, nodes.astype(np.int32)[:, None], forest, bounds, scores)
