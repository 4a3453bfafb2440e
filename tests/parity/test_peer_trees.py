from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from bench.peer_trees import PeerTree, Rows, match_trees

from sapwood import SapwoodRegressor
from sapwood.model.tree import Tree
from tests.parity.real_tables import REAL_TABLES

LAMBDA = 1.0


def grown() -> tuple[Tree, Rows]:
    data = REAL_TABLES["diabetes"]
    model = SapwoodRegressor(n_estimators=1, reg_lambda=LAMBDA, max_leaves=8).fit(data.X, data.y)
    g = model.model_.base_scores[0] - data.y
    return model.model_.ensemble[0], Rows(data.X, g, np.ones(len(g)), LAMBDA)


def changed(tree: PeerTree, name: str, node: int, value: float) -> PeerTree:
    array = getattr(tree, name).copy()
    array[node] = value
    return dataclasses.replace(tree, **{name: array})


def test_a_tree_matches_itself():
    tree, rows = grown()
    found = match_trees(tree, PeerTree.of(tree), rows)
    assert (found.nodes, found.skipped, found.differences) == (15, 0, [])


@pytest.mark.parametrize("change", [("threshold", 0, 1e-3), ("feature", 0, 0), ("feature", 0, -1)])
def test_another_split_is_noticed_and_what_is_below_skipped(change):
    tree, rows = grown()
    found = match_trees(tree, changed(PeerTree.of(tree), *change), rows)
    assert found.skipped == 15
    assert len(found.differences) == 1


def test_another_leaf_value_is_noticed():
    tree, rows = grown()
    leaf = int(np.flatnonzero(tree.feature < 0)[0])
    value = tree.value[leaf, 0] + 2e-5 * np.abs(tree.value[tree.feature < 0]).max()
    assert len(match_trees(tree, changed(PeerTree.of(tree), "value", leaf, value), rows).differences) == 1


def test_another_side_of_missing_values_is_noticed_where_there_are_any():
    tree, rows = grown()
    other = changed(PeerTree.of(tree), "missing_left", 0, 1 - tree.missing_left[0])
    assert match_trees(tree, other, rows).differences == []
    X = rows.X.copy()
    X[:5, tree.feature[0]] = np.nan
    assert match_trees(tree, other, rows._replace(X=X)).differences != []


def test_a_threshold_between_the_same_two_values_is_the_same():
    tree, rows = grown()
    x = np.unique(rows.X[:, tree.feature[0]]).astype(np.float64)
    above = x[x > tree.threshold[0]].min()
    assert match_trees(tree, changed(PeerTree.of(tree), "threshold", 0, np.nextafter(above, -1.0)), rows).skipped == 0


def test_a_tie_is_skipped_but_no_difference():
    tree, rows = grown()
    twice = rows._replace(X=np.hstack([rows.X, rows.X]))
    found = match_trees(tree, changed(PeerTree.of(tree), "feature", 0, tree.feature[0] + rows.X.shape[1]), twice)
    assert (found.skipped, found.differences) == (15, [])
