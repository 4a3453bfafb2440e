"""Random thresholds, against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import ExtraTreeRegressor

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.kernels import layout
from sapwood.kernels.numeric.random import THRESHOLDS, draw, stream_key
from sapwood.kernels.split.random_threshold import draw_limits, narrow_limits
from sapwood.objectives import Softmax
from tests.guarded import Guards

KEY = layout.RandomKey(7, 3)


def slow_draw(bins: list[int], node: int, feature: int, key: layout.RandomKey = KEY) -> int:
    """Return one of some bins."""
    with np.errstate(over="ignore"):
        bits = int(draw(stream_key(key.seed, THRESHOLDS, key.round), np.uint64((node << 32) + feature)))
    return bins[bits % len(bins)]


@given(
    planes=st.lists(st.lists(st.sampled_from([0, 0, 5, -3]), min_size=4, max_size=9), min_size=1, max_size=2),
    node=st.integers(0, 1000),
    feature=st.integers(0, 50),
)
def test_the_bin_lies_between_the_first_and_the_last_that_the_leaf_holds(planes, node, feature):
    n_bins = min(map(len, planes)) - 1
    cells = np.array([plane[: n_bins + 1] for plane in planes], dtype=np.int64)
    guards = Guards()
    limits = guards.array(4, np.int64)
    with np.errstate(over="ignore"):
        draw_limits(cells.reshape(-1), n_bins + 1, n_bins, len(cells), node, feature, KEY, limits)
    guards.check()
    held = [b for b in range(1, n_bins + 1) if cells[:, b].any()] or [n_bins]
    between = list(range(held[0], held[-1])) or [held[0]]
    assert limits.tolist() == [slow_draw(between, node, feature)] * 4


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.integers(0, 1000))
def test_a_bin_that_leaves_enough_rows_is_drawn_between_limits(given_limits, node):
    limits = np.array(given_limits)
    with np.errstate(over="ignore"):
        narrow_limits(8, node, 2, KEY, limits)
    sides = [list(range(given_limits[k], given_limits[k + 1] + 1)) for k in (0, 2)]
    bins = sides[0] or sides[1]
    if not bins:
        assert limits.tolist() == given_limits
        return
    drawn = slow_draw(bins, node, 2)
    assert limits.tolist() == [x for side in sides for x in ([drawn, drawn] if drawn in side else [9, 0])]


def table(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.integers(0, 12, size=(n, 4)).astype(float)
    return X, X[:, 0] + (X[:, 1] - 6) ** 2 + random.normal(size=n)


@pytest.mark.parametrize("precision", ["wide", "packed"])
@pytest.mark.parametrize("growth", ["leafwise", "levelwise"])
def test_a_tree_has_the_best_of_the_drawn_splits(growth, precision):
    X, y = table()
    params = {"n_estimators": 1, "min_child_samples": 1, "max_leaves": 12, "random_state": 5, "learning_rate": 1.0}
    fitted = SapwoodRegressor(split_search="random", growth=growth, precision=precision, **params).fit(X, y)
    tree, residual = fitted.model_.ensemble[0], y - fitted.model_.base_scores[0]
    rows = {0: np.arange(len(X))}
    for node in range(len(tree.feature)):
        if tree.feature[node] < 0:
            continue
        inside = rows[node]

        def gain(feature, inside=inside, node=node):
            values = np.unique(X[inside, feature]).astype(int)
            if len(values) < 2:
                return -1.0, 0
            # Values 0 to 11 have the bins 1 to 12.
            cut = slow_draw(list(range(values[0] + 1, values[-1] + 1)), node, feature, layout.RandomKey(5, 0)) - 1
            left = X[inside, feature] <= cut
            parts = [residual[inside[side]] for side in (left, ~left, np.ones(len(inside), bool))]
            scores = [part.sum() ** 2 / (len(part) + 1.0) for part in parts]
            return 0.5 * (scores[0] + scores[1] - scores[2]), cut

        gains = [gain(feature) for feature in range(4)]
        best = max(range(4), key=lambda feature: gains[feature][0])
        assert tree.feature[node] == best
        held = np.unique(X[inside, best])
        above = held[held > gains[best][1]].min()
        assert held[held <= gains[best][1]].max() <= tree.threshold[node] < above
        assert tree.gain[node] == pytest.approx(gains[best][0], rel=1e-3)
        goes_left = X[inside, best] <= tree.threshold[node]
        rows[int(tree.left[node])], rows[int(tree.left[node]) + 1] = inside[goes_left], inside[~goes_left]


@pytest.mark.parametrize(
    "params",
    [
        {"min_child_samples": 40},
        {"reg_alpha": 0.5, "min_child_samples": 30},
        {"monotone_constraints": [1, 0, 0, 0]},
        {"boosting": "ordered"},
        {"leaf_model": "linear"},
        {"boosting": "forest", "sampling": "none"},
        {"max_bins": 1000},
    ],
    ids=str,
)
def test_limits_and_constraints_hold(params):
    X, y = table()
    X[::7, 1] = np.nan
    fitted = SapwoodRegressor(split_search="random", n_estimators=10, **params).fit(X, y)
    nodes = fitted.model_.trees
    assert nodes["count"][nodes["feature"] < 0].min() >= params.get("min_child_samples", 20)
    assert fitted.score(X, y) > 0.3
    if "monotone_constraints" in params:
        assert (fitted.predict(X + np.array([1.0, 0, 0, 0])) >= fitted.predict(X)).all()


def test_vector_leaves_draw_thresholds_too():
    X, y = table()
    labels = np.digitize(y, [5, 15])
    fitted = SapwoodClassifier(split_search="random", objective=Softmax(vector_leaves=True)).fit(X, labels)
    assert fitted.score(X, labels) > 0.9


def test_single_trees_differ_by_the_seed_and_fit_like_those_of_scikit_learn():
    X, y = table(2000)
    params = {"n_estimators": 1, "learning_rate": 1.0, "max_leaves": 32, "reg_lambda": 0.0, "min_child_samples": 5}
    trees = [SapwoodRegressor(split_search="random", random_state=k, **params).fit(X, y) for k in range(8)]
    peers = [ExtraTreeRegressor(max_leaf_nodes=32, min_samples_leaf=5, random_state=k).fit(X, y) for k in range(8)]
    assert len({tree.model_.fingerprint() for tree in trees}) == 8
    ours, theirs = (np.mean([one.score(X, y) for one in each]) for each in (trees, peers))
    assert ours > theirs - 0.1
