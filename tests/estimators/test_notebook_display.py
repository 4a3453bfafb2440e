"""Estimators and models in notebooks, alone and in pipelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import sapwood

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(100, 2)), columns=["<script>hacked()</script>", "b"])
Y = X["b"].to_numpy()


def test_a_fitted_estimator_shows_scikit_learns_diagram_and_its_model():
    model = sapwood.SapwoodRegressor(n_estimators=7).fit(X, Y)
    shown = model._repr_html_()
    assert "SapwoodRegressor" in shown and "Fitted model" in shown
    assert "7 rounds" in shown and model.model_.fingerprint()[:16] in shown
    assert model._repr_mimebundle_()["text/html"].count("Fitted model") == 1
    assert "<script>hacked" not in shown


def test_an_unfitted_estimator_shows_the_diagram_alone():
    shown = sapwood.SapwoodClassifier()._repr_html_()
    assert "SapwoodClassifier" in shown
    assert "Fitted model" not in shown


def test_a_pipeline_shows_the_diagram_of_its_steps():
    pipeline = make_pipeline(StandardScaler(), sapwood.SapwoodRegressor(n_estimators=2))
    pipeline.fit(X.to_numpy(), Y)
    shown = estimator_html_repr(pipeline)
    assert "StandardScaler" in shown and "SapwoodRegressor" in shown
    assert "Fitted model" not in shown


def test_text_is_shown_where_scikit_learn_is_set_to_text():
    model = sapwood.SapwoodRegressor(n_estimators=2).fit(X, Y)
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_an_estimator_that_starts_from_another_names_it():
    model = sapwood.SapwoodRegressor(n_estimators=2, init=LinearRegression()).fit(X, Y)
    assert "LinearRegression" in model._repr_html_()


@pytest.mark.filterwarnings("ignore::sapwood.errors.NoSplitWarning")
def test_a_model_without_splits_has_no_bars():
    model = sapwood.SapwoodRegressor(n_estimators=1).fit(np.zeros((40, 2)), np.arange(40.0)).model_
    assert "importance" not in model._repr_html_()
