"""Every name of the installed CatBoost is translated or declined."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT
from tests.params.aliases.peers import arguments, check_all_explained, methods
from tests.params.aliases.same_results import (
    LEARNING_RATE,
    METRICS,
    N_ROUNDS,
    OBJECTIVES,
    check_metric,
    check_objective,
)

catboost = pytest.importorskip("catboost")
eval_metric = pytest.importorskip("catboost.utils").eval_metric
ESTIMATORS = (catboost.CatBoostClassifier, catboost.CatBoostRegressor, catboost.CatBoostRanker, catboost.CatBoost)


def losses():
    """Return the names of losses, which CatBoost lists in the error for an unknown one."""
    with pytest.raises(catboost.CatBoostError) as error:
        train({"loss_function": "unknown"}, np.arange(4.0)[:, None], [0, 1, 0, 1])
    return re.findall(r"'(\w+)'", str(error.value).partition("Valid options")[2])


def train(params, X, y):
    params = {"allow_writing_files": False, "silent": True, "thread_count": 1, "l2_leaf_reg": 0.0, **params}
    return catboost.CatBoost(params).fit(X, y)


def test_all_parameters_are_explained():
    check_all_explained("CatBoost", PARAMETER, arguments(*methods("__init__", *ESTIMATORS)) - {"params"})


def test_all_arguments_of_fit_and_train_are_explained():
    check_all_explained("CatBoost", FIT, arguments(*methods("fit", *ESTIMATORS), catboost.train))


def test_all_arguments_of_predict_are_explained():
    functions = [*methods("predict", *ESTIMATORS), *methods("predict_proba", *ESTIMATORS)]
    check_all_explained("CatBoost", PREDICT, arguments(*functions))


def test_all_objectives_are_explained():
    check_all_explained("CatBoost", OBJECTIVE, losses())


def test_all_metrics_are_explained():
    classes = {
        name
        for name, one in vars(catboost.metrics).items()
        if isinstance(one, type) and issubclass(one, catboost.metrics.BuiltinMetric)
    }
    check_all_explained("CatBoost", METRIC, {*losses(), *classes} - {"BuiltinMetric"})


@pytest.mark.parametrize("name", OBJECTIVES["CatBoost"])
def test_accepted_objectives_mean_the_same(name):
    def predict(X, y, task):
        params = {"loss_function": name, "learning_rate": LEARNING_RATE, "iterations": N_ROUNDS, "bootstrap_type": "No"}
        model = train(params, X, y)
        if task in ("binary", "multiclass", "probability"):
            probability = model.predict(X, prediction_type="Probability")
            return probability if task == "multiclass" else probability[:, 1]
        return model.predict(X, prediction_type="Exponent" if name == "Poisson" else "RawFormulaVal")

    check_objective(name, predict)


@pytest.mark.parametrize("name", METRICS["CatBoost"])
def test_accepted_metrics_mean_the_same(name):
    def evaluate(y, prediction, task):
        scores = prediction
        if task in ("binary", "probability"):
            scores = np.log(prediction / (1.0 - prediction))
        elif task == "multiclass":
            scores = np.log(prediction)
        return eval_metric(y, scores, name)[0]

    check_metric(name, evaluate)
