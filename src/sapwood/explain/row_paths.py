"""What trees say about rows: the path of a row in words, rows that share leaves, nearest training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.errors import InputError, ParameterError
from sapwood.explain.split_condition import SplitConditions
from sapwood.model.model import Model
from sapwood.model.tree import LEAF
from sapwood.params.validators import is_integer

COMPARISONS = 1 << 24  # pairs of leaves that are compared at a time


def row_paths(model: Model, X: Any, tree: int = 0, n_jobs: int | None = None) -> list[str]:
    """Return the path of each row in one tree in words, as in "age ≤ 38.5 and job is monk or nurse → 0.125"."""
    if not is_integer(tree) or not 0 <= tree < model.ensemble.n_trees:
        raise ParameterError(f"tree must be between 0 and {model.ensemble.n_trees - 1}, got {tree!r}")
    leaves = model.leaf_indices(X, n_jobs=n_jobs)[:, tree]
    texts = {int(leaf): _path_text(model, int(tree), int(leaf)) for leaf in np.unique(leaves)}
    return [texts[int(leaf)] for leaf in leaves]


def leaf_similarity(model: Model, X: Any, Z: Any = None, n_jobs: int | None = None) -> np.ndarray:
    """Return the fraction of trees in which each row of X is in the same leaf as each row of Z (default: X)."""
    leaves = model.leaf_indices(X, n_jobs=n_jobs)
    others = leaves if Z is None else model.leaf_indices(Z, n_jobs=n_jobs)
    return _similarity(leaves, others)


def nearest_rows(
    model: Model, X: Any, training_rows: Any, n_rows: int = 5, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the ``n_rows`` training rows that share most leaves with each row of X, and how many.

    Both arrays are (rows, n_rows), the most similar first; equally similar rows in their order.
    """
    others = model.leaf_indices(training_rows, n_jobs=n_jobs)
    if not is_integer(n_rows) or not 1 <= n_rows <= len(others):
        raise InputError(f"n_rows must be between 1 and {len(others)}, the number of training rows, got {n_rows!r}")
    leaves = model.leaf_indices(X, n_jobs=n_jobs)
    numbers = np.empty((len(leaves), n_rows), dtype=np.int64)
    similarity = np.empty((len(leaves), n_rows))
    for i in range(len(leaves)):
        shared = _similarity(leaves[i : i + 1], others)[0]
        numbers[i] = np.argsort(-shared, kind="stable")[:n_rows]
        similarity[i] = shared[numbers[i]]
    return numbers, similarity


def _similarity(leaves: np.ndarray, others: np.ndarray) -> np.ndarray:
    counts = np.zeros((len(leaves), len(others)))
    chunk = max(1, COMPARISONS // max(1, len(others)))
    for start in range(0, len(leaves), chunk):
        for tree in range(leaves.shape[1]):
            counts[start : start + chunk] += leaves[start : start + chunk, tree, None] == others[None, :, tree]
    return counts / max(1, leaves.shape[1])


def _path_text(model: Model, tree: int, leaf: int) -> str:
    """Return the conditions on the path to a leaf, and its value."""
    nodes, conditions = model.ensemble[tree], SplitConditions(model)
    parent = np.full(nodes.n_nodes, -1)
    splits = np.flatnonzero(nodes.feature != LEAF)
    parent[nodes.left[splits]] = parent[nodes.left[splits] + 1] = splits
    parts: list[str] = []
    node = leaf
    while parent[node] >= 0:
        above = int(parent[node])
        split = conditions.of(int(nodes.feature[above]), float(nodes.threshold[above]), bool(nodes.missing_left[above]))
        parts.insert(0, split.describe(node == nodes.left[above]))
        node = above
    value = ", ".join(f"{v:.6g}" for v in nodes.value[leaf])
    if nodes.leaf_coefficients is not None:
        value = nodes.leaf_coefficients.describe(leaf, model.column_names) or value
    return f"{' and '.join(parts) or 'all rows'} → {value}"
