"""One finished tree: flat arrays, one entry per node, the root first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

if TYPE_CHECKING:
    from sapwood.model.linear_leaves import LeafCoefficients

# What a node carries, in the order of files and tables. Arrays with a second axis ("value", and with vector leaves
# "gradient" and "hessian") have one column per output there.
NODE_FIELDS: dict[str, type] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "missing_left": np.uint8,
    "value": np.float64,
    "gain": np.float64,
    "gradient": np.float64,
    "hessian": np.float64,
    "weight": np.float64,
    "count": np.int64,
}
PER_OUTPUT = ("value", "gradient", "hessian")
LEAF = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of one tree.

    A row goes from node i to ``left[i]`` when ``x[feature[i]] <= threshold[i]``, else to ``left[i] + 1``; a missing
    value goes left where ``missing_left[i]``. A leaf has ``feature`` -1 and ``left`` 0. ``value`` holds the answer of
    each node, the learning rate included; for inner nodes it is what the node would answer as a leaf. ``terms`` are
    the slopes of linear leaves, None where all leaves are constant.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    leaf_coefficients: LeafCoefficients | None = None

    def __post_init__(self) -> None:
        for name, dtype in NODE_FIELDS.items():
            array = frozen_array(getattr(self, name), dtype)
            object.__setattr__(self, name, array[:, None] if name == "value" and array.ndim == 1 else array)
        for name, shape in node_shapes(self.n_nodes, self.width).items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"tree: {name} has shape {getattr(self, name).shape}, expected {shape}")
        check_coefficients(self.leaf_coefficients, self.value, "tree")

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature == LEAF))

    @property
    def width(self) -> int:
        """Number of values per leaf."""
        return self.value.shape[1]

    @property
    def depth(self) -> int:
        """Number of splits on the longest way from the root to a leaf."""
        return int(self.node_depths().max())

    def node_depths(self) -> np.ndarray:
        """Number of splits above each node."""
        return node_depths(self.feature, self.left, np.zeros(1, np.int64))

    def to_text(self, names: Sequence[str] | None = None) -> str:
        """Draw the tree with one line per node, children indented below their parent, the left one first."""
        lines: list[str] = []
        pending = [(0, "")]
        while pending:
            node, indent = pending.pop()
            lines.append(indent + self._describe(node, names))
            if self.feature[node] != LEAF:
                left = int(self.left[node])
                pending += [(left + 1, indent + "  "), (left, indent + "  ")]
        return "\n".join(lines)

    def _describe(self, node: int, names: Sequence[str] | None) -> str:
        if self.feature[node] == LEAF:
            value = ", ".join(f"{v:.6g}" for v in self.value[node])
            slopes = "" if self.leaf_coefficients is None else self.leaf_coefficients.describe(node, names)
            return f"{node}: leaf {slopes or value} (rows {self.count[node]})"
        feature = int(self.feature[node])
        name = names[feature] if names is not None else f"f{feature}"
        side = "left" if self.missing_left[node] else "right"
        return (
            f"{node}: {name} <= {self.threshold[node]:.17g} (missing {side}, gain {self.gain[node]:.6g}, "
            f"rows {self.count[node]})"
        )


def node_shapes(n_nodes: int, width: int) -> dict[str, tuple[int, ...]]:
    """The shape of each node array for so many nodes and values per leaf."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(NODE_FIELDS, (n_nodes,))
    if width > 1:
        shapes.update(dict.fromkeys(PER_OUTPUT, (n_nodes, width)))
    shapes["value"] = (n_nodes, width)
    return shapes


def check_coefficients(terms: LeafCoefficients | None, value: np.ndarray, what: str) -> None:
    """Check that slopes, if there are any, fit the nodes."""
    if terms is not None and value.shape != (terms.n_nodes, 1):
        raise ValueError(f"{what}: terms of {terms.n_nodes} nodes do not fit values of shape {value.shape}")


def frozen_array(values: Any, dtype: DTypeLike) -> np.ndarray:
    """A C-contiguous array of this type that nobody can write; what somebody can is copied."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.copy() if array is values or array.base is not None else array
        array.flags.writeable = False
    return array


def node_depths(feature: np.ndarray, left: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Number of splits above each node of several trees that start at ``roots``; ``left`` counts within the tree."""
    depths = np.zeros(len(feature), dtype=np.int64)
    nodes, base = np.asarray(roots, dtype=np.int64), np.asarray(roots, dtype=np.int64)
    depth = 0
    while len(nodes):
        depths[nodes] = depth
        inner = feature[nodes] != LEAF
        base = base[inner]
        children = base + left[nodes[inner]]
        nodes, base = np.concatenate([children, children + 1]), np.concatenate([base, base])
        depth += 1
    return depths
