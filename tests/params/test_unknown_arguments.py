"""Unknown keyword arguments of fit, predict and train: a TypeError that says how to write them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputTypeError
from sapwood.params.aliases.alias import FIT, PREDICT, SAME, all_aliases

X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0.0).astype(int)


@pytest.fixture(scope="module")
def classifier():
    return SapwoodClassifier(n_estimators=3).fit(X, y)


@pytest.mark.parametrize(
    "name, value, message",
    [
        (
            "callbacks",
            [print],
            r"did you mean SapwoodClassifier\(callbacks=...\)\? LightGBM: lightgbm.early_stopping\(n\) is ",
        ),
        ("eval_names", ["a"], r"did you mean eval_set=\{name: \(X, y\)\}\?$"),
        ("categorical_feature", [0], r"did you mean SapwoodClassifier\(categorical_features=\[0\]\)\?$"),
        ("cat_features", ["a"], r"did you mean SapwoodClassifier\(categorical_features=\['a'\]\)\?$"),
        ("verbose", False, r"did you mean SapwoodClassifier\(verbose=False\)\?$"),
        ("early_stopping_rounds", 10, r"did you mean SapwoodClassifier\(early_stopping_rounds=10\)\?$"),
        ("eval_metric", "auc", r"did you mean SapwoodClassifier\(eval_metric='auc'\)\?$"),
        ("base_margin", y, r"did you mean init_score\? XGBoost: predictions do not add it"),
        ("xgb_model", None, r"did you mean init_model\?$"),
        ("X_val", X, r"did you mean eval_set=\(X_val, y_val\)\?$"),
        (
            "feature_name",
            ["a"],
            "an argument of LightGBM that is not supported, because names are those of the columns of X;",
        ),
        ("subsample", 0.5, r"it is a parameter; use SapwoodClassifier\(subsample=0.5\)$"),
        ("num_leaves", 7, r"did you mean SapwoodClassifier\(max_leaves=7\)\?$"),
        ("n_jobs", 2, r"it is a parameter; use SapwoodClassifier\(n_jobs=2\)$"),
        ("nthread", 2, r"did you mean SapwoodClassifier\(n_jobs=...\)\? LightGBM and XGBoost: 0 there is None here"),
        ("sampel_weight", y, r"did you mean sample_weight\?$"),
        (
            "xyzzy",
            1,
            "the arguments are X, eval_sample_weight, eval_set, groups, init_model, init_score, sample_weight, y$",
        ),
    ],
)
def test_fit_translates_arguments_of_others(name, value, message):
    with pytest.raises(InputTypeError, match=rf"^SapwoodClassifier.fit\(\) got an unexpected .* '{name}': {message}"):
        SapwoodClassifier().fit(X, y, **{name: value})


PREDICTIONS = [
    ("raw_score", True, r"did you mean predict_raw\(X\)\?$"),
    ("output_margin", True, r"did you mean predict_raw\(X\)\?$"),
    ("pred_leaf", True, r"did you mean apply\(X\)\?"),
    (
        "pred_contrib",
        True,
        r"did you mean shap_values\(X\)\? LightGBM: base values, the last column there, are those of",
    ),
    ("num_iteration", 5, r"did you mean iterations=5\?"),
    ("ntree_end", 5, r"did you mean iterations=5\?"),
    ("iteration_range", (0, 5), r"did you mean iterations=n\? XGBoost: \(0, n\) is iterations=n; for \(m, n\) slice"),
    (
        "prediction_type",
        "Class",
        r"did you mean predict_raw\(X\)\? CatBoost: for \"RawFormulaVal\"; \"Class\" is predict\(X\)",
    ),
    ("validate_features", True, "of LightGBM and XGBoost that is not supported, because columns are always checked"),
    ("xyzzy", 1, "the arguments are "),
]


@pytest.mark.parametrize("name, value, message", PREDICTIONS)
def test_predictions_translate_arguments_of_others(classifier, name, value, message):
    regressor = SapwoodRegressor(n_estimators=3).fit(X, y)
    for method in (
        classifier.predict,
        classifier.predict_proba,
        classifier.predict_raw,
        regressor.predict,
        classifier.model_.predict,
        classifier.model_.predict_raw,
    ):
        with pytest.raises(InputTypeError, match=rf"{method.__name__}\(\) got an unexpected .* '{name}': .*{message}"):
            method(X, **{name: value})


def test_threads_of_a_prediction_are_a_parameter_of_the_estimator_and_an_argument_of_the_model(classifier):
    with pytest.raises(TypeError, match=r"'thread_count': did you mean SapwoodClassifier\(n_jobs=2\)\?$"):
        classifier.predict(X, thread_count=2)
    with pytest.raises(TypeError, match=r"'thread_count': did you mean n_jobs\?$"):
        classifier.model_.predict(X, thread_count=2)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("num_boost_round", 100, r"did you mean params=\{'n_estimators': 100\}\?$"),
        ("early_stopping_rounds", 5, r"did you mean params=\{'early_stopping_rounds': 5\}\?$"),
        ("valid_sets", [], r"did you mean eval_set=\[\(X, y\)\]\?$"),
        ("evals", [], r"did you mean eval_set=\{name: \(X, y\)\}\?$"),
        ("obj", "poisson", r"did you mean params=\{'objective': ...\}\? XGBoost: a function of \(y, score\)"),
        ("max_depth", 3, r"it is a parameter; use params=\{'max_depth': 3\}$"),
        ("top_rate", 0.1, r"did you mean params=\{'sampling': Goss\(top=0.1\)\}\?$"),
    ],
)
def test_train_translates_arguments_of_others(name, value, message):
    with pytest.raises(InputTypeError, match=rf"^train\(\) got an unexpected keyword argument '{name}': {message}"):
        sapwood.train({}, X, y, **{name: value})


def test_every_argument_of_others_is_refused_with_a_translation(classifier):
    for alias in all_aliases():
        if alias.kind not in (FIT, PREDICT) or alias.ours == SAME:
            continue
        method = classifier.fit if alias.kind == FIT else classifier.predict
        for name in alias.names:
            with pytest.raises(InputTypeError) as error:
                method(X, **{name: 1}) if alias.kind == PREDICT else method(X, y, **{name: 1})
            assert "the arguments are" not in str(error.value)


def test_signatures_are_explicit(classifier):
    kinds = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    for function in (
        classifier.fit,
        classifier.predict,
        classifier.predict_proba,
        sapwood.train,
        sapwood.Model.predict,
    ):
        assert all(one.kind not in kinds for one in inspect.signature(function).parameters.values())
    requests = set(inspect.signature(SapwoodClassifier.set_fit_request).parameters) - {"self"}
    assert requests == {"eval_sample_weight", "eval_set", "groups", "init_model", "init_score", "sample_weight"}


def test_positional_arguments_still_work(classifier):
    assert np.array_equal(classifier.predict(X, 2), classifier.predict(X, iterations=2))
    with pytest.raises(TypeError, match="positional"):
        classifier.predict(X, 2, 3)
