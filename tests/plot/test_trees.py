"""Drawings of trees."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.errors import ParameterError
from sapwood.objectives import Softmax
from tests.plot.test_plot import texts


def boxes(ax):
    """Return the rectangles of all nodes in pixels."""
    ax.figure.canvas.draw()
    return [text.get_bbox_patch().get_window_extent() for text in ax.texts]


def test_every_node_is_drawn_with_its_rows(people):
    X, _, model = people
    tree = model.model_.ensemble[0]
    ax = sapwood.plot.tree(model)
    assert len(ax.texts) == tree.n_nodes
    assert f"{len(X)} rows · missing: " in ax.texts[0].get_text()


def test_categories_are_named(people):
    assert "job is " in texts(sapwood.plot.tree(people[2]))


def test_no_two_nodes_of_a_tree_of_depth_six_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = np.sin(3 * X).sum(axis=1)
    params = {"n_estimators": 1, "growth": "symmetric", "max_depth": 6, "min_child_samples": 1}
    ax = sapwood.plot.tree(sapwood.SapwoodRegressor(**params).fit(X, y))
    rectangles = boxes(ax)
    assert len(rectangles) == 127
    assert not any(a.overlaps(b) for k, a in enumerate(rectangles) for b in rectangles[:k])


def test_the_drawing_can_end_at_a_depth(people):
    model = people[2]
    ax = sapwood.plot.tree(model, max_depth=1)
    assert len(ax.texts) == 3
    hidden = sum(int(text.get_text().split(" leaves below")[0]) for text in ax.texts[1:])
    assert hidden == model.model_.ensemble[0].n_leaves


@pytest.mark.filterwarnings("ignore::sapwood.errors.NoSplitWarning")
def test_a_single_leaf_is_a_drawing():
    model = sapwood.SapwoodRegressor(n_estimators=1).fit(np.zeros((50, 1)), np.arange(50.0))
    if model.model_.ensemble.n_trees:
        assert "50 rows" in texts(sapwood.plot.tree(model))


def test_leaves_of_several_outputs_and_linear_leaves_are_described(houses):
    X, y, _ = houses
    labels = np.digitize(y, [-1, 1])
    vector = sapwood.SapwoodClassifier(n_estimators=1, objective=Softmax(vector_leaves=True)).fit(X, labels)
    assert "0 " in sapwood.plot.tree(vector).texts[-1].get_text()
    linear = sapwood.SapwoodRegressor(n_estimators=1, leaf_model="linear").fit(X, y)
    assert "* (f0" in texts(sapwood.plot.tree(linear))
    several = sapwood.SapwoodClassifier(n_estimators=1).fit(X, labels)
    assert "Tree 2 of 3 (round 1, 2)" in texts(sapwood.plot.tree(several, -1))


def test_trees_that_do_not_exist_are_refused(people):
    with pytest.raises(ParameterError, match="tree 20 does not exist; allowed is 0 to 19"):
        sapwood.plot.tree(people[2], 20)
    with pytest.raises(ParameterError, match="max_depth must be a number of splits"):
        sapwood.plot.tree(people[2], max_depth=-1)
