"""Effects, interactions and explained rows."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood


def test_contributions_of_a_row_lead_from_the_average_to_its_score(binary):
    content = sapwood.report(binary.model, binary.X, binary.y).to_dict()
    scores = binary.model.predict_raw(binary.X)
    for row in content["rows"]:
        assert row["score"] == pytest.approx(scores[row["row"]], abs=1e-4)
        total = row["base"] + sum(part["contribution"] for part in row["parts"]) + row["rest"]
        assert total == pytest.approx(row["score"], abs=1e-4)


def test_importances_are_mean_absolute_contributions_with_errors(regression):
    content = sapwood.report(regression.model, regression.X, regression.y).to_dict()
    values = np.abs(regression.model.shap_values(regression.X))
    first = content["importances"]["features"][0]
    assert first["name"] == "f0"
    assert first["contribution"] == pytest.approx(values[:, 0].mean(), rel=1e-4)
    assert first["error"] == pytest.approx(values[:, 0].std() / np.sqrt(len(values)), rel=1e-4)


def test_bins_have_the_means_of_their_rows(binary):
    content = sapwood.report(binary.model, binary.X, binary.y).to_dict()
    effect = next(e for e in content["effects"] if e["name"] == "job")
    k = [b["label"] for b in effect["bins"]].index("pilot")
    chosen = (binary.X["job"] == "pilot").to_numpy()
    assert effect["rows"][k] == chosen.sum()
    assert effect["target"][k] == pytest.approx(np.mean(binary.y[chosen] == "rich"), rel=1e-4)
    assert effect["prediction"][k] == pytest.approx(binary.model.predict_proba(binary.X)[chosen, 1].mean(), rel=1e-4)
    age = next(e for e in content["effects"] if e["name"] == "age")
    assert age["bins"][-1]["label"] == "missing"
    assert age["rows"][-1] == binary.X["age"].isna().sum()
    assert sum(age["rows"]) == len(binary.X)


def test_a_product_is_the_strongest_interaction(regression):
    found = sapwood.report(regression.model, regression.X, regression.y).to_dict()["interactions"]
    first, *others = found["pairs"]
    assert "f1" in first["name"] and "f2" in first["name"]
    assert first["strength"] > 2 * max(pair["strength"] for pair in others)
    values = np.abs(regression.model.shap_interaction_values(regression.X[: found["n_rows"]]))
    assert first["strength"] == pytest.approx(2 * values[:, 1, 2].mean(), rel=1e-4)


def test_permutation_has_errors(regression):
    features = sapwood.report(regression.model, regression.X, regression.y).to_dict()["importances"]["features"]
    assert features[0]["permutation"] > 10 * features[0]["permutation_error"] > 0


def test_trees_name_their_conditions(binary):
    tree = sapwood.report(binary.model, binary.X, binary.y).to_dict()["trees"][0]
    assert tree["nodes"][0]["rows"] == 800
    assert tree["nodes"][0]["condition"].startswith(("age ", "job "))
