"""Leaf refit: sums over the rows of supporting models, Newton steps, and permutations."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.kernels.layout import GrowParams
from sapwood.kernels.leaves.leaf_refit import (
    add_model_values,
    bound_model_pairs,
    fit_leaves,
    merge_sums,
    newton_steps,
    sum_model_leaves,
)
from sapwood.kernels.leaves.logistic import BLOCK, fit_logistic
from sapwood.native.threads.team import current_team
from sapwood.objectives import Absolute
from sapwood.objectives.base import mean_loss
from sapwood.objectives.registry import losses
from sapwood.params.encodings import Ordered

ONE_LEAF = {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 1.0, "init": 0.0}


def only_leaf(y: list[int], steps: int, **params) -> float:
    """The score of a single leaf, fitted in steps."""
    model = SapwoodClassifier(leaf_steps=steps, **ONE_LEAF | params).fit(np.zeros((len(y), 1)), y)
    return float(model.model_.predict_raw(np.zeros((1, 1)))[0])


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + np.exp(-x))


def test_two_steps_by_hand():
    """The example of docs/boosting.md: three of four rows are positive."""
    assert only_leaf([1, 1, 1, 0], 1) == pytest.approx(0.5, abs=1e-6)
    p = sigmoid(0.5)
    g, h = 4.0 * p - 3.0, 4.0 * p * (1.0 - p)
    assert only_leaf([1, 1, 1, 0], 2) == pytest.approx((h * 0.5 - g) / (h + 1.0), abs=1e-6)
    assert only_leaf([1, 1, 1, 0], 2) == pytest.approx(0.5053, abs=1e-4)


@pytest.mark.parametrize("init", [-8.0, 0.0, 3.0])
@pytest.mark.parametrize("y", [[1, 1, 1, 0], [0, 0, 0, 0, 0, 1], [1] * 9 + [0]])
def test_many_steps_reach_the_best_value_from_anywhere(y, init):
    """From −8 a whole step overshoots by far; halving brings it back."""
    value = only_leaf(y, 60, init=init) - init
    slope = np.sum(sigmoid(init + value) - np.array(y)) + 1.0 * value
    assert abs(slope) < 1e-4


def test_an_l1_penalty_is_kept_in_every_step():
    value = only_leaf([1, 1, 1, 0], 30, reg_alpha=0.4)
    assert np.sum(sigmoid(value) - np.array([1, 1, 1, 0])) + value + 0.4 == pytest.approx(0.0, abs=1e-4)
    assert only_leaf([1, 1, 1, 0], 30, reg_alpha=2.0) == 0.0


def test_more_steps_lower_the_training_loss_of_a_tree():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = random.poisson(np.exp(X[:, 0]))
    found = []
    for steps in (1, 2, 5):
        model = SapwoodRegressor(
            objective="poisson", n_estimators=1, learning_rate=1.0, max_leaves=8, leaf_steps=steps, reg_lambda=0.0
        )
        raw = model.fit(X, y).model_.predict_raw(X)
        found.append(mean_loss(losses()["poisson"](), y.astype(float), raw[None, :]))
    assert found[0] > found[1] > found[2]


def test_squared_error_needs_one_step():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(200, 3)), random.normal(size=200)
    one, many = (SapwoodRegressor(n_estimators=5, leaf_steps=steps).fit(X, y).predict(X) for steps in (1, 6))
    np.testing.assert_allclose(one, many, atol=1e-5)


def test_a_loss_that_takes_its_best_value_at_once_refuses_steps():
    with pytest.raises(ParameterError, match="objective='absolute' is not supported with leaf_steps=2"):
        SapwoodRegressor(objective=Absolute(), leaf_steps=2).fit(np.zeros((5, 1)), np.arange(5.0))


@pytest.mark.parametrize("members", ["1", "3"])
def test_sums_and_answers_equal_plain_loops(members, monkeypatch):
    random = np.random.default_rng(2)
    n, n_models, n_nodes = 9, 2, 3
    rows = np.concatenate([np.arange(4), np.arange(n)]).astype(np.uint32)
    start, learned = np.array([0, 4, 4 + n]), np.array([3, 7])
    node = random.integers(1, 3, n).astype(float)
    pairs = random.normal(size=(2, len(rows), 2)).astype(np.float32)
    weight, scale = random.gamma(1.0, size=len(rows)), np.full((3, 2), 2.0**40)
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    team = current_team(None)
    partial = np.full((team.size, n_models * n_nodes * 6), 77)
    team.run(sum_model_leaves, rows, start, learned, node, n_nodes, pairs, weight, scale, partial)
    sums = np.empty((n_models * n_nodes, 6))
    merge_sums(partial, n_nodes, np.array([1, 0, 0], dtype=np.int32), scale, sums)
    slow = np.zeros_like(sums)
    for m in range(n_models):
        for i in range(start[m], start[m] + learned[m]):
            row = [*(weight[i] * pairs[:, i].astype(float)).reshape(-1), weight[i], 1.0]
            slow[m * n_nodes + int(node[rows[i]])] += row
            slow[m * n_nodes] += row
    np.testing.assert_allclose(sums, slow, atol=1e-9)
    values, scores = random.normal(size=(n_models * n_nodes, 1)), np.zeros((2, len(rows)))
    team.run(add_model_values, rows, start, node, n_nodes, values, 1, scores)
    for m in range(n_models):
        for i in range(start[m], start[m + 1]):
            assert scores[1, i] == values[m * n_nodes + int(node[rows[i]]), 0]
    assert (scores[0] == 0.0).all()


@pytest.mark.parametrize("members", ["1", "3"])
def test_the_sums_of_equal_rows_are_those_of_rows_that_weigh_one(members, monkeypatch):
    random = np.random.default_rng(3)
    n, scale = 700, np.full((2, 2), 2.0**40)
    node, pairs = random.integers(1, 3, n).astype(float), random.normal(size=(1, n, 2)).astype(np.float32)
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    team = current_team(None)
    found = []
    for weight in (np.empty(0), np.ones(n)):
        partial = np.full((team.size, 12), 77)
        rows, start = np.arange(n, dtype=np.uint32), np.array([0, n])
        team.run(sum_model_leaves, rows, start, np.array([n]), node, 3, pairs, weight, scale, partial)
        found.append(partial.sum(axis=0))
    assert np.array_equal(*found)


def grow_params(reg_lambda: float) -> GrowParams:
    return GrowParams(*(0 for _ in GrowParams._fields))._replace(reg_lambda=reg_lambda)


def one_newton_step(members, pairs, weight, node, left, penalty):
    """Sums and values of the kernel that does all of it, and whether the pairs are finite; buffers hold garbage."""
    (width, n, _), n_nodes = pairs.shape, len(left)
    max_weight = float(weight.max(initial=0.0)) if len(weight) else 1.0
    sums, values, is_finite = np.full((n_nodes, 2 * width + 2), 7.0), np.full((n_nodes, width), 7.0), np.full(1, 7)
    work = (
        np.full((members, 2 * width), 7.0), np.full((width + 1, 2), 7.0), np.full((members, sums.size), 7), sums,
        np.full((n_nodes, width, 2), 7.0),
    )  # fmt: skip
    current_team(None).run(
        fit_leaves, np.arange(n, dtype=np.uint32), np.array([0, n]), np.array([n]), node, pairs, weight, max_weight, n,
        penalty, left, grow_params(2.0), *work, values, is_finite,
    )  # fmt: skip
    return sums, values, bool(is_finite[0]), work[1]


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [1, 4])
def test_one_call_gives_the_bits_of_sums_and_a_newton_step_apart(members, weighted, width, monkeypatch):
    random = np.random.default_rng(7)
    n, left, penalty = 900, np.array([1, 3, 0, 0, 0], dtype=np.int32), np.array([0.0, 0.0, 0.5, 0.0, 0.0])
    node = random.integers(2, 5, n).astype(float)
    pairs = random.normal(size=(width, n, 2)).astype(np.float32) ** 3
    pairs[..., 1] = np.abs(pairs[..., 1])
    weight = random.gamma(1.0, size=n) if weighted else np.empty(0)
    monkeypatch.setenv("SAPWOOD_TEAM", str(members))
    sums, values, is_finite, scale = one_newton_step(members, pairs, weight, node, left, penalty)
    assert is_finite
    bounds = np.empty((1, 2 * width))
    bound_model_pairs(pairs, bounds)
    largest = np.append(bounds[0], [1.0, 1.0]) * (weight.max() if weighted else 1.0) * n
    assert np.array_equal(scale.reshape(-1), 2.0 ** np.floor(np.log2(2.0**61 / largest)))
    partial, slow = np.empty((1, sums.size), dtype=np.int64), np.empty_like(sums)
    entries = np.arange(n, dtype=np.uint32), np.array([0, n]), np.array([n])
    sum_model_leaves(*entries, node, len(left), pairs, weight, scale, partial)
    merge_sums(partial, len(left), left, scale, slow)
    limits, slow_values = np.tile([-np.inf, np.inf], (len(left), width, 1)), np.zeros((len(left), width))
    newton_steps(slow, penalty, grow_params(2.0), limits, slow_values)
    assert np.array_equal(sums, slow) and np.array_equal(values, slow_values)
    in_leaf = node == 4
    own = weight[in_leaf] if weighted else 1.0
    g, h = (own * pairs[0, in_leaf, k].astype(float) for k in range(2))
    assert values[4, 0] == pytest.approx(-g.sum() / (h.sum() + 2.0))


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_pairs_that_are_not_finite_are_told(members, bad, monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", str(members))
    pairs = np.ones((2, 30, 2), dtype=np.float32)
    pairs[1, 29, 0] = bad
    left, node = np.array([1, 0, 0], dtype=np.int32), np.ones(30)
    assert not one_newton_step(members, pairs, np.empty(0), node, left, np.zeros(3))[2]


@pytest.mark.parametrize("members", ["1", "3"])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_the_logistic_loss_equal_plain_newton_steps(members, weighted, monkeypatch):
    random = np.random.default_rng(4)
    n, reg_lambda, penalty = 1500, 2.0, np.array([0.0, 0.5, 0.0])
    y, scores = (random.random(n) < 0.3).astype(float), random.normal(size=n)
    weight = random.gamma(1.0, size=n) if weighted else np.empty(0)
    node, left = random.integers(1, 3, n).astype(float), np.array([1, 0, 0], dtype=np.int32)
    p = 1.0 / (1.0 + np.exp(-scores))
    pairs = np.stack([p - y, p * (1.0 - p)], axis=1).astype(np.float32)
    w = weight if weighted else np.ones(n)
    slow = np.zeros(3)
    for leaf in (1, 2):
        own = node == leaf
        for _ in range(3):
            p = 1.0 / (1.0 + np.exp(-(scores[own] + slow[leaf])))
            g, h = np.sum(w[own] * (p - y[own])), np.sum(w[own] * p * (1.0 - p))
            slow[leaf] = -(g - h * slow[leaf]) / (h + penalty[leaf] + reg_lambda)
    slow[0] = np.average(slow[1:], weights=[w[node == 1].sum(), w[node == 2].sum()])
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    team = current_team(None)
    rules = GrowParams(*[0] * len(GrowParams._fields))._replace(reg_lambda=reg_lambda)
    room, partial = np.full((team.size, 2, BLOCK), 77.0), np.full((team.size, 12), 77)
    sums, values = np.full((3, 4), 77.0), np.full((3, 3), 77.0)
    team.run(
        fit_logistic, node, y, scores, weight, pairs, 3, 2.0**45, penalty, left, rules, room, partial, sums, values
    )  # fmt: skip
    np.testing.assert_allclose(values[:, 0], slow, rtol=1e-6)
    for leaf, own in enumerate([node > 0, node == 1, node == 2]):
        expected = [*(w[own, None] * pairs[own]).sum(axis=0), w[own].sum(), own.sum()]
        np.testing.assert_allclose(sums[leaf], expected, rtol=1e-9)


def test_leaf_values_come_from_an_order_of_their_own():
    """C5: statistics of the first order give the leaves their values, whatever order the tree was grown on."""
    random = np.random.default_rng(3)
    X = random.integers(0, 40, (600, 1)).astype(str).astype(object)
    y = random.normal(size=600)
    model = SapwoodRegressor(
        category_encoding=Ordered(permutations=3), n_estimators=3, learning_rate=1.0, reg_lambda=0.0, max_leaves=4
    ).fit(X, y)
    trees = model.model_.ensemble
    for k in range(3):
        root, left = trees.tree_start[k], trees.left[trees.tree_start[k]]
        assert trees.count[root] == 600
        assert trees.count[root + left] + trees.count[root + left + 1] == 600
