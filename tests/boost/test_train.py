"""``sapwood.train``: the engine without scikit-learn."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, InputTypeError, ParameterError
from tests.processes import PYTHONPATH


def example(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=n), "city": random.choice(["oak", "elm", "ash"], n)})
    return X, X["a"].to_numpy() + (X["city"] == "elm") + random.normal(scale=0.1, size=n)


def test_it_trains_the_model_of_the_regressor():
    X, y = example()
    params = {"n_estimators": 7, "max_leaves": 5}
    assert sapwood.train(params, X, y).fingerprint() == SapwoodRegressor(**params).fit(X, y).model_.fingerprint()


@pytest.mark.parametrize("cuts", [[0.5], [0.0, 1.0]], ids=["two classes", "three classes"])
def test_an_objective_for_classes_trains_the_model_of_the_classifier(cuts):
    X, y = example()
    labels = np.array(["low", "middle", "high"])[np.digitize(y, cuts)]
    params = {"objective": "logistic" if len(cuts) == 1 else "softmax", "n_estimators": 5, "class_weight": "balanced"}
    model = sapwood.train(params, X, labels)
    assert model.fingerprint() == SapwoodClassifier(**params).fit(X, labels).model_.fingerprint()
    assert model.classes.tolist() == sorted(set(labels.tolist()))


def test_the_history_is_written_into_a_dict():
    X, y = example()
    history: dict[str, dict[str, list[float]]] = {}
    model = sapwood.train(
        {"n_estimators": 500, "learning_rate": 0.5, "early_stopping_rounds": 3}, X[:200], y[:200],
        eval_set=(X[200:], y[200:]),
        evals_result=history,
    )  # fmt: skip
    assert len(history["validation"]["rmse"]) == model.n_iterations + 3


def test_no_parameters_are_the_defaults():
    X, y = example()
    assert sapwood.train(None, X, y).fingerprint() == sapwood.train({}, X, y).fingerprint()


def test_a_model_is_continued():
    X, y = example()
    first = sapwood.train({"n_estimators": 3}, X, y)
    assert sapwood.train({"n_estimators": 2}, X, y, init_model=first).n_iterations == 5


def test_bad_arguments_are_refused():
    X, y = example()
    with pytest.raises(InputError, match=r"sapwood\.train requires y"):
        sapwood.train({}, X, None)
    with pytest.raises(ParameterError, match="max_leaves"):
        sapwood.train({"num_leaves": 7}, X, y)
    with pytest.raises(InputTypeError, match="SapwoodClassifier"):
        sapwood.train({}, X, np.where(y > 0, "yes", "no"))


WITHOUT_SCIKIT_LEARN = """
import sys
import numpy as np
import sapwood
X = np.random.default_rng(0).normal(size=(200, 3))
for objective, y in (("squared", X[:, 0]), ("logistic", X[:, 0] > 0)):
    model = sapwood.train({"objective": objective, "n_estimators": 3}, X, y, eval_set=(X, y))
    assert len(model.predict(X)) == 200
heavy = {"sklearn", "scipy", "pandas", "narwhals", "numba"} & set(sys.modules)
assert not heavy, heavy
"""


def test_a_fresh_process_trains_and_predicts_without_scikit_learn():
    environment = os.environ | {"PYTHONPATH": PYTHONPATH, "SAPWOOD_KERNELS": "native"}
    command = [sys.executable, "-c", WITHOUT_SCIKIT_LEARN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
