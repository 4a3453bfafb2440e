"""A preset is what its library does when nothing is said."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from sapwood import Dart, Goss, Partition, SapwoodRegressor
from sapwood.params.resolve import resolve_params


def preset(name: str):
    return resolve_params({"preset": name}, 100_000, "regression")


def default_of(function, name: str):
    return inspect.signature(function).parameters[name].default


def test_gbdt_is_scikit_learns_gradient_boosting():
    params = preset("gbdt")
    assert params.boost.n_estimators == default_of(GradientBoostingRegressor, "n_estimators")
    assert params.boost.learning_rate == default_of(GradientBoostingRegressor, "learning_rate")
    assert params.boost.subsample == default_of(GradientBoostingRegressor, "subsample")
    assert params.tree.max_depth == default_of(GradientBoostingRegressor, "max_depth")
    assert params.tree.min_child_samples == default_of(GradientBoostingRegressor, "min_samples_leaf")
    assert params.tree.max_leaves == 2**params.tree.max_depth
    assert (params.tree.growth, params.tree.reg_lambda, params.tree.reg_alpha) == ("levelwise", 0.0, 0.0)
    assert (params.tree.min_child_weight, params.tree.min_split_gain) == (0.0, 0.0)


def test_lightgbm_is_lightgbms_documented_defaults():
    lightgbm = pytest.importorskip("lightgbm")
    params, defaults = preset("lightgbm"), lightgbm.LGBMRegressor().get_params()
    assert params.boost.n_estimators == defaults["n_estimators"]
    assert params.boost.learning_rate == defaults["learning_rate"]
    assert params.boost.subsample == defaults["subsample"]
    assert params.tree.max_leaves == defaults["num_leaves"]
    assert params.tree.max_depth is None and defaults["max_depth"] == -1
    assert params.tree.min_child_samples == defaults["min_child_samples"]
    assert params.tree.min_child_weight == defaults["min_child_weight"]
    assert params.tree.min_split_gain == defaults["min_split_gain"]
    assert (params.tree.reg_lambda, params.tree.reg_alpha) == (defaults["reg_lambda"], defaults["reg_alpha"])
    assert params.tree.colsample_bytree == defaults["colsample_bytree"]
    assert (params.tree.growth, params.binning.max_bins) == ("leafwise", 255)
    divided = Partition()
    assert (divided.smoothing, divided.penalty, divided.max_levels) == (10.0, 10.0, 32)  # cat_smooth, cat_l2, ...
    assert params.categories.one_hot_max == 4  # max_cat_to_onehot
    assert (Goss().top, Goss().other, Dart()) == (0.2, 0.1, Dart(drop=0.1, skip=0.5, max_drop=50, weighted=False))


def test_xgboost_is_xgboosts_documented_defaults():
    params = preset("xgboost")
    assert (params.boost.n_estimators, params.boost.learning_rate, params.boost.subsample) == (100, 0.3, 1.0)
    assert (params.tree.growth, params.tree.max_depth, params.tree.max_leaves) == ("levelwise", 6, 64)
    assert (params.tree.min_child_weight, params.tree.min_child_samples) == (1.0, 1)
    assert (params.tree.reg_lambda, params.tree.reg_alpha, params.tree.min_split_gain) == (1.0, 0.0, 0.0)
    assert (params.tree.colsample_bytree, params.tree.colsample_bylevel, params.tree.colsample_bynode) == (1, 1, 1)


def table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.integers(0, 60, size=(1500, 6)).astype(np.float64)  # few values: every library cuts between the same
    return X, np.sin(X[:, 0] / 9) * X[:, 1] + X[:, 2] + 5 * random.normal(size=len(X))


def closeness(ours: np.ndarray, theirs: np.ndarray, y: np.ndarray) -> float:
    """How far our training loss is from theirs, as a part of it."""
    mine, other = np.mean((ours - y) ** 2), np.mean((theirs - y) ** 2)
    return float(abs(mine / other - 1))


def test_gbdt_reaches_scikit_learns_training_loss():
    X, y = table()
    theirs = GradientBoostingRegressor(random_state=0).fit(X, y).predict(X)
    assert closeness(SapwoodRegressor(preset="gbdt").fit(X, y).predict(X), theirs, y) < 0.005


def test_xgboost_reaches_xgboosts_training_loss():
    xgboost = pytest.importorskip("xgboost")
    X, y = table()
    theirs = xgboost.XGBRegressor().fit(X, y).predict(X)
    assert closeness(SapwoodRegressor(preset="xgboost").fit(X, y).predict(X), theirs, y) < 0.005


def test_lightgbm_reaches_lightgbms_training_loss():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = table()
    theirs = lightgbm.LGBMRegressor(verbose=-1).fit(X, y).predict(X)
    assert closeness(SapwoodRegressor(preset="lightgbm").fit(X, y).predict(X), theirs, y) < 0.005
