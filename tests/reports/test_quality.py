"""Figures of quality and simple models to compare with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score

import sapwood
from sapwood.reports.quality import _threshold_counts


def by_name(content):
    return {entry["name"]: entry for entry in content["quality"]["metrics"]}


def test_metrics_of_a_classifier_are_those_of_scikit_learn(binary):
    content = sapwood.report(binary.model, binary.X, binary.y).to_dict()
    metrics = by_name(content)
    probability = binary.model.predict_proba(binary.X)[:, 1]
    truth = binary.y == "rich"
    assert metrics["auc"]["model"] == pytest.approx(roc_auc_score(truth, probability), rel=1e-4)
    assert metrics["log_loss"]["model"] == pytest.approx(log_loss(truth, probability), rel=1e-4)
    constant = log_loss(truth, np.full(len(truth), truth.mean()))
    assert metrics["log_loss"]["constant"] == pytest.approx(constant, rel=1e-4)
    assert content["quality"]["skill"]["constant"] == pytest.approx(
        1 - log_loss(truth, probability) / constant, rel=1e-3
    )


def test_skill_of_regression_is_a_fraction_of_the_squared_error(regression):
    content = sapwood.report(
        regression.model, regression.X, regression.y, X_train=regression.X_train, y_train=regression.y_train
    ).to_dict()
    error = mean_squared_error(regression.y, regression.model.predict(regression.X))
    constant = np.mean((regression.y - regression.y_train.mean()) ** 2)
    assert content["quality"]["skill"]["constant"] == pytest.approx(1 - error / constant, rel=1e-4)
    assert 0 < content["quality"]["skill"]["linear"] < content["quality"]["skill"]["constant"]


def test_a_linear_target_is_best_predicted_by_a_linear_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.01 * rng.normal(size=600)
    model = sapwood.SapwoodRegressor(n_estimators=10).fit(X[:300], y[:300])
    report = sapwood.report(model, X[300:], y[300:])
    assert report.to_dict()["quality"]["skill"]["linear"] < 0
    assert "A linear model is as good" in [finding["title"] for finding in report.findings]


def test_decisions_at_thresholds_are_counts_of_rows_above():
    counts = _threshold_counts(np.array([0.1, 0.5, 0.9, 0.5]), np.array([False, True, True, False]))
    assert (counts["positive"][0], counts["positive"][50], counts["positive"][51]) == (2, 2, 1)
    assert (counts["negative"][0], counts["negative"][50], counts["negative"][51]) == (2, 1, 0)


def test_classes_have_recall_and_precision():
    X = np.arange(90.0)[:, None]
    y = np.repeat(["a", "b", "c"], 30)
    model = sapwood.SapwoodClassifier(n_estimators=20, min_child_samples=5).fit(X, y)
    quality = sapwood.report(model, X, y).to_dict()["quality"]
    assert [c["rows"] for c in quality["classes"]] == [30, 30, 30]
    assert np.sum(quality["confusion"]["counts"]) == 90
    assert quality["classes"][0]["recall"] == pytest.approx(np.mean(model.predict(X[:30]) == "a"))
