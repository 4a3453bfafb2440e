"""Importances from leaf values: how much the score changes from one side of a feature's splits to the other."""

from __future__ import annotations

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.cover import node_cover, subtree_means
from sapwood.model.ensemble import Ensemble
from sapwood.model.model import Model
from sapwood.model.predict.node_index import NodeIndex
from sapwood.model.predict.tree_packing import find_symmetric


def prediction_values_change(model: Model) -> np.ndarray:
    """Return PredictionValuesChange of each column of the trees, in percent.

    Every split adds c_1 (v_1 − m)² + c_2 (v_2 − m)², with the mean values v and weights c of its two sides and their
    mean m. In symmetric trees, each pair of leaves that differ in the outcome of the split adds such a term instead, as
    in CatBoost.
    """
    ensemble, values = model.ensemble, np.zeros(model.n_columns)
    nodes, cover = NodeIndex(ensemble), node_cover(ensemble)
    symmetric = find_symmetric(nodes)
    means = subtree_means(nodes, cover, ensemble.value)
    splits = np.flatnonzero(nodes.inner & ~symmetric[nodes.tree])
    np.add.at(values, ensemble.feature[splits], _side_terms(means, cover, nodes.left[splits], nodes.left[splits] + 1))
    for tree in np.flatnonzero(symmetric):
        features, leaves = symmetric_levels(ensemble, int(tree))
        for level, feature in enumerate(features):
            first = leaves[(np.arange(len(leaves)) >> level) & 1 == 0]
            second = leaves[(np.arange(len(leaves)) >> level) & 1 == 1]
            values[feature] += _side_terms(ensemble.value, cover, first, second).sum()
    total = values.sum()
    return 100.0 * values / total if total > 0.0 else values


def feature_pairs(model: Model) -> dict[tuple[int, int], float]:
    """Return the interaction of each pair of columns of symmetric trees, in percent, as CatBoost defines it.

    Every pair of splits of a tree adds |Σ ± v| over its leaves, + where both splits have the same outcome.
    """
    nodes = NodeIndex(model.ensemble)
    if not (find_symmetric(nodes) | (np.diff(model.ensemble.tree_start) == 1)).all():
        raise ParameterError(
            "importance: kind 'interaction' is defined by the leaves of symmetric trees; for other trees pass X, and "
            "the mean of |interaction values| over its rows is returned"
        )
    strength: dict[tuple[int, int], float] = {}
    for tree in np.flatnonzero(find_symmetric(nodes)):
        features, leaves = symmetric_levels(model.ensemble, int(tree))
        number = np.arange(len(leaves))
        for a in range(len(features)):
            for b in range(a):
                if features[a] != features[b]:
                    sign = 1.0 - 2.0 * ((number >> a ^ number >> b) & 1)
                    pair = (int(min(features[a], features[b])), int(max(features[a], features[b])))
                    delta = np.abs((sign[:, None] * model.ensemble.value[leaves]).sum(axis=0)).sum()
                    strength[pair] = strength.get(pair, 0.0) + float(delta)
    total = sum(strength.values())
    return {pair: 100.0 * value / total for pair, value in strength.items()} if total > 0.0 else strength


def symmetric_levels(ensemble: Ensemble, tree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the feature of each level of a symmetric tree, from the leaves up, and its leaves.

    The leaf number has bit k set where the split of level k sends a row to the right.
    """
    root = int(ensemble.tree_start[tree])
    level, features = np.array([root]), []
    while ensemble.feature[level[0]] >= 0:
        features.append(int(ensemble.feature[level[0]]))
        left = root + ensemble.left[level].astype(np.int64)
        level = np.stack([left, left + 1], axis=1).reshape(-1)
    return np.array(features[::-1], dtype=np.int64), level


def _side_terms(values: np.ndarray, cover: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    c1, c2 = cover[first][:, None], cover[second][:, None]
    total = c1 + c2
    mean = np.divide(values[first] * c1 + values[second] * c2, total, out=np.zeros_like(values[first]), where=total > 0)
    return (c1 * (values[first] - mean) ** 2 + c2 * (values[second] - mean) ** 2).sum(axis=1)
