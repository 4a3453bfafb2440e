"""``Model.info``: what a model is and how it was trained."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import Dart, SapwoodClassifier
from tests.processes import ROOT


@pytest.fixture(scope="module")
def fitted():
    table = pd.DataFrame({"number": np.arange(300.0) % 37, "city": ["Rome", "Oslo", "Lima"] * 100})
    labels = np.where(table["number"] > 17, "high", "low")
    settings = {"n_estimators": 30, "early_stopping_rounds": 5, "boosting": Dart(0.2), "random_state": 3}
    return SapwoodClassifier(**settings).fit(table, labels)


def test_it_says_what_was_trained_on_what(fitted):
    info = fitted.model_.info()
    assert (info["objective"], info["link"], info["classes"]) == ("logistic", "logit", ["high", "low"])
    assert (info["n_rows"], info["n_features"], info["eval_sets"]) == (270, 2, {"validation": 30})
    assert (info["feature_names"], info["categorical_features"]) == (["number", "city"], ["city"])
    assert info["encodings"]["city"]["encoding"] == ["partition"]


def test_it_says_how_training_went(fitted):
    info = fitted.model_.info()
    assert info["stopped"] == fitted.stopped_
    assert (info["best_iteration"], info["best_score"]) == (fitted.best_iteration_, fitted.best_score_)
    assert info["monitored"] == "log_loss of validation"
    assert info["n_iterations"] == info["n_trees"] == fitted.n_iter_
    assert info["n_leaves"] == sum(int((tree.feature < 0).sum()) for tree in fitted.model_.ensemble)
    assert info["fingerprint"] == fitted.model_.fingerprint()
    assert info["trained_with"] == f"sapwood {sapwood.__version__}"


def test_it_has_all_parameters_in_force_that_decide_the_model(fitted):
    params = fitted.model_.info()["params"]
    left_out = {"n_jobs", "verbose", "on_interrupt", "checkpoint", "checkpoint_every"}
    assert set(fitted.params_) - set(params) == left_out
    assert (params["random_state"], params["learning_rate"], params["objective"]) == (3, 0.1, "logistic")
    assert params["boosting"].startswith("Dart(drop=0.2, ")


def test_it_survives_files_and_pickles_and_is_json(fitted, tmp_path):
    info = fitted.model_.info()
    fitted.save(tmp_path / "model.sapwood")
    assert sapwood.load(tmp_path / "model.sapwood").info() == info
    assert pickle.loads(pickle.dumps(fitted.model_)).info() == info
    assert json.loads(json.dumps(info)) == info


def test_two_fits_with_different_threads_have_the_same_information():
    X = np.arange(200.0)[:, None]
    one, two = (sapwood.train({"n_estimators": 3, "n_jobs": n}, X, X[:, 0]).info() for n in (1, 2))
    assert one == two


def test_a_slice_counts_its_own_rounds(fitted):
    info = fitted.model_[:2].info()
    assert (info["n_iterations"], info["best_iteration"]) == (2, fitted.best_iteration_)


def test_a_file_of_an_earlier_version_lacks_how_training_went():
    info = sapwood.load(ROOT / "tests" / "golden" / "v1-binary.sapwood").info()
    assert info["stopped"] is None
    assert info["n_trees"] > 0
