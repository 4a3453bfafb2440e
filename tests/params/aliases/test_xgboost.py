"""Every name of the installed XGBoost is translated or declined."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from sapwood.params.aliases.alias import FIT, METRIC, OBJECTIVE, PARAMETER, PREDICT
from tests.params.aliases.peers import arguments, check_all_explained, methods, rows
from tests.params.aliases.same_results import (
    LEARNING_RATE,
    METRICS,
    N_ROUNDS,
    OBJECTIVES,
    check_metric,
    check_objective,
)

xgboost = pytest.importorskip("xgboost")
ESTIMATORS = (
    xgboost.XGBModel, xgboost.XGBClassifier, xgboost.XGBRegressor, xgboost.XGBRanker, xgboost.XGBRFClassifier,
    xgboost.XGBRFRegressor,
)  # fmt: skip
# Settings that make XGBoost show its parameters; they are in documents too, but not in a signature.
CONFIGURATIONS = (
    {}, {"booster": "dart"}, {"booster": "gblinear"}, {"tree_method": "approx"}, {"tree_method": "exact"},
    {"objective": "reg:quantileerror", "quantile_alpha": 0.5}, {"objective": "reg:tweedie"},
    {"objective": "reg:pseudohubererror"}, {"objective": "count:poisson"}, {"objective": "rank:ndcg"},
    {"objective": "survival:aft"}, {"objective": "multi:softprob", "num_class": 2},
)  # fmt: skip
LABELS_OR_OLD = {"binary:hinge", "reg:linear"}  # it predicts labels, or warns that it is deprecated
NOT_PARAMETERS = {"num_trees", "updater_seq"}  # counts that a model writes beside its parameters


def parameters_of(config):
    """Yield the names of parameters in a configuration: they are in dicts whose names end with _param."""
    for key, value in config.items():
        if key.endswith("_param"):
            yield from value
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                yield from parameters_of(one)


def native_parameters():
    X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
    data = xgboost.DMatrix(X, y, label_lower_bound=y + 1, label_upper_bound=y + 1)
    configs = [json.loads(xgboost.train(params, data, 1).save_config()) for params in CONFIGURATIONS]
    return {name for config in configs for name in parameters_of(config)} - NOT_PARAMETERS


def test_all_parameters_are_explained():
    check_all_explained("XGBoost", PARAMETER, native_parameters() | arguments(*methods("__init__", *ESTIMATORS)))


def test_all_arguments_of_fit_and_train_are_explained():
    check_all_explained("XGBoost", FIT, arguments(*methods("fit", *ESTIMATORS), xgboost.train))


def test_all_arguments_of_predict_are_explained():
    functions = [*methods("predict", *ESTIMATORS, xgboost.Booster), *methods("predict_proba", *ESTIMATORS)]
    check_all_explained("XGBoost", PREDICT, arguments(*functions))


def test_all_objectives_are_explained():
    X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
    with pytest.raises(xgboost.core.XGBoostError) as error:
        xgboost.train({"objective": "unknown"}, xgboost.DMatrix(X, y), 1)
    check_all_explained("XGBoost", OBJECTIVE, re.findall(r"Objective candidate: (\S+)", str(error.value)))


@pytest.mark.parametrize("name", [name for row in rows("XGBoost", METRIC) for name in row.names if name != "expectile"])
def test_every_metric_of_the_table_exists(name):
    X, y = np.arange(8.0)[:, None], np.tile([0, 1], 4)
    data = xgboost.DMatrix(X, y, label_lower_bound=y + 1, label_upper_bound=y + 1)
    metric = {"ams": "ams@0.5", "tweedie-nloglik": "tweedie-nloglik@1.5"}.get(name, name)
    try:
        xgboost.train({"eval_metric": metric}, data, 1, evals=[(data, "a")], verbose_eval=False)
    except xgboost.core.XGBoostError as error:
        assert "Unknown metric" not in str(error)


@pytest.mark.parametrize("name", sorted(set(OBJECTIVES["XGBoost"]) - LABELS_OR_OLD))
def test_accepted_objectives_mean_the_same(name):
    def predict(X, y, task):
        params = {"objective": name, "eta": LEARNING_RATE, "lambda": 0.0, "min_child_weight": 0.0, "nthread": 1}
        if task == "multiclass":
            params["num_class"] = 3
        booster = xgboost.train(params, xgboost.DMatrix(X, y), N_ROUNDS)
        if name == "multi:softmax":
            margin = booster.predict(xgboost.DMatrix(X), output_margin=True)
            return np.exp(margin) / np.exp(margin).sum(axis=1, keepdims=True)
        return booster.predict(xgboost.DMatrix(X))

    check_objective(name, predict)


@pytest.mark.parametrize("name", METRICS["XGBoost"])
def test_accepted_metrics_mean_the_same(name):
    def evaluate(y, prediction, task):
        params, scores = {"objective": "reg:squarederror"}, prediction
        if task in ("binary", "probability"):
            params["objective"], scores = "reg:logistic", np.log(prediction / (1.0 - prediction))
        elif task == "multiclass":
            params, scores = {"objective": "multi:softprob", "num_class": 3}, np.log(prediction)
        data = xgboost.DMatrix(np.zeros((len(y), 1)), y, base_margin=scores)
        booster = xgboost.Booster({**params, "eval_metric": name}, [data])
        return float(booster.eval(data).rpartition(":")[2])

    check_metric(name, evaluate)
