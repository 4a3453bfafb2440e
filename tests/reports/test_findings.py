"""Warnings in plain words appear when there is a reason, and only then."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sapwood
from sapwood.reports.column_facts import stability_index
from sapwood.reports.evaluated_rows import Column
from tests.reports.conftest import people


def titles(report) -> list[str]:
    return [finding["title"] for finding in report.findings]


def test_healthy_data_cause_no_warning():
    X, y = people(3000)
    X = X.drop(columns="same")
    is_swapped = np.random.default_rng(0).random(3000) < 0.1
    y = np.where((X["age"] > 45) ^ X["job"].isin(["pilot", "nurse"]) ^ is_swapped, "rich", "poor")
    model = sapwood.SapwoodClassifier(n_estimators=20).fit(X[:2000], y[:2000])
    report = sapwood.report(model, X[2000:], y[2000:], X_train=X[:2000], y_train=y[:2000])
    assert [finding for finding in report.findings if finding["level"] != "note"] == []


def test_a_copy_of_the_target_is_suspected():
    X, y = people(800)
    X = X.assign(payout=(y == "rich") * 100.0 + np.random.default_rng(0).random(800))
    model = sapwood.SapwoodClassifier(n_estimators=20).fit(X[:500], y[:500])
    found = titles(sapwood.report(model, X[500:], y[500:]))
    assert found[0] == "payout may leak the target"
    assert "payout decides most predictions" in found


def test_drift_and_new_categories_are_reported():
    X, y = people(800)
    model = sapwood.SapwoodClassifier(n_estimators=5).fit(X, y)
    other = X.assign(job=np.where(np.arange(800) % 4 == 0, "astronaut", X["job"]), age=X["age"] + 40)
    report = sapwood.report(model, other, y, X_train=X, y_train=y)
    assert "Columns are distributed differently than in training" in titles(report)
    assert "Categories that did not occur in training" in titles(report)
    column = next(c for c in report.to_dict()["columns"] if c["name"] == "job")
    assert (column["unseen"], column["unseen_examples"]) == (0.25, ["astronaut"])


def test_constant_empty_and_identifying_columns_are_reported():
    X, y = people(600)
    X = X.assign(empty=np.nan, number=np.arange(600))
    model = sapwood.SapwoodClassifier(n_estimators=3).fit(X, y)
    found = {finding["title"]: finding["text"] for finding in sapwood.report(model, X, y).findings}
    assert found["Constant columns"].endswith(": same.")
    assert found["Empty columns"].endswith(": empty.")
    assert found["Columns that look like identifiers"].endswith(": number.")
    assert "Are these the training rows?" in found


def test_overfitting_is_reported():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = X[:, 0] + rng.normal(size=600)
    model = sapwood.SapwoodRegressor(n_estimators=300).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    found = titles(sapwood.report(model, X[300:], y[300:], X_train=X[:300], y_train=y[:300]))
    assert "The model fits the training rows much better than these" in found
    assert "rmse on validation grew worse again" in found


def test_probabilities_that_are_off_are_reported():
    X, y = people(2000)
    model = sapwood.SapwoodClassifier(n_estimators=1).fit(X[:1000], y[:1000])  # near the base rate for all rows
    assert "Probabilities differ from frequencies" in titles(sapwood.report(model, X[1000:], y[1000:]))
    model = sapwood.SapwoodClassifier(n_estimators=20).fit(X[:1000], y[:1000])
    assert "Probabilities differ from frequencies" not in titles(sapwood.report(model, X[1000:], y[1000:]))


def test_the_stability_index_is_the_formula():
    reference = Column("x", np.repeat([0, 1], 50), ("a", "b"))
    changed = Column("x", np.repeat([0, 1], [20, 80]), ("a", "b"))
    expected = (0.2 - 0.5) * np.log(0.2 / 0.5) + (0.8 - 0.5) * np.log(0.8 / 0.5)
    assert stability_index(changed, reference) == np.float64(expected).item()
    assert stability_index(reference, reference) == 0.0
    numbers = Column("x", np.random.default_rng(0).normal(size=1000))
    assert stability_index(numbers, numbers) == 0.0
    shifted = Column("x", numbers.values + 2.0)
    assert stability_index(shifted, numbers) > 0.25
    assert pd.isna(numbers.is_missing).sum() == 0
