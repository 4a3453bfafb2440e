"""Messages for unknown parameters, objectives and metrics: every error leads to the name to use."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.metrics.registry import resolve_metric
from sapwood.objectives import Quantile
from sapwood.objectives.registry import resolve
from sapwood.params.declaration import FIELDS
from sapwood.params.unknown_names import unknown_parameter


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("num_leaves", "max_leaves"),
        ("eta", "learning_rate"),
        ("lambda", "reg_lambda"),
        ("nthread", "n_jobs"),
        ("iterations", "n_estimators"),
        ("depth", "max_depth"),
        ("l2_leaf_reg", "reg_lambda"),
        ("min_data_in_leaf", "min_child_samples"),
        ("num_boost_round", "n_estimators"),
        ("gamma", "min_split_gain"),
        ("border_count", "max_bins"),
        ("max_iter", "n_estimators"),
        ("l2_regularization", "reg_lambda"),
        ("max_leafs", "max_leaves"),
        ("lerning_rate", "learning_rate"),
        ("Max_Depth", "max_depth"),
    ],
)
def test_a_foreign_or_misspelt_parameter_gets_the_one_to_use(wrong, right):
    assert f"unknown parameter {wrong}: did you mean {right}?" in unknown_parameter(wrong)


def test_a_parameter_like_none_lists_the_parameters():
    assert unknown_parameter("xyzzy").endswith("the parameters are " + ", ".join(sorted(FIELDS)))


@pytest.mark.parametrize("objective", ["quantile", "reg:quantileerror", "Quantile:alpha=0.5", Quantile()])
def test_alpha_with_a_quantile_loss_is_its_level(objective):
    message = r"alpha: did you mean objective=Quantile\(0.9\)\?"
    with pytest.raises(TypeError, match=message):
        SapwoodRegressor(objective=objective, alpha=0.9)
    with pytest.raises(ParameterError, match=message):
        SapwoodRegressor(objective=objective).set_params(alpha=0.9)


def test_alpha_with_a_quantile_loss_is_its_level_in_the_params_of_train():
    with pytest.raises(ParameterError, match=r"alpha: did you mean objective=Quantile\(0.9\)\?"):
        sapwood.train({"objective": "quantile", "alpha": 0.9}, np.zeros((30, 1)), np.arange(30.0))


def test_alpha_alone_has_all_its_meanings():
    message = unknown_parameter("alpha", given={"alpha": 0.9})
    assert "LightGBM and scikit-learn: use objective=Quantile(0.9) (with the quantile loss;" in message
    assert "LightGBM: use objective=Huber(0.9)" in message
    assert "XGBoost: use reg_alpha." in message


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("quantile_alpha", 0.9, r"did you mean objective=Quantile\(0.9\)\?$"),
        ("quantile", 0.9, r"did you mean objective=Quantile\(0.9\)\?$"),
        ("tweedie_variance_power", 1.2, r"did you mean objective=Tweedie\(1.2\)\?$"),
        (
            "subsample_for_bin",
            9,
            r"of LightGBM that is not supported, because bin edges .* 200,000 rows, .*; leave it out.$",
        ),
        ("gamma", 1.0, r"did you mean min_split_gain\? XGBoost: use half of the value, because .* factor ½"),
        ("bagging_fraction", 0.5, r"did you mean subsample\? LightGBM: there it has no effect without bagging_freq;"),
        ("bagging_freq", 1, "not supported, because rows are drawn again in every round; set subsample alone.$"),
        ("scale_pos_weight", 3, r"did you mean class_weight=\{0: 1, 1: 3\}\?"),
        ("top_rate", np.float64(0.3), r"did you mean sampling=Goss\(top=0.3\)\?$"),
        ("tol", 0.5, r"did you mean early_stopping_rounds=EarlyStopping\(rounds, min_delta=0.5\)\?$"),
        ("max_bin", 63, r"did you mean max_bins\? XGBoost: the default there is 256. CatBoost: one more: 254 borders"),
        ("top_rate", np.zeros(3), r"did you mean sampling=Goss\(top=top_rate\)\?$"),
        ("use_missing", False, "not supported, because missing values are always handled, .*; impute them "),
    ],
)
def test_a_parameter_of_others_gets_its_translation_or_the_reason(name, value, message):
    with pytest.raises(TypeError, match=f"^unknown parameter {name}: .*{message}"):
        SapwoodClassifier(**{name: value})


def test_a_regressor_has_no_class_weights_under_any_name():
    with pytest.raises(TypeError, match="class_weight: it is a parameter of SapwoodClassifier only"):
        SapwoodRegressor(class_weight="balanced")
    with pytest.raises(
        TypeError, match="scale_pos_weight: its counterpart class_weight is a parameter of SapwoodClassif"
    ):
        SapwoodRegressor(scale_pos_weight=3)


@pytest.mark.parametrize(
    "name, ours",
    [
        ("binary", "logistic"),
        ("Logloss", "logistic"),
        ("binary:logistic", "logistic"),
        ("regression", "squared"),
        ("RMSE", "squared"),
        ("reg:squarederror", "squared"),
        ("regression_l1", "absolute"),
        ("MAE", "absolute"),
        ("Poisson", "poisson"),
        ("count:poisson", "poisson"),
        ("multi:softprob", "softmax"),
        ("MultiClass", "softmax"),
        ("multiclassova", "one_vs_all"),
    ],
)
def test_an_objective_that_means_the_same_is_accepted(name, ours):
    assert resolve(name).name == ours


@pytest.mark.parametrize(
    "name, message",
    [
        ("Quantile:alpha=0.9", r"did you mean objective=Quantile\(0.9\)\?$"),
        ("MultiQuantile:alpha=0.1,0.9", r"did you mean objective=Quantile\(\[0.1,0.9\]\)\?$"),
        ("Huber:delta=2;other=3", r"did you mean objective=Huber\(2\)\?$"),
        ("reg:quantileerror", r"did you mean objective=Quantile\(0.9\)\? XGBoost: with your value of quantile_alpha.$"),
        ("rank:ndcg", "an objective of XGBoost that is not supported, because there is no ranking objective; use "),
        ("Logloss:border=0.5", "settings after ':' are not supported; did you mean 'logistic'"),
        ("regressio", "is not known; did you mean 'regression'. allowed is a function of "),
        ("xyzzy", "is not known; allowed is a function of "),
    ],
)
def test_another_objective_gets_its_translation_or_the_reason(name, message):
    with pytest.raises(ParameterError, match=f"^objective '{name}':? {message}"):
        resolve(name)


@pytest.mark.parametrize(
    "name, ours",
    [
        ("AUC", "auc"),
        ("RMSE", "rmse"),
        ("Logloss", "log_loss"),
        ("mlogloss", "log_loss"),
        ("binary_logloss", "log_loss"),
        ("l2", "mse"),
        ("l2_root", "rmse"),
        ("Accuracy", "accuracy"),
        ("merror", "error"),
        ("error@0.7", "error@0.7"),
    ],
)
def test_a_metric_that_means_the_same_is_accepted(name, ours):
    assert resolve_metric(name).name == ours


@pytest.mark.parametrize(
    "name, message",
    [
        ("d2_log_loss_score", 'did you mean eval_metric="log_loss"[?] scikit-learn: less is better.$'),
        ("tweedie-nloglik@1.2", 'did you mean eval_metric="tweedie_deviance@1.2"[?]'),
        ("Quantile:alpha=0.9", 'did you mean eval_metric="quantile@0.9"[?]$'),
        ("ndcg@5", "a metric of LightGBM, XGBoost and CatBoost that is not supported, because there are no ranking "),
        ("AUC:type=Ranking", "settings after ':' are not supported; did you mean 'auc'[?]$"),
        ("rsme", "is not known; did you mean 'rmse'[?] allowed is a function or one of "),
    ],
)
def test_another_metric_gets_its_translation_or_the_reason(name, message):
    with pytest.raises(ParameterError, match=f"^metric '{name}':? {message}"):
        resolve_metric(name)


def test_unknown_names_are_reported_before_an_unknown_objective():
    with pytest.raises(
        ParameterError, match=r"^unknown parameter quantile_alpha: did you mean objective=Quantile\(0.9\)"
    ):
        sapwood.train({"objective": "reg:quantileerror", "quantile_alpha": 0.9}, np.zeros((30, 1)), np.arange(30.0))
