"""A tree fresh from the grower, still in bins, with the rows of its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.encoder import Encoder
from sapwood.kernels import layout
from sapwood.model.terms import Terms
from sapwood.model.tree import LEAF


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree in bins, its values before shrinkage. Leaf l is node ``leaf_node[l]``; its rows are order[span[l]].

    ``order`` is the grower's own and is overwritten by the next tree; it holds places among the rows drawn where nobody
    was to read it. ``threshold`` is there where cuts do not lie on the edges of bins, ``terms`` (shrinkage included)
    where leaves are linear. Where bins are levels, ``sets`` hold those that go left (see ``kernels/split_levels.py``).
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
        """Take a finished tree out of the grower's tables; columns of its nodes are made when they are asked for."""
        n_nodes, n_leaves, _ = nodes.info.tolist()
        integers, numbers = nodes.integers[:n_nodes], nodes.numbers[:n_nodes].copy()
        of_leaves = leaves.integers[:n_leaves]
        made = object.__new__(cls)
        made.__dict__.update(
            tables=(integers[:, : layout.NODE_SET].copy(), numbers),
            value=numbers[:, layout.NODE_OUTPUTS + 2 :: layout.PER_OUTPUT].copy(),
            leaf_node=of_leaves[:, layout.NODE].copy(),
            span=of_leaves[:, layout.FIRST : layout.LAST + 1].copy(),
            order=order,
        )
        if has_sets:
            made.__dict__["sets"] = integers[:, layout.NODE_SET : layout.NODE_SET + layout.SET_WORDS].copy()
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> np.ndarray:
            """A column of a tree that was read; the others are made with it."""
            tables = self.__dict__.get("tables")
            if tables is None or name not in COLUMNS:
                raise AttributeError(f"a tree has no {name!r}")
            self.__dict__.update(columns(*tables))
            return self.__dict__[name]

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


# What ``columns`` makes of the tables of nodes.
COLUMNS = ("feature", "bin", "missing_left", "left", "count", "gain", "weight", "gradient", "hessian")


def columns(integers: np.ndarray, numbers: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of nodes, one tree's or several trees', given their lines in the tables of a grower."""
    small = integers[:, : layout.NODE_COUNT].T.astype(np.int32, order="C")
    gain, weight = numbers[:, [layout.NODE_GAIN, layout.NODE_WEIGHT]].T.copy()
    gradient, hessian = (numbers[:, layout.NODE_OUTPUTS + j :: layout.PER_OUTPUT].copy() for j in range(2))
    return {
        "feature": small[layout.NODE_FEATURE],
        "bin": small[layout.NODE_BIN],
        "missing_left": small[layout.NODE_MISSING_LEFT].astype(np.uint8),
        "left": small[layout.NODE_LEFT],
        "count": integers[:, layout.NODE_COUNT].copy(),
        "gain": gain,
        "weight": weight,
        "gradient": gradient,
        "hessian": hessian,
    }


def joined_columns(trees: Sequence[Grown]) -> dict[str, np.ndarray]:
    """The columns of the nodes of several trees, one tree behind the other."""
    tables = [tree.__dict__.get("tables") for tree in trees]
    if tables and None not in tables:
        return columns(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
    return {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in COLUMNS}


def thresholds(feature: np.ndarray, bins: np.ndarray, encoder: Encoder) -> np.ndarray:
    """The largest value that goes left at each node; infinite where all values do and missing ones do not."""
    edges, start = encoder.cut_points
    inner = (feature != LEAF) & (bins > 0)
    return np.where(inner, edges[(start[feature] + bins - 1) * inner], 0.0)
