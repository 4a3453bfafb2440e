"""A tree fresh from the grower, still in bins, with the rows of its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.kernels import layout
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import LEAF


@dataclass(eq=False)
class NodeTable:
    """The nodes of one tree or several, a line each as growers write them; columns are made when they are asked for."""

    integers: np.ndarray
    numbers: np.ndarray

    @cached_property
    def feature(self) -> np.ndarray:
        """What each node is split by, −1 for a leaf."""
        return self.integers[:, layout.NODE_FEATURE].astype(np.int32)

    @cached_property
    def bin(self) -> np.ndarray:
        """The last bin that goes left."""
        return self.integers[:, layout.NODE_BIN].astype(np.int32)

    @cached_property
    def missing_left(self) -> np.ndarray:
        """1 where missing values go left."""
        return self.integers[:, layout.NODE_MISSING_LEFT].astype(np.uint8)

    @cached_property
    def left(self) -> np.ndarray:
        """The left child, 0 for a leaf; the right one comes next."""
        return self.integers[:, layout.NODE_LEFT].astype(np.int32)

    @cached_property
    def count(self) -> np.ndarray:
        """Rows."""
        return self.integers[:, layout.NODE_COUNT].copy()

    @cached_property
    def gain(self) -> np.ndarray:
        """What the split brings, 0 for a leaf."""
        return self.numbers[:, layout.NODE_GAIN].copy()

    @cached_property
    def weight(self) -> np.ndarray:
        """Sums of sample weights."""
        return self.numbers[:, layout.NODE_WEIGHT].copy()

    @cached_property
    def gradient(self) -> np.ndarray:
        """Sums of gradients (nodes, outputs)."""
        return self.numbers[:, GRADIENTS].copy()

    @cached_property
    def hessian(self) -> np.ndarray:
        """Sums of hessians (nodes, outputs)."""
        return self.numbers[:, HESSIANS].copy()


# Where each output has its sums and value among a node's numbers.
GRADIENTS, HESSIANS, VALUES = (slice(layout.NODE_OUTPUTS + j, None, layout.NODE_PER_OUTPUT) for j in range(3))


@dataclass(eq=False)
class GrownTree(NodeTable):
    """A tree in bins, its values before shrinkage. Leaf l is node ``leaf_node[l]``; its rows are order[span[l]].

    ``leaves``, of which the first ``n_leaves`` count, and ``order`` are the grower's own and are overwritten by the
    next tree; ``order`` holds places among the rows drawn where nobody was to read it. ``threshold`` is there where
    cuts do not lie on the edges of bins, ``terms`` (shrinkage included) where leaves are linear. Where bins are levels,
    ``sets`` hold those that go left (see ``kernels/split/categorical.py``).
    """

    leaves: np.ndarray = field(default_factory=lambda: np.empty((0, layout.LEAF_SUMS), dtype=np.int64))
    order: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    n_leaves: int = 0
    threshold: np.ndarray | None = None
    leaf_coefficients: LeafCoefficients | None = None
    sets: np.ndarray | None = None

    @classmethod
    def read(
        cls, nodes: layout.TreeNodes, leaves: layout.LeafTable, order: np.ndarray, has_sets: bool = False
    ) -> GrownTree:
        """Take a finished tree out of the grower's tables."""
        n_nodes, n_leaves, _ = nodes.info.tolist()
        integers, numbers = nodes.ints[:n_nodes], nodes.floats[:n_nodes]
        sets = integers[:, layout.NODE_BITSET : layout.NODE_BITSET + layout.BITSET_WORDS].copy() if has_sets else None
        return cls(
            integers[:, : layout.NODE_BITSET].copy(), numbers.copy(), leaves.ints, order, n_leaves, None, None, sets
        )

    @property
    def value(self) -> np.ndarray:
        """What the nodes answer (nodes, outputs)."""
        return self.numbers[:, VALUES]

    @property
    def leaf_node(self) -> np.ndarray:
        """The node of each leaf."""
        return self.leaves[: self.n_leaves, layout.LEAF_NODE].copy()

    @property
    def span(self) -> np.ndarray:
        """Where the rows of each leaf begin and end in ``order``."""
        return self.leaves[: self.n_leaves, layout.LEAF_BEGIN : layout.LEAF_END + 1].copy()

    def without_rows(self) -> GrownTree:
        """The same tree, which can be kept when the next one is grown."""
        return GrownTree(
            self.integers,
            self.numbers,
            threshold=self.threshold,
            leaf_coefficients=self.leaf_coefficients,
            sets=self.sets,
        )

    def nodes_of(self, values: np.ndarray) -> np.ndarray:
        """The leaf in which each row of values (feature, row, 1) ends, by ``threshold``."""
        assert self.threshold is not None
        rows = np.arange(values.shape[1])
        node = np.zeros(len(rows), dtype=np.int64)
        while (inner := self.feature[node] != LEAF).any():
            x = values[self.feature[node], rows, 0]
            right = np.where(np.isnan(x), self.missing_left[node] == 0, x > self.threshold[node])
            node = np.where(inner, self.left[node] + right, node)
        return node


@dataclass(frozen=True, eq=False, slots=True)
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


def join_nodes(trees: Sequence[GrownTree]) -> NodeTable:
    """The nodes of several trees, one tree behind the other."""
    return NodeTable(np.concatenate([one.integers for one in trees]), np.concatenate([one.numbers for one in trees]))


def thresholds(feature: np.ndarray, bins: np.ndarray, encoder: BinMapper) -> np.ndarray:
    """The largest value that goes left at each node; infinite where all values do and missing ones do not."""
    edges, start = encoder.flat_edges
    inner = (feature != LEAF) & (bins > 0)
    return np.where(inner, edges[(start[feature] + bins - 1) * inner], 0.0)
