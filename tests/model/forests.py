"""Small trees by hand, random trees, and a slow prediction written for reading."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from sapwood.model.ensemble import Ensemble
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.linear_leaves import LeafCoefficients
from sapwood.model.tree import Tree


def tree_of(feature, threshold, left, missing_left, value, **statistics) -> Tree:
    """A tree with all statistics zero unless given."""
    value = np.asarray(value, dtype=np.float64)
    value = value[:, None] if value.ndim == 1 else value
    n, width = value.shape
    per_output = np.zeros(n) if width == 1 else np.zeros((n, width))
    defaults = {
        "gain": np.zeros(n), "gradient": per_output, "hessian": per_output, "weight": np.zeros(n), "count": np.zeros(n),
    }  # fmt: skip
    return Tree(feature, threshold, left, missing_left, value, **(defaults | statistics))


def leaf_tree(value: float) -> Tree:
    """A tree without a split."""
    return tree_of([-1], [0.0], [0], [0], [value])


def small_tree(scale: float = 1.0) -> Tree:
    """Two splits: x0 <= 0.5 gives 1; else x1 <= 2 gives 10, and above 20. Missing: x0 left, x1 right."""
    return tree_of(
        feature=[0, -1, 1, -1, -1],
        threshold=[0.5, 0.0, 2.0, 0.0, 0.0],
        left=[1, 0, 3, 0, 0],
        missing_left=[1, 0, 0, 0, 0],
        value=np.array([5.0, 1.0, 15.0, 10.0, 20.0]) * scale,
        gain=[8.0, 0, 2.0, 0, 0],
        gradient=[-3.0, -1.0, -2.0, -1.5, -0.5],
        hessian=[10.0, 4.0, 6.0, 3.0, 3.0],
        weight=[20.0, 8.0, 12.0, 6.0, 6.0],
        count=[20, 8, 12, 6, 6],
    )


def random_tree(rng: np.random.Generator, n_leaves: int, n_features: int, width: int = 1) -> Tree:
    """A tree grown by splitting random leaves on random features; thresholds fall on the grid of ``random_rows``."""
    feature, left, leaves = [-1], [0], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        feature[node], left[node] = int(rng.integers(n_features)), len(feature)
        leaves += [len(feature), len(feature) + 1]
        feature += [-1, -1]
        left += [0, 0]
    n = len(feature)
    inner = np.array(feature) >= 0
    threshold = np.where(inner, np.round(rng.normal(size=n) * 8) / 8, 0.0)
    per_output = (n,) if width == 1 else (n, width)
    return Tree(
        feature, threshold, left, np.where(inner, rng.integers(0, 2, n), 0), rng.normal(size=(n, width)),
        np.where(inner, rng.uniform(0, 5, n), 0.0), rng.normal(size=per_output), rng.uniform(1, 9, per_output),
        rng.uniform(1, 9, n), rng.integers(1, 99, n),
    )  # fmt: skip


def random_ensemble(
    rng: np.random.Generator,
    n_trees: int = 5,
    n_features: int = 4,
    n_outputs: int = 1,
    width: int = 1,
    leaves: tuple[int, int] = (1, 12),
) -> Ensemble:
    """Random trees of ``leaves[0]`` to ``leaves[1]`` leaves, one per output and round."""
    builder = EnsembleBuilder(n_outputs, width)
    for k in range(n_trees):
        tree = random_tree(rng, int(rng.integers(leaves[0], leaves[1] + 1)), n_features, width)
        outputs = 1 if width > 1 else n_outputs
        builder.append(tree, output=k % outputs, round=k // outputs)
    return builder.build()


def random_rows(rng: np.random.Generator, n: int, n_features: int, dtype=np.float64) -> np.ndarray:
    """Values on a grid, so that some equal a threshold, with missing values and infinities among them."""
    x = (np.round(rng.normal(size=(n, n_features)) * 8) / 8).astype(dtype)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.02] = np.inf
    x[rng.random(x.shape) < 0.02] = -np.inf
    return x


def leaf_of(tree: Tree, row: np.ndarray) -> int:
    """Walk down one tree: the slow twin of the kernels."""
    node = 0
    while tree.feature[node] >= 0:
        x = float(row[tree.feature[node]])
        goes_left = bool(tree.missing_left[node]) if np.isnan(x) else x <= tree.threshold[node]
        node = int(tree.left[node]) + (not goes_left)
    return node


def slow_scores(ensemble: Ensemble, x: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Scores (outputs, rows), one row after the other, trees added in order."""
    scores = np.repeat(np.asarray(base, dtype=np.float64)[:, None], len(x), axis=1)
    for i, row in enumerate(x):
        for k, tree in enumerate(ensemble):
            leaf = leaf_of(tree, row)
            value = tree.value[leaf] if tree.width > 1 else [leaf_prediction(tree, leaf, row)]
            for j, v in enumerate(value):
                scores[ensemble.tree_output[k] + j, i] += v
    return scores


