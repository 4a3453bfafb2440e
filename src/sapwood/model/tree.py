"""One trained tree as flat arrays with one entry per node, the root first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from sapwood.model.linear_leaves import LeafCoefficients

# Fields of a node and their types, in the order of model files and tables. Arrays with a second axis ("value", and with
# vector leaves "gradient" and "hessian") have one column per output.
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
    value goes left where ``missing_left[i]``. A leaf has ``feature`` -1 and ``left`` 0. ``value`` holds the value of
    each node with the learning rate applied; that of an inner node is the value it would have as a leaf.
    ``leaf_coefficients`` are those of linear leaves, None if all leaves are constant.
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
        """Number of splits on the longest path from the root to a leaf."""
        return int(self.node_depths().max())

    def node_depths(self) -> np.ndarray:
        """Return the number of splits above each node."""
        return node_depths(self.feature, self.left, np.zeros(1, np.int64))

    def to_text(self, names: Sequence[str] | None = None) -> str:
        """Return a text of one line per node, children indented below their parent, the left one first.

        ``names`` are those of the features. ``Model.to_text`` also names the categories of a split.
        """
        from sapwood.model.tree_text import TreeText

        return TreeText(names).write(self)


def node_shapes(n_nodes: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each node array for a number of nodes and of values per leaf."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(NODE_FIELDS, (n_nodes,))
    if width > 1:
        shapes.update(dict.fromkeys(PER_OUTPUT, (n_nodes, width)))
    shapes["value"] = (n_nodes, width)
    return shapes


def check_coefficients(coefficients: LeafCoefficients | None, value: np.ndarray, owner: str) -> None:
    """Raise a ValueError unless leaf coefficients, if any, have one entry per node and leaves have one value."""
    if coefficients is not None and value.shape != (coefficients.n_nodes, 1):
        raise ValueError(
            f"{owner}: leaf coefficients of {coefficients.n_nodes} nodes do not fit values of shape {value.shape}"
        )


def frozen_array(values: Any, dtype: DTypeLike) -> np.ndarray:
    """Return a read-only C-contiguous array of this type; memory that is writable elsewhere is copied."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.copy() if array is values or array.base is not None else array
        array.flags.writeable = False
    return array


def owned_arrays(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields whose new arrays, which nothing else holds, are read-only: ``frozen_array`` does not copy these."""
    for value in fields.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return dict(fields)


def node_depths(feature: np.ndarray, left: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return the number of splits above each node of trees with these ``roots``; ``left`` counts within the tree."""
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
