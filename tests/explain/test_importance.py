from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import SapwoodRegressor
from sapwood.data.tables.schema import Schema
from sapwood.errors import ParameterError
from sapwood.explain.importance import SPLIT_KINDS, feature_importances, importance
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.model import Model
from tests.model.forests import leaf_tree, random_ensemble, small_tree, tree_of


def model_of(*trees, n_features: int = 3) -> Model:
    builder = EnsembleBuilder()
    for k, tree in enumerate(trees):
        builder.append(tree, round=k)
    return Model(Schema(n_features), builder.build(), np.zeros(1))


def two_trees() -> Model:
    """Splits: f0 (gain 8, H 10, 20 rows), f1 (gain 2, H 6, 12 rows), f1 (gain 5, H 7, 30 rows); f2 is never used."""
    stump = tree_of(
        [1, -1, -1], [0.0] * 3, [1, 0, 0], [0] * 3, [0.0, 1.0, 2.0],
        gain=[5.0, 0, 0], hessian=[7.0, 3.0, 4.0], count=[30, 10, 20],
    )  # fmt: skip
    return model_of(small_tree(), stump)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("weight", [1, 2, 0]),
        ("split", [1, 2, 0]),
        ("frequency", [100 / 3, 200 / 3, 0]),
        ("gain", [8.0, 3.5, 0]),
        ("total_gain", [8.0, 7.0, 0]),
        ("cover", [10.0, 6.5, 0]),
        ("total_cover", [10.0, 13.0, 0]),
        ("cover_rows", [20.0, 21.0, 0]),
        ("total_cover_rows", [20.0, 42.0, 0]),
    ],
)
def test_importance_is_what_a_hand_computes(kind, expected):
    """X7, L7: every kind of importance."""
    np.testing.assert_allclose(importance(two_trees(), kind), expected, rtol=1e-15)


@pytest.mark.parametrize("kind", SPLIT_KINDS)
def test_percentages_sum_to_a_hundred(kind):
    plain, percent = importance(two_trees(), kind), importance(two_trees(), kind, percent=True)
    np.testing.assert_allclose(percent, 100 * plain / plain.sum(), rtol=1e-15)


def test_feature_importances_are_total_gains_that_sum_to_one():
    np.testing.assert_allclose(feature_importances(two_trees()), [8 / 15, 7 / 15, 0], rtol=1e-15)


@pytest.mark.parametrize("kind", SPLIT_KINDS)
@pytest.mark.parametrize("percent", [False, True])
def test_a_model_without_splits_has_no_importance(kind, percent):
    np.testing.assert_array_equal(importance(model_of(leaf_tree(1.0)), kind, percent=percent), np.zeros(3))
    assert feature_importances(model_of()).tolist() == [0, 0, 0]


def test_the_cover_of_vector_leaves_adds_their_outputs():
    ensemble = random_ensemble(np.random.default_rng(0), 2, 3, n_outputs=2, width=2, leaves=(5, 9))
    model = Model(Schema(3), ensemble, np.zeros(2))
    inner = ensemble.feature >= 0
    assert importance(model, "total_cover").sum() == pytest.approx(ensemble.hessian[inner].sum(), rel=1e-13)


def test_a_model_returns_its_importance():
    np.testing.assert_array_equal(two_trees().importance("cover"), importance(two_trees(), "cover"))
    np.testing.assert_array_equal(two_trees().importance(), importance(two_trees(), "total_gain"))


def test_an_unknown_kind_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match="did you mean 'total_gain'"):
        importance(two_trees(), "totalgain")


def lightgbm_like(booster, n_features: int) -> Model:
    """Our model with the structure and half the gains of a LightGBM booster."""
    trees = []
    for info in booster.dump_model()["tree_info"]:
        feature, threshold, left, gain, count, pending = [0], [0.0], [0], [0.0], [0], [(0, info["tree_structure"])]
        for node, entry in pending:
            is_leaf = "leaf_value" in entry
            feature[node] = -1 if is_leaf else entry["split_feature"]
            threshold[node] = 0.0 if is_leaf else entry["threshold"]
            gain[node] = 0.0 if is_leaf else entry["split_gain"] / 2
            count[node] = entry["leaf_count"] if is_leaf else entry["internal_count"]
            if not is_leaf:
                left[node] = len(feature)
                pending += [(len(feature), entry["left_child"]), (len(feature) + 1, entry["right_child"])]
                for column in (feature, threshold, left, gain, count):
                    column += [0, 0]
        n = len(feature)
        trees.append(tree_of(feature, threshold, left, [0] * n, np.zeros(n), gain=gain, count=count))
    return model_of(*trees, n_features=n_features)


def test_importance_of_the_same_trees_agrees_with_lightgbm():
    """L7: split counts are equal, total gain is half of LightGBM's."""
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    y = x[:, 0] * x[:, 1] + x[:, 2]
    booster = lightgbm.train({"verbose": -1, "num_leaves": 8}, lightgbm.Dataset(x, y), 10)
    model = lightgbm_like(booster, 5)
    np.testing.assert_array_equal(importance(model, "split"), booster.feature_importance("split"))
    np.testing.assert_allclose(2 * importance(model, "total_gain"), booster.feature_importance("gain"), rtol=1e-6)


# --- names and empty nodes --------------------------------------------------------------------------------------------


def fitted_on_names(**params):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"noise": random.normal(size=500), "signal": random.normal(size=500), "constant": 1.0})
    return SapwoodRegressor(**params).fit(X, 3 * X["signal"])


def test_the_default_is_the_total_gain_of_which_feature_importances_are_fractions():
    fitted = fitted_on_names(n_estimators=5)
    table = fitted.importance()
    np.testing.assert_allclose(np.asarray(table) / table.sum(), fitted.feature_importances_, rtol=1e-12)


def test_importances_have_names_and_print_as_a_sorted_table():
    table = fitted_on_names(n_estimators=5).importance()
    assert [name for name, _ in table.items()] == ["signal", "noise", "constant"]
    assert list(table.to_dict()) == list(table.to_frame()["feature"]) == ["signal", "noise", "constant"]
    assert str(table).splitlines()[0] == "importance (total_gain)"
    assert str(table).splitlines()[1].startswith("signal ")
    assert repr(table[:1]) == repr(np.asarray(table)[:1])


def test_empty_nodes_of_symmetric_trees_are_no_splits():
    fitted = fitted_on_names(n_estimators=30, preset="catboost")
    ensemble = fitted.model_.ensemble
    n_nodes = np.count_nonzero(ensemble.feature >= 0)
    n_splits = sum(
        tree.count[tree.left[node]] > 0 and tree.count[tree.left[node] + 1] > 0
        for tree in ensemble
        for node in np.flatnonzero(tree.feature >= 0)
    )
    assert fitted.importance("weight").sum() == n_splits < n_nodes
    assert fitted.importance().argmax() == 1
