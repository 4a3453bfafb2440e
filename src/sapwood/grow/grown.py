"""A tree fresh from the grower, still in bins, with the rows of its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.encoder import Encoder
from sapwood.kernels import layout
from sapwood.model.terms import Terms
from sapwood.model.tree import LEAF, Tree


@dataclass(frozen=True, eq=False, slots=True)
class Grown:
    """A tree in bins, its values before shrinkage. Leaf l is node ``leaf_node[l]``; its rows are order[span[l]].

    ``order`` and ``span`` are the grower's own and are overwritten by the next tree. ``threshold`` is there where cuts
    do not lie on the edges of bins, ``terms`` (shrinkage included) where leaves are linear. Where bins are
    levels, ``sets`` hold those that go left (see ``kernels/split_levels.py``).
    """

    feature: np.ndarray
    bin: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    count: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    value: np.ndarray
    leaf_node: np.ndarray
    span: np.ndarray
    order: np.ndarray
    threshold: np.ndarray | None = None
    terms: Terms | None = None
    sets: np.ndarray | None = None

    @classmethod
    def read(cls, nodes: layout.Nodes, leaves: layout.Leaves, order: np.ndarray, has_sets: bool = False) -> Grown:
        """Take a finished tree out of the grower's tables."""
        n_nodes, n_leaves = int(nodes.info[layout.N_NODES]), int(nodes.info[layout.N_LEAVES])
        integers, numbers = nodes.integers[:n_nodes], nodes.numbers[:n_nodes].T.copy()
        small = integers[:, : layout.NODE_COUNT].T.astype(np.int32, order="C")
        outputs = [numbers[layout.NODE_OUTPUTS + j :: layout.PER_OUTPUT].T for j in range(layout.PER_OUTPUT)]
        gradient, hessian, value = map(np.ascontiguousarray, outputs)
        return cls(
            feature=small[layout.NODE_FEATURE],
            bin=small[layout.NODE_BIN],
            missing_left=small[layout.NODE_MISSING_LEFT].astype(np.uint8),
            left=small[layout.NODE_LEFT],
            count=integers[:, layout.NODE_COUNT].copy(),
            gain=numbers[layout.NODE_GAIN],
            weight=numbers[layout.NODE_WEIGHT],
            gradient=gradient,
            hessian=hessian,
            value=value,
            leaf_node=leaves.integers[:n_leaves, layout.NODE].copy(),
            span=leaves.integers[:n_leaves, layout.FIRST : layout.LAST + 1].copy(),
            order=order,
            sets=integers[:, layout.NODE_SET : layout.NODE_SET + layout.SET_WORDS].copy() if has_sets else None,
        )

    def to_tree(self, encoder: Encoder, value: np.ndarray) -> Tree:
        """The tree in the user's units, with these values."""
        single = self.gradient.shape[1] == 1
        threshold = thresholds(self.feature, self.bin, encoder) if self.threshold is None else self.threshold
        return Tree.trusted(
            feature=self.feature,
            threshold=threshold,
            left=self.left,
            missing_left=self.missing_left,
            value=value,
            gain=self.gain,
            gradient=self.gradient[:, 0] if single else self.gradient,
            hessian=self.hessian[:, 0] if single else self.hessian,
            weight=self.weight,
            count=self.count,
            terms=self.terms,
        )

    def node_of_row(self, n_rows: int) -> np.ndarray:
        """The leaf of each of ``n_rows`` rows, all of which the tree was grown on."""
        found = np.empty(n_rows, dtype=np.int32)
        for node, (first, last) in zip(self.leaf_node, self.span, strict=True):
            found[self.order[first:last]] = node
        return found

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


def thresholds(feature: np.ndarray, bins: np.ndarray, encoder: Encoder) -> np.ndarray:
    """The largest value that goes left at each node; infinite where all values do and missing ones do not."""
    edges, start = encoder.cut_points
    inner = (feature != LEAF) & (bins > 0)
    return np.where(inner, edges[(start[feature] + bins - 1) * inner], 0.0)
