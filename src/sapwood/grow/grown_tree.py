"""A tree as growers return it: splits are bins, and leaves know their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.kernels import layout
from sapwood.lazy_dataclass import dataclass
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import LEAF


@dataclass(eq=False)
class NodeTable:
    """The nodes of one or several trees, one row each, with the columns of ``layout.TreeNodes``."""

    integers: np.ndarray
    numbers: np.ndarray

    @cached_property
    def feature(self) -> np.ndarray:
        """Feature of each split, −1 for a leaf."""
        return self.integers[:, layout.NODE_FEATURE].astype(np.int32)

    @cached_property
    def bin(self) -> np.ndarray:
        """Last bin that goes left."""
        return self.integers[:, layout.NODE_BIN].astype(np.int32)

    @cached_property
    def missing_left(self) -> np.ndarray:
        """1 where missing values go left."""
        return self.integers[:, layout.NODE_MISSING_LEFT].astype(np.uint8)

    @cached_property
    def left(self) -> np.ndarray:
        """Left child, 0 for a leaf; the right child is the next node."""
        return self.integers[:, layout.NODE_LEFT].astype(np.int32)

    @cached_property
    def count(self) -> np.ndarray:
        """Number of rows."""
        return self.integers[:, layout.NODE_COUNT].copy()

    @cached_property
    def gain(self) -> np.ndarray:
        """Gain of the split, 0 for a leaf."""
        return self.numbers[:, layout.NODE_GAIN].copy()

    @cached_property
    def weight(self) -> np.ndarray:
        """Sums of sample weights."""
        return self.numbers[:, layout.NODE_WEIGHT].copy()


# Columns of sums and values of the outputs among the floats of a node.
GRADIENTS, HESSIANS, VALUES = (slice(layout.NODE_OUTPUTS + j, None, layout.NODE_PER_OUTPUT) for j in range(3))


@dataclass(eq=False)
class GrownTree(NodeTable):
    """A tree whose splits are bins; its values are those before shrinkage.

    Leaf l is node ``leaf_node[l]`` and has the rows ``leaf_rows[begin:end]`` with begin and end in ``leaf_ranges[l]``.
    ``leaves``, of which the first ``n_leaves`` are used, and ``leaf_rows`` are buffers of the grower, which the next
    tree overwrites; ``leaf_rows`` holds places among the sampled rows unless the grower ``needs_leaf_rows``.
    ``threshold`` is set where splits are not at the edges of bins, ``leaf_coefficients`` (shrinkage included) where
    leaves are linear, ``sets`` where splits send sets of bins to the left (see ``kernels/split/categorical.py``).
    """

    leaves: np.ndarray = field(default_factory=lambda: np.empty((0, layout.LEAF_SUMS), dtype=np.int64))
    leaf_rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    n_leaves: int = 0
    threshold: np.ndarray | None = None
    leaf_coefficients: LeafCoefficients | None = None
    sets: np.ndarray | None = None

    @classmethod
    def read(
        cls, nodes: layout.TreeNodes, leaves: layout.LeafTable, leaf_rows: np.ndarray, has_sets: bool = False
    ) -> GrownTree:
        """Copy a finished tree from the tables of a grower."""
        n_nodes, n_leaves, _ = nodes.info.tolist()
        integers, numbers = nodes.ints[:n_nodes], nodes.floats[:n_nodes]
        sets = integers[:, layout.NODE_BITSET : layout.NODE_BITSET + layout.BITSET_WORDS].copy() if has_sets else None
        return cls(
            integers[:, : layout.NODE_BITSET].copy(), numbers.copy(), leaves.ints, leaf_rows, n_leaves, None, None, sets
        )

    @property
    def gradient(self) -> np.ndarray:
        """Sums of gradients (nodes, outputs)."""
        return self.numbers[:, GRADIENTS]

    @property
    def hessian(self) -> np.ndarray:
        """Sums of hessians (nodes, outputs)."""
        return self.numbers[:, HESSIANS]

    @property
    def value(self) -> np.ndarray:
        """Values of the nodes (nodes, outputs)."""
        return self.numbers[:, VALUES]

    @property
    def leaf_node(self) -> np.ndarray:
        """Node of each leaf."""
        return self.leaves[: self.n_leaves, layout.LEAF_NODE].copy()

    @property
    def leaf_ranges(self) -> np.ndarray:
        """Begin and end of the rows of each leaf in ``leaf_rows`` (leaves, 2)."""
        return self.leaves[: self.n_leaves, layout.LEAF_BEGIN : layout.LEAF_END + 1].copy()

    def without_rows(self) -> GrownTree:
        """Return the tree without the buffers that the next tree overwrites."""
        return GrownTree(
            self.integers,
            self.numbers,
            threshold=self.threshold,
            leaf_coefficients=self.leaf_coefficients,
            sets=self.sets,
        )

    def with_rows(self, node_of_row: np.ndarray) -> GrownTree:
        """Return the tree with the rows of its leaves, given the leaf of each row."""
        leaf_node = np.flatnonzero(self.feature == LEAF)
        nodes = node_of_row.astype(np.int64)
        end = np.cumsum(np.bincount(nodes, minlength=len(self.feature))[leaf_node])
        leaves = np.zeros((len(leaf_node), layout.LEAF_SUMS), dtype=np.int64)
        leaves[:, layout.LEAF_NODE], leaves[:, layout.LEAF_END] = leaf_node, end
        leaves[1:, layout.LEAF_BEGIN] = end[:-1]
        rows = np.argsort(nodes, kind="stable").astype(np.uint32)
        return replace(self, leaves=leaves, leaf_rows=rows, n_leaves=len(leaf_node))

    def route_values(self, values: np.ndarray) -> np.ndarray:
        """Return the leaf of each row of values (feature, row, 1), by ``threshold``."""
        assert self.threshold is not None
        rows = np.arange(values.shape[1])
        node = np.zeros(len(rows), dtype=np.int64)
        while (inner := self.feature[node] != LEAF).any():
            x = values[self.feature[node], rows, 0]
            right = np.where(np.isnan(x), self.missing_left[node] == 0, x > self.threshold[node])
            node = np.where(inner, self.left[node] + right, node)
        return node


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A grown tree with the values of its nodes, shrinkage included, and the output that it adds them to.

    ``nodes`` has the leaf of every training row where it is known.
    """

    grown: GrownTree
    value: np.ndarray
    output: int
    nodes: np.ndarray | None = None

    @property
    def width(self) -> int:
        """Number of values per leaf."""
        return self.value.shape[1]

    def without_rows(self) -> FittedTree:
        """Return the tree without what is known of the training rows."""
        return FittedTree(self.grown.without_rows(), self.value, self.output)


def join_nodes(trees: Sequence[GrownTree]) -> NodeTable:
    """Return the nodes of several trees, tree by tree, without what they have for each output."""
    return NodeTable(
        np.concatenate([tree.integers for tree in trees]),
        np.concatenate([tree.numbers[:, : layout.NODE_OUTPUTS] for tree in trees]),
    )


def thresholds(feature: np.ndarray, bins: np.ndarray, bin_mapper: BinMapper) -> np.ndarray:
    """Return the largest value that goes left at each node; infinite where all but missing values go left."""
    edges, start = bin_mapper.flat_edges
    inner = (feature != LEAF) & (bins > 0)
    return np.where(inner, edges[(start[feature] + bins - 1) * inner], 0.0)
