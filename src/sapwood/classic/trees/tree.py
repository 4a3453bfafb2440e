"""A grown decision tree: nodes in preorder, with any number of children, and predictions from it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapwood.classic.trees.splits import UNDECIDED, Split, Threshold
from sapwood.lazy_dataclass import dataclass

NO_SPLIT = -2  # instead of the column and threshold of a leaf, as in scikit-learn


@dataclass(frozen=True, eq=False)
class Node:
    """A node. ``value`` is the prediction it has as a leaf, ``loss`` its weight times its impurity.

    ``decrease`` is the decrease of the loss by its split, among rows with a known value; ``shares`` are the fractions
    of the weight of these rows that went to each child.
    """

    value: np.ndarray
    weight: float
    loss: float
    count: int
    depth: int
    split: Split | None = None
    children: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    decrease: float = 0.0

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no split."""
        return self.split is None

    @property
    def impurity(self) -> float:
        """Impurity of the rows."""
        return max(self.loss / self.weight, 0.0)


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """Nodes in preorder, the root first; parents come before their children.

    With ``is_fractional``, a row whose value is missing goes to all children of a split with fractions of its weight.
    """

    nodes: tuple[Node, ...]
    n_features: int
    is_fractional: bool = False

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return sum(node.is_leaf for node in self.nodes)

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        return max(node.depth for node in self.nodes)

    @property
    def node_count(self) -> int:
        """Number of nodes, as scikit-learn calls it."""
        return len(self.nodes)

    @property
    def max_depth(self) -> int:
        """Number of splits on the longest path, as scikit-learn calls it."""
        return self.depth

    @property
    def n_node_samples(self) -> np.ndarray:
        """Number of training rows of each node."""
        return np.array([node.count for node in self.nodes])

    @property
    def weighted_n_node_samples(self) -> np.ndarray:
        """Weight of the training rows of each node."""
        return np.array([node.weight for node in self.nodes])

    @property
    def impurity(self) -> np.ndarray:
        """Impurity of each node."""
        return np.array([node.impurity for node in self.nodes])

    @property
    def feature(self) -> np.ndarray:
        """Column that each node is split on, -2 for a leaf, as in scikit-learn."""
        return np.array([NO_SPLIT if node.split is None else self._threshold(node).feature for node in self.nodes])

    @property
    def threshold(self) -> np.ndarray:
        """Threshold of each node, -2 for a leaf, as in scikit-learn."""
        return np.array([NO_SPLIT if node.split is None else self._threshold(node).threshold for node in self.nodes])

    @property
    def children_left(self) -> np.ndarray:
        """Left child of each node, -1 for a leaf."""
        return np.array([-1 if node.split is None else self._two_children(node)[0] for node in self.nodes])

    @property
    def children_right(self) -> np.ndarray:
        """Right child of each node, -1 for a leaf."""
        return np.array([-1 if node.split is None else self._two_children(node)[1] for node in self.nodes])

    @staticmethod
    def _threshold(node: Node) -> Threshold:
        if not isinstance(node.split, Threshold):
            raise AttributeError(f"the tree has splits of the kind {type(node.split).__name__}: read tree_.nodes")
        return node.split

    @staticmethod
    def _two_children(node: Node) -> tuple[int, ...]:
        if len(node.children) > 2:
            raise AttributeError(f"a node of the tree has {len(node.children)} children: read tree_.nodes")
        return node.children

    @property
    def values(self) -> np.ndarray:
        """Value of each node, (nodes, outputs)."""
        return np.stack([node.value for node in self.nodes])

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Return the prediction of each row, (rows, outputs)."""
        out = np.zeros((values.shape[1], len(self.nodes[0].value)))
        for node, rows, fraction in self._routed(values):
            out[rows] += fraction[:, None] * self.nodes[node].value
        return out

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Return the node at which each row ends; that with the largest fraction if there are several, else the first.

        It is an inner node where no child is for the category of the row.
        """
        leaf = np.zeros(values.shape[1], dtype=np.int64)
        largest = np.zeros(values.shape[1])
        for node, rows, fraction in self._routed(values):
            is_larger = (fraction > largest[rows]) | ((fraction == largest[rows]) & (node < leaf[rows]))
            leaf[rows[is_larger]] = node
            largest[rows[is_larger]] = fraction[is_larger]
        return leaf

    def visited(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a row and a node that it passes, as two arrays."""
        rows, nodes = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for node, at, _, _ in self._walk(values):
            rows.append(at)
            nodes.append(np.full(len(at), node))
        return np.concatenate(rows), np.concatenate(nodes)

    def _routed(self, values: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each node at which rows end, these rows, and the fractions of them that end there."""
        for node, rows, fraction, ends in self._walk(values):
            if ends.any():
                yield node, rows[ends], fraction[ends]

    def _walk(self, values: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield each node that rows pass, these rows, their fractions, and whether they end there."""
        n_rows = values.shape[1]
        pending = [(0, np.arange(n_rows), np.ones(n_rows))]
        while pending:
            number, rows, fraction = pending.pop()
            node = self.nodes[number]
            if not len(rows):
                continue
            if node.split is None:
                yield number, rows, fraction, np.ones(len(rows), dtype=bool)
                continue
            child = node.split.children_of(values, rows)
            undecided = child == UNDECIDED
            divided = np.zeros(len(rows), dtype=bool)
            if self.is_fractional:  # a category without a child is undecided, too, but it is not missing
                x = values[node.split.features[0], rows]
                divided = undecided & (np.isnan(x) | (x == 0.0))
            yield number, rows, fraction, undecided & ~divided
            for k, one in enumerate(node.children):
                here, spread = child == k, divided
                chosen = np.concatenate([rows[here], rows[spread]])
                part = np.concatenate([fraction[here], fraction[spread] * node.shares[k]])
                pending.append((one, chosen, part))
