"""Sampled columns: how many a tree uses, and that the draw can be repeated."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.model.tree import LEAF
from tests.grow.constraints.tables import WAYS

N, N_FEATURES = 600, 10


def fit(n_features: int = N_FEATURES, **params):
    """Every feature matters alike, so that a large tree uses all it may."""
    random = np.random.default_rng(1)
    X = random.normal(size=(N, n_features))
    y = np.sin(2 * X).sum(axis=1)
    depth = {"max_depth": 9} if "max_depth" not in params else {}
    few = {"n_estimators": 8, "max_leaves": None, "min_child_weight": 0.0}
    if params.get("growth") in ("leafwise", "levelwise"):
        few["min_child_samples"] = 1
    return SapwoodRegressor(**(few | depth | params)).fit(X, y).model_


def features_of(tree) -> set[int]:
    return set(tree.feature[tree.feature != LEAF].tolist())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fraction, count", [(0.1, 1), (0.25, 3), (0.34, 3), (0.5, 5), (0.79, 8)])
def test_a_tree_uses_no_more_than_its_share_of_the_features(way, fraction, count):
    used = [len(features_of(tree)) for tree in fit(colsample_bytree=fraction, **WAYS[way]).ensemble]
    assert max(used) <= count
    if "symmetric" not in way and "cosine" not in way:  # a symmetric tree cuts one feature per level, or one again
        assert used == [count] * len(used)


@pytest.mark.parametrize("way", WAYS)
def test_trees_draw_different_features(way):
    used = [frozenset(features_of(tree)) for tree in fit(colsample_bytree=0.3, **WAYS[way]).ensemble]
    assert len(set(used)) > 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("by", ["colsample_bytree", "colsample_bylevel", "colsample_bynode"])
def test_a_draw_is_repeated_by_its_seed_and_changed_by_another(by, way):
    first, again, other = (fit(**{by: 0.4}, random_state=seed, **WAYS[way]).fingerprint() for seed in (3, 3, 4))
    assert first == again
    assert first != other


@pytest.mark.parametrize("way", WAYS)
def test_a_level_uses_no_more_than_its_share_of_the_features(way):
    model = fit(colsample_bylevel=0.2, **WAYS[way])
    table = model.trees
    inner = table["feature"] != LEAF
    for tree in range(model.ensemble.n_trees):
        for depth in np.unique(table["depth"]):
            level = inner & (table["tree"] == tree) & (table["depth"] == depth)
            assert len(set(table["feature"][level].tolist())) <= 2


@pytest.mark.parametrize("way", WAYS)
def test_levels_draw_from_the_features_of_the_tree_and_nodes_from_those_of_the_level(way):
    model = fit(colsample_bytree=0.5, colsample_bylevel=0.6, colsample_bynode=0.4, **WAYS[way])
    table = model.trees
    inner = table["feature"] != LEAF
    for tree in range(model.ensemble.n_trees):
        of_tree = inner & (table["tree"] == tree)
        assert len(set(table["feature"][of_tree].tolist())) <= 5
        for depth in np.unique(table["depth"]):
            assert len(set(table["feature"][of_tree & (table["depth"] == depth)].tolist())) <= 3


@pytest.mark.parametrize("way", WAYS)
def test_every_node_draws_for_itself_or_every_level_of_a_symmetric_tree(way):
    """One feature of ten is drawn each time."""
    families = []
    for tree in fit(colsample_bynode=0.1, **WAYS[way]).ensemble:
        for node in np.flatnonzero(tree.feature != LEAF):
            family = tree.feature[[node, tree.left[node], tree.left[node] + 1]].tolist()
            families += [family] if LEAF not in family else []
    assert any(parent != left for parent, left, _ in families)
    if "symmetric" not in way and "cosine" not in way:
        assert any(left != right for _, left, right in families)
