"""Models in notebooks."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sapwood


def test_a_model_shows_its_size_classes_and_features():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 12)), columns=[f"<i>{'long ' * 12}{k}" for k in range(12)])
    y = np.digitize(X.iloc[:, 3], [-1, -0.5, 0.5, 1])
    model = sapwood.SapwoodClassifier(n_estimators=4).fit(X[:150], y[:150], eval_set=(X[150:], y[150:])).model_
    shown = model._repr_html_()
    assert "classes 0, 1, 2, 3, …" in shown
    assert "12 columns, 4 rounds, 20 trees" in shown
    assert "150 rows" in shown and "best round" in shown
    assert "&lt;i&gt;long" in shown and "<i>" not in shown
    assert "and 4 more columns" in shown


def test_a_loaded_model_shows_the_same(tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = sapwood.train({"n_estimators": 3}, X, X[:, 0])
    model.save(tmp_path / "model.sapwood")
    assert sapwood.load(tmp_path / "model.sapwood")._repr_html_() == model._repr_html_()