def same_trees(first: Ensemble, second: Ensemble) -> bool:
    """Return whether two ensembles hold the same trees, bit for bit."""
    arrays = [f.name for f in fields(Ensemble) if f.name not in ("n_outputs", "leaf_coefficients", "rescalings")]
    return (
        first.n_outputs == second.n_outputs
        and first.rescalings == second.rescalings
        and all(getattr(first, name).tobytes() == getattr(second, name).tobytes() for name in arrays)
        and same_coefficients(first.leaf_coefficients, second.leaf_coefficients)
    )


def same_coefficients(first: LeafCoefficients | None, second: LeafCoefficients | None) -> bool:
    """Return whether linear leaves have the same coefficients, bit for bit."""
    if first is None or second is None:
        return first is second
    return all(getattr(first, f.name).tobytes() == getattr(second, f.name).tobytes() for f in fields(LeafCoefficients))


def random_coefficients(rng: np.random.Generator, tree: Tree, n_features: int) -> LeafCoefficients:
    """Slopes on random features for about two thirds of the leaves."""
    features, intercept = [], tree.value[:, 0].copy()
    for node in range(tree.n_nodes):
        chosen = rng.random(n_features) < rng.choice([0.0, 0.5, 0.9]) * (tree.feature[node] < 0)
        features.append(np.flatnonzero(chosen))
        intercept[node] += rng.normal() if chosen.any() else 0.0
    n_coefficients = sum(map(len, features))
    start = np.cumsum([0, *map(len, features)])
    return LeafCoefficients(
        start, intercept, np.concatenate(features), rng.normal(size=n_coefficients), rng.normal(size=n_coefficients)
    )


def linear_ensemble(rng: np.random.Generator, n_trees: int = 5, n_features: int = 4, n_outputs: int = 1) -> Ensemble:
    """Random trees with linear leaves."""
    builder = EnsembleBuilder(n_outputs)
    for k in range(n_trees):
        tree = random_tree(rng, int(rng.integers(1, 13)), n_features)
        tree = replace(tree, leaf_coefficients=random_coefficients(rng, tree, n_features))
        builder.append(tree, output=k % n_outputs, round=k // n_outputs)
    return builder.build()


def leaf_prediction(tree: Tree, node: int, row: np.ndarray) -> float:
    """The prediction of a leaf for a row: the slow twin of linear leaves."""
    leaves = tree.leaf_coefficients
    if leaves is None:
        return float(tree.value[node, 0])
    own = slice(int(leaves.start[node]), int(leaves.start[node + 1]))
    x = row[leaves.feature[own]].astype(np.float64)
    if not np.isfinite(x).all():
        return float(tree.value[node, 0])
    prediction = float(leaves.intercept[node])
    for value, centre, slope in zip(x, leaves.centre[own], leaves.slope[own], strict=True):
        prediction += float(slope) * (float(value) - float(centre))
    return prediction
