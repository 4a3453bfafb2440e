from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import EarlyStopping, Goss, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ModelFileError, SapwoodWarning
from sapwood.model.io import serialize
from sapwood.objectives import Quantile

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=list("abc"))
LABELS = np.where(FRAME["a"] > 0, "yes", "no")
GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.sapwood"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sapwood"


def test_a_classifier_comes_back_with_everything(path):
    fitted = SapwoodClassifier(
        n_estimators=60, sampling=Goss(0.3, 0.2), early_stopping_rounds=EarlyStopping(5, "auc"),
        eval_metric=["log_loss", "auc"], class_weight={"no": 1.0, "yes": 2.0}, monotone_constraints={"a": 1},
    )  # fmt: skip
    fitted.fit(FRAME[:150], LABELS[:150], eval_set=(FRAME[150:], LABELS[150:]))
    fitted.save(path)
    loaded = SapwoodClassifier.load(path)
    assert loaded.get_params() == fitted.get_params()
    for name in ("evals_result_", "best_iteration_", "best_score_", "stopped_", "n_features_in_", "params_", "n_iter_"):
        assert getattr(loaded, name) == getattr(fitted, name), name
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert loaded.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(loaded.predict(FRAME), fitted.predict(FRAME))
    np.testing.assert_array_equal(loaded.feature_importances_, fitted.feature_importances_)
    again = loaded.fit(FRAME[:150], LABELS[:150], eval_set=(FRAME[150:], LABELS[150:]))
    assert again.model_.fingerprint() == fitted.model_.fingerprint()


def test_a_regressor_of_an_array_comes_back_without_names(path):
    fitted = SapwoodRegressor(objective=Quantile(0.9), n_estimators=3).fit(FRAME.to_numpy(), FRAME["a"])
    fitted.save(path)
    loaded = SapwoodRegressor.load(str(path))
    assert repr(loaded) == repr(fitted)
    assert not hasattr(loaded, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(loaded.predict(FRAME.to_numpy()), fitted.predict(FRAME.to_numpy()))


@pytest.mark.parametrize(
    ("kind", "other"), [(SapwoodClassifier, SapwoodRegressor), (SapwoodRegressor, SapwoodClassifier)]
)
def test_a_file_of_the_other_kind_is_refused(kind, other, path):
    kind(n_estimators=2).fit(FRAME, LABELS if kind is SapwoodClassifier else FRAME["a"]).save(path)
    with pytest.raises(ModelFileError, match=rf"model\.sapwood: .* load it with {kind.__name__}\.load"):
        other.load(path)


def test_functions_are_named_in_a_warning(path):
    SapwoodRegressor(n_estimators=2, objective=lambda y, f: (y - f) ** 2, callbacks=[str]).fit(FRAME, FRAME["a"]).save(
        path
    )
    with pytest.warns(SapwoodWarning, match=r"callbacks, objective of the estimator cannot be kept.*set_params"):
        loaded = SapwoodRegressor.load(path)
    assert loaded.get_params()["objective"] == "auto"
    assert sapwood.load(path).n_iterations == 2


def test_the_file_of_a_model_has_no_parameters_but_those_in_force(path):
    fitted = SapwoodClassifier(n_estimators=7).fit(FRAME, LABELS)
    fitted.model_.save(path)
    loaded = SapwoodClassifier.load(path)
    assert loaded.get_params()["n_estimators"] == "auto"
    assert loaded.params_["n_estimators"] == 7
    assert (loaded.best_iteration_, loaded.evals_result_, loaded.stopped_) == (7, {}, "n_estimators")


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_files_of_every_version_give_an_estimator(golden):
    model = sapwood.load(golden)
    kind = SapwoodRegressor if model.classes is None else SapwoodClassifier
    assert kind.load(golden).model_.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    "described",
    [
        7,
        {"params": [1]},
        {"params": {"n_trees": 5}},
        {"params": {"sampling": {"$option": "Popen", "settings": {"$items": []}}}},
        {"evals_result": 3},
        {"best_iteration": "many"},
    ],
    ids=str,
)
def test_a_damaged_description_is_refused_and_the_model_still_opens(described, path):
    model = SapwoodRegressor(n_estimators=2).fit(FRAME, FRAME["a"]).model_
    serialize.save(replace(model, metadata={"estimator": described}), path)
    with pytest.raises(ModelFileError, match=r"parameters in the file cannot be read.*sapwood\.load"):
        SapwoodRegressor.load(path)
    assert sapwood.load(path).fingerprint() == model.fingerprint()


def test_what_load_returns_can_be_pickled_and_saved_again(path):
    SapwoodRegressor(n_estimators=2).fit(FRAME, FRAME["a"]).save(path)
    loaded = pickle.loads(pickle.dumps(SapwoodRegressor.load(path)))
    content = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == content
