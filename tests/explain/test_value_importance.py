from __future__ import annotations

import json

import numpy as np
import pytest

from sapwood.data.tables.schema import Schema
from sapwood.errors import ParameterError
from sapwood.explain.importance import importance
from sapwood.explain.value_importance import feature_pairs, prediction_values_change
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.model import Model
from tests.explain.test_importance import model_of
from tests.model.forests import leaf_tree, small_tree, tree_of


def square_tree(values=(1.0, 2.0, 4.0, 8.0), cover=(1.0, 2.0, 3.0, 4.0)):
    """A symmetric tree: f0 first, then f1 on both sides; leaves 3 and 4 left, 5 and 6 right."""
    a, b, c, d = cover
    return tree_of(
        [0, 1, 1, -1, -1, -1, -1], [0.5, 1.5, 1.5, 0, 0, 0, 0], [1, 3, 5, 0, 0, 0, 0], [0] * 7, [0, 0, 0, *values],
        weight=[a + b + c + d, a + b, c + d, a, b, c, d],
    )  # fmt: skip


def pair_term(c1, v1, c2, v2):
    mean = (c1 * v1 + c2 * v2) / (c1 + c2)
    return c1 * (v1 - mean) ** 2 + c2 * (v2 - mean) ** 2


def test_a_hand_computes_the_change_in_a_symmetric_tree_of_four_leaves():
    """Leaves that differ in the first split: 1 and 4, 2 and 8; in the second: 1 and 2, 4 and 8."""
    first = pair_term(1, 1, 3, 4) + pair_term(2, 2, 4, 8)
    second = pair_term(1, 1, 2, 2) + pair_term(3, 4, 4, 8)
    expected = 100 * np.array([first, second]) / (first + second)
    np.testing.assert_allclose(prediction_values_change(model_of(square_tree(), n_features=2)), expected, rtol=1e-13)


def test_a_hand_computes_the_change_in_a_tree_of_three_leaves():
    """small_tree: 8 rows of value 1 beside 12 of mean 15; below, 6 rows of 10 beside 6 of 20."""
    first, second = pair_term(8, 1, 12, 15), pair_term(6, 10, 6, 20)
    expected = 100 * np.array([first, second, 0]) / (first + second)
    np.testing.assert_allclose(importance(model_of(small_tree()), "PredictionValuesChange"), expected, rtol=1e-13)


def test_a_hand_computes_the_interaction_of_a_pair():
    """|1 - 2 - 4 + 8| is the only interaction."""
    assert feature_pairs(model_of(square_tree(), n_features=2)) == {(0, 1): 100.0}
    two = model_of(square_tree(), square_tree((0.0, 0.0, 0.0, 0.0)), n_features=2)
    assert importance(two, "interaction").to_dict() == {"f0 × f1": 100.0}


def test_pairs_of_other_trees_need_rows():
    with pytest.raises(ParameterError, match="pass X"):
        importance(model_of(small_tree()), "interaction")
    table = importance(model_of(small_tree()), "interaction", np.array([[1.0, 1.0, 0.0], [0.0, 3.0, 0.0]]))
    assert table.names == ("f0 × f1",)


def test_models_without_splits_have_no_changes():
    model = model_of(leaf_tree(1.0))
    np.testing.assert_array_equal(prediction_values_change(model), np.zeros(3))
    assert feature_pairs(model) == {}


def tree_of_catboost(tree: dict):
    """Read an oblivious tree of CatBoost's JSON: x > border is 1, the first split is the lowest bit of the leaf."""
    splits = [(s["float_feature_index"], s["border"]) for s in tree["splits"]]
    values, weights, depth = np.array(tree["leaf_values"]), np.array(tree["leaf_weights"]), len(tree["splits"])
    n = 2 ** (depth + 1) - 1
    feature, threshold, left = np.full(n, -1), np.zeros(n), np.zeros(n, dtype=int)
    value, weight = np.zeros(n), np.zeros(n)
    for level in range(depth):
        first = 2**level - 1
        for k in range(2**level):
            feature[first + k], threshold[first + k] = splits[depth - 1 - level]
            left[first + k] = 2 * (first + k) + 1
    value[2**depth - 1 :], weight[2**depth - 1 :] = values, weights
    for node in range(2**depth - 2, -1, -1):
        weight[node] = weight[2 * node + 1] + weight[2 * node + 2]
    return tree_of(feature, threshold, left, [0] * n, value, weight=weight)


@pytest.fixture(scope="module")
def oblivious(tmp_path_factory):
    catboost = pytest.importorskip("catboost", reason="CatBoost is heavy and has no wheels for some platforms")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(500, 5)), 2)
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=500) * 0.1
    theirs = catboost.CatBoostRegressor(
        iterations=15, depth=4, random_seed=1, verbose=False, allow_writing_files=False, thread_count=1
    ).fit(X, y)
    path = tmp_path_factory.mktemp("catboost") / "model.json"
    theirs.save_model(str(path), format="json")
    described = json.loads(path.read_text())
    builder = EnsembleBuilder()
    for k, tree in enumerate(described["oblivious_trees"]):
        builder.append(tree_of_catboost(tree), round=k)
    scale, bias = described["scale_and_bias"]
    assert scale == 1
    ours = Model(Schema(5), builder.build(), np.array(bias), objective={"name": "squared", "settings": {}})
    np.testing.assert_allclose(ours.predict_raw(X), theirs.predict(X), rtol=1e-6)
    return ours, theirs, X, y


def test_the_change_of_predictions_equals_that_of_catboost(oblivious):
    ours, theirs, _, _ = oblivious
    expected = theirs.get_feature_importance(type="PredictionValuesChange")
    np.testing.assert_allclose(importance(ours, "prediction_values_change"), expected, rtol=1e-6)


def test_the_interaction_of_pairs_equals_that_of_catboost(oblivious):
    ours, theirs, _, _ = oblivious
    expected = {(int(a), int(b)): value for a, b, value in theirs.get_feature_importance(type="Interaction")}
    found = feature_pairs(ours)
    assert set(found) >= set(expected)
    np.testing.assert_allclose([found[pair] for pair in expected], list(expected.values()), rtol=1e-6)


def test_shapley_values_equal_those_of_catboost(oblivious):
    import catboost

    ours, theirs, X, _ = oblivious
    expected = theirs.get_feature_importance(catboost.Pool(X), type="ShapValues")
    np.testing.assert_allclose(ours.shap_values(X), expected[:, :-1], atol=1e-5)


def test_catboost_subtracts_shapley_values_where_ours_averages_splits(oblivious):
    """CatBoost's LossFunctionChange is RMSE(F − φ) − RMSE(F); docs/explanations.md names the difference."""
    import catboost

    ours, theirs, X, y = oblivious
    expected = theirs.get_feature_importance(catboost.Pool(X, y), type="LossFunctionChange")
    residual = y - ours.predict_raw(X)
    without = np.sqrt(np.mean((residual[:, None] + ours.shap_values(X)) ** 2, axis=0))
    np.testing.assert_allclose(without - np.sqrt(np.mean(residual**2)), expected, rtol=1e-4)
