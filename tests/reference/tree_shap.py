"""Shapley values by quadrature, one row and one point at a time: the slow twin of ``kernels/explain/tree_shap.py``."""

from __future__ import annotations

import numpy as np

from sapwood.explain.quadrature import gauss_legendre
from sapwood.model.ensemble import Ensemble
from sapwood.model.tree import Tree
from tests.reference.shapley import goes_left, left_fraction


def slow_shap_values(ensemble: Ensemble, cover: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the values (rows, features) of constant leaves with one value; every feature is a player."""
    values = np.zeros(X.shape)
    for out, row in zip(values, X, strict=True):
        for k, tree in enumerate(ensemble):
            nodes = slice(int(ensemble.tree_start[k]), int(ensemble.tree_start[k + 1]))
            add_tree(tree, cover[nodes], row, out)
    return values


def add_tree(tree: Tree, cover: np.ndarray, row: np.ndarray, out: np.ndarray) -> None:
    """Add the values of one tree."""
    n = max(1, (n_distinct(tree, 0, frozenset()) + 1) // 2)
    points, weights = (values.tolist() for values in gauss_legendre(n))
    if tree.feature[0] >= 0:
        visit(tree, cover, row, out, 0, points, weights, {})


def n_distinct(tree: Tree, node: int, above: frozenset) -> int:
    """Return the largest number of distinct features on a path."""
    if tree.feature[node] < 0:
        return len(above)
    above = above | {int(tree.feature[node])}
    return max(n_distinct(tree, int(tree.left[node]) + side, above) for side in (0, 1))


def visit(tree, cover, row, out, node, points, products, state) -> list[float]:
    """Add the terms of a split and all below it, and return G at each point.

    ``products`` are P at each point, ``state`` has (o, r) of the last edge of each feature above.
    """
    if tree.feature[node] < 0:
        return [float(tree.value[node, 0])] * len(points)
    feature, left = int(tree.feature[node]), int(tree.left[node])
    old, remains = state.get(feature, (1.0, 1.0))
    fraction = left_fraction(cover, left)
    own = old if goes_left(tree, node, row) else 0.0
    sums, edges = [], []
    for side, (follows, part) in enumerate([(own, fraction), (old - own, 1.0 - fraction)]):
        factors = [edge_factor(t, follows, old, remains, part) for t in points]
        below = [p * f for p, f in zip(products, factors, strict=True)]
        inner = {**state, feature: (follows, remains * part)}
        sums.append(visit(tree, cover, row, out, left + side, points, below, inner))
        edges.append(factors)
    total, result = 0.0, []
    for t, product, g_left, g_right, factor in zip(points, products, *sums, edges[0], strict=True):
        above = 1.0 / (t + (1.0 - t) * remains)
        term = product * (g_left - g_right)
        total += term if feature not in state else term * (above * above)
        result.append(g_right + factor * (g_left - g_right))
    out[feature] += (own * remains - old * (remains * fraction)) * total
    return result


def edge_factor(t: float, follows: float, old: float, remains: float, part: float) -> float:
    """Return f/f' of an edge."""
    above = 1.0 / (t + (1.0 - t) * remains)
    missed = (1.0 - t) * remains * part * above
    return missed + t * above if follows > 0.0 else (missed if old > 0.0 else part)
