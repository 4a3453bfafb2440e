"""Leaves of losses with corners answer the best value for their rows."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.boost.leaf_values import average_leaves, project_values
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.objectives import Absolute, Mape, Quantile

ONE = {"n_estimators": 1, "learning_rate": 1.0, "min_child_samples": 10, "max_leaves": 8}


def example(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(n, 2))
    return X, np.exp(X[:, 0]) + random.standard_exponential(n)


def slow_quantile(values: np.ndarray, weight: np.ndarray, level: float) -> float:
    order = np.argsort(values)
    values, total = values[order], np.cumsum(weight[order])
    k = int(np.argmax(total >= level * total[-1]))
    is_between = level == 0.5 and total[k] * 2 == total[-1]
    return 0.5 * values[k] + 0.5 * values[k + 1] if is_between else float(values[k])


@pytest.mark.parametrize("objective", [Absolute(), Quantile(0.9), Quantile(0.25), Mape()], ids=repr)
@pytest.mark.parametrize("with_weights", [False, True], ids=["even", "weighted"])
def test_each_leaf_answers_the_quantile_of_its_residuals(objective, with_weights):
    X, y = example()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float) if with_weights else None
    fitted = SapwoodRegressor(objective=objective, **ONE).fit(X, y, sample_weight=weight)
    leaves, tree = fitted.apply(X)[:, 0], fitted.model_.ensemble[0]
    residuals = y - fitted.model_.base_scores[0]
    weights = objective.leaf_weights(y, weight)
    assert len(np.unique(leaves)) > 3
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        expected = slow_quantile(residuals[rows], weights[rows], objective.leaf_quantiles[0])
        assert tree.value[leaf, 0] == pytest.approx(expected, rel=1e-12)


def test_rows_that_were_not_drawn_have_no_say():
    X, y = example()
    fitted = SapwoodRegressor(objective="absolute", subsample=0.5, **ONE).fit(X, y)
    leaves = fitted.apply(X)[:, 0]
    residuals = y - fitted.model_.base_scores[0]
    medians = [slow_quantile(residuals[leaves == leaf], np.ones((leaves == leaf).sum()), 0.5) for leaf in set(leaves)]
    assert not np.allclose(sorted(medians), sorted(fitted.model_.ensemble[0].value[sorted(set(leaves)), 0]))


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_as_many_targets_lie_below_as_the_level_says(level):
    X, y = example(2000)
    fitted = SapwoodRegressor(objective=Quantile(level), n_estimators=100).fit(X, y)
    assert np.mean(y < fitted.predict(X)) == pytest.approx(level, abs=0.04)


def test_several_levels_do_not_cross():
    X, y = example(2000)
    predictions = SapwoodRegressor(objective=Quantile([0.1, 0.5, 0.9])).fit(X, y).predict(X)
    assert (np.diff(predictions, axis=1) >= 0).all()
    assert np.allclose(np.mean(y[:, None] < predictions, axis=0), [0.1, 0.5, 0.9], atol=0.05)


def test_the_largest_step_holds_for_renewed_leaves():
    X, y = example()
    fitted = SapwoodRegressor(objective="absolute", max_delta_step=0.25, **ONE).fit(X, y)
    assert np.abs(fitted.model_.ensemble.value).max() == 0.25


@pytest.mark.parametrize("direction", [1, -1])
def test_renewed_leaves_keep_the_direction_of_a_feature(direction):
    X, y = example()
    noisy = direction * X[:, 0] + np.random.default_rng(2).normal(size=len(y))
    fitted = SapwoodRegressor(objective="absolute", monotone_constraints=[direction, 0], min_child_samples=2)
    fitted.fit(X, noisy)
    line = np.linspace(-1, 1, 200)
    for other in (-0.5, 0.0, 0.5):
        answers = fitted.predict(np.column_stack([line, np.full(200, other)]))
        assert (direction * np.diff(answers) >= 0).all()


def small_tree(feature, left, weight) -> GrownTree:
    integers, numbers = np.zeros((len(feature), layout.NODE_BITSET), np.int64), np.zeros((len(feature), 7))
    integers[:, layout.NODE_FEATURE], integers[:, layout.NODE_LEFT] = feature, left
    numbers[:, layout.NODE_WEIGHT] = weight
    return GrownTree(integers, numbers, *(np.empty(0) for _ in range(4)))


def test_inner_nodes_answer_the_mean_of_their_leaves():
    tree = small_tree([0, -1, 0, -1, -1], [1, 0, 3, 0, 0], [8.0, 2.0, 6.0, 4.0, 2.0])
    value = np.array([0.0, 5.0, 0.0, 1.0, 4.0])
    average_leaves(tree, value)
    assert value.tolist() == [(2 * 5 + 4 * 1 + 2 * 4) / 8, 5.0, 2.0, 1.0, 4.0]


def test_children_on_the_wrong_sides_meet_in_the_middle():
    tree = small_tree([0, -1, -1], [1, 0, 0], [2.0, 1.0, 1.0])
    value = np.array([2.0, 3.0, 1.0])
    project_values(tree, value, np.array([1]))
    assert value.tolist() == [2.0, 2.0, 2.0]
    value = np.array([2.0, 1.0, 3.0])
    project_values(tree, value, np.array([1]))
    assert value.tolist() == [2.0, 1.0, 3.0]
