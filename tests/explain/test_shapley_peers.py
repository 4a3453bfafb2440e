"""Shapley values of the trees of XGBoost, LightGBM and CatBoost equal those that their libraries and shap compute."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sapwood.data.tables.schema import Schema
from sapwood.explain.importance import importance
from sapwood.explain.shapley import expected_scores, shap_interaction_values, shap_values
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.model import Model
from sapwood.model.tree import Tree
from tests.model.forests import tree_of


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(600, 6)), 2).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.nan_to_num(X[:, 2]) ** 2 + rng.normal(size=600) * 0.1
    return X, y


def tree_of_xgboost(dump: dict) -> Tree:
    """Read a tree of ``get_dump(dump_format="json")``: x < condition goes left, gains are twice ours."""
    feature, threshold, left, missing_left, value, cover, gain = [], [], [], [], [], [], []

    def reserve() -> int:
        for column in (feature, threshold, left, missing_left, value, cover, gain):
            column.append(0)
        return len(feature) - 1

    def write(node: dict, k: int) -> None:
        cover[k], gain[k] = node["cover"], node.get("gain", 0.0) / 2
        if "leaf" in node:
            feature[k], value[k] = -1, node["leaf"]
            return
        feature[k] = int(node["split"][1:])
        threshold[k] = float(np.nextafter(np.float32(node["split_condition"]), np.float32(-np.inf)))
        missing_left[k] = int(node["missing"] == node["yes"])
        left[k] = reserve()
        reserve()
        by_id = {child["nodeid"]: child for child in node["children"]}
        write(by_id[node["yes"]], left[k])
        write(by_id[node["no"]], left[k] + 1)

    write(dump, reserve())
    statistics = {"weight": cover, "hessian": cover, "gain": gain, "count": np.ones(len(cover))}
    return tree_of(feature, threshold, left, missing_left, value, **statistics)


@pytest.fixture(scope="module")
def boosted(rows):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost has no wheel for this platform")
    X, y = rows
    data = xgboost.DMatrix(X, y)
    booster = xgboost.train({"max_depth": 5, "base_score": 0.5, "nthread": 1}, data, 12)
    builder = EnsembleBuilder()
    for k, dump in enumerate(booster.get_dump(dump_format="json", with_stats=True)):
        builder.append(tree_of_xgboost(json.loads(dump)), round=k)
    return booster, data, Model(Schema(6), builder.build(), np.array([0.5]))


def test_values_equal_those_of_xgboost(boosted, rows):
    booster, data, model = boosted
    theirs = booster.predict(data, pred_contribs=True)
    np.testing.assert_allclose(shap_values(model, rows[0]), theirs[:, :-1], atol=1e-5)
    np.testing.assert_allclose(expected_scores(model)[0], theirs[:, -1], atol=1e-5)


def test_interactions_equal_those_of_xgboost(boosted, rows):
    booster, data, model = boosted
    theirs = booster.predict(data, pred_interactions=True)
    np.testing.assert_allclose(shap_interaction_values(model, rows[0]), theirs[:, :-1, :-1], atol=2e-5)


@pytest.mark.parametrize("kind", ["weight", "gain", "cover", "total_gain", "total_cover"])
def test_importances_equal_those_of_xgboost(boosted, kind):
    """X7: gains are half of XGBoost's."""
    booster, _, model = boosted
    theirs = booster.get_score(importance_type=kind)
    expected = [theirs.get(f"f{f}", 0.0) / (2 if "gain" in kind else 1) for f in range(6)]
    np.testing.assert_allclose(importance(model, kind), expected, rtol=1e-5)


def tree_of_shap(tree: Tree) -> dict[str, np.ndarray]:
    """Write a tree for ``shap.TreeExplainer``."""
    inner = tree.feature >= 0
    left = np.where(inner, tree.left, -1)
    right = np.where(inner, tree.left + 1, -1)
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(tree.missing_left == 1, left, right),
        "features": np.where(inner, tree.feature, -2),
        "thresholds": tree.threshold,
        "values": tree.value,
        "node_sample_weight": tree.weight,
    }


@pytest.mark.filterwarnings("ignore")
def test_values_equal_those_of_shap(boosted, rows):
    shap = pytest.importorskip("shap", reason="shap is heavy: it brings numba, pandas and a compiler's runtime")
    _, _, model = boosted
    X = rows[0][:200].astype(np.float64)
    explainer = shap.TreeExplainer({"trees": [tree_of_shap(tree) for tree in model.ensemble]})
    theirs = explainer.shap_values(X, check_additivity=False)
    np.testing.assert_allclose(shap_values(model, X), np.asarray(theirs).reshape(200, 6), atol=1e-5)
