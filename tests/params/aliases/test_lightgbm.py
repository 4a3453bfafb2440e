"""Every name of the installed LightGBM is translated or declined."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.params.aliases.alias import FIT, OBJECTIVE, PARAMETER, PREDICT
from sapwood.params.resolve import check_value
from tests.params.aliases.peers import arguments, check_all_explained, methods, rows
from tests.params.aliases.same_results import (
    LEARNING_RATE,
    METRICS,
    N_ROUNDS,
    OBJECTIVES,
    check_metric,
    check_objective,
)

lightgbm = pytest.importorskip("lightgbm")
ESTIMATORS = (lightgbm.LGBMClassifier, lightgbm.LGBMRegressor, lightgbm.LGBMRanker)


def test_all_parameters_are_explained():
    from lightgbm.basic import _ConfigAliases

    synonyms = _ConfigAliases._get_all_param_aliases()
    native = {name for names in synonyms.values() for name in names}
    check_all_explained("LightGBM", PARAMETER, native | arguments(*methods("__init__", *ESTIMATORS)))


def test_all_arguments_of_fit_and_train_are_explained():
    functions = [*methods("fit", *ESTIMATORS), lightgbm.train]
    check_all_explained("LightGBM", FIT, arguments(*functions))


def test_all_arguments_of_predict_are_explained():
    functions = [*methods("predict", *ESTIMATORS, lightgbm.Booster), *methods("predict_proba", *ESTIMATORS)]
    check_all_explained("LightGBM", PREDICT, arguments(*functions))


@pytest.mark.parametrize("name", [name for row in rows("LightGBM", OBJECTIVE) for name in row.names])
def test_every_objective_of_the_table_exists(name):
    X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
    needs_rows = "rank" in name or "ndcg" in name or "xendcg" in name
    data = lightgbm.Dataset(X, y + (name == "gamma"), group=[4, 4] if needs_rows else None)
    n_classes = 2 if name in ("multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr") else 1
    lightgbm.Booster({"objective": name, "num_class": n_classes, "verbose": -1}, data)


@pytest.mark.parametrize("name", OBJECTIVES["LightGBM"])
def test_accepted_objectives_mean_the_same(name):
    def predict(X, y, task):
        params = {"objective": name, "learning_rate": LEARNING_RATE, "num_class": 3 if task == "multiclass" else 1}
        quiet = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1}
        return lightgbm.train({**params, **quiet}, lightgbm.Dataset(X, y), N_ROUNDS).predict(X)

    check_objective(name, predict)


@pytest.mark.parametrize("name", METRICS["LightGBM"])
def test_accepted_metrics_mean_the_same(name):
    def evaluate(y, prediction, task):
        # An objective with an identity link keeps the initial scores, our predictions, as they are.
        scores, params = prediction, {"objective": "regression", "metric": name, "boost_from_average": False}
        if task in ("binary", "probability"):
            scores = np.log(prediction / (1.0 - prediction))
            params["objective"] = "binary" if task == "binary" else "cross_entropy"
        elif task == "multiclass":
            scores = np.log(prediction)
            params |= {"objective": "multiclass", "num_class": 3}
        data = lightgbm.Dataset(np.zeros((len(y), 1)), y, init_score=scores.ravel(order="F"))
        booster = lightgbm.Booster({**params, "verbose": -1}, data)
        ((_, _, value, _),) = booster.eval_train()
        return value

    check_metric(name, evaluate)


def test_callbacks_are_refused_with_the_parameters_to_use():
    with pytest.raises(
        ValueError, match="callbacks: a _EarlyStoppingCallback of lightgbm is not supported; use a func"
    ):
        check_value("callbacks", [lightgbm.early_stopping(5)])
