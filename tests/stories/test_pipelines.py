"""Pipelines and meta-estimators of scikit-learn around Sapwood, as its user guide shows them."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import FixedThresholdClassifier, GroupKFold, TunedThresholdClassifierCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from sapwood import SapwoodClassifier, SapwoodRegressor
from tests.stories.people import QUICK, people

NUMBERS = make_column_selector(dtype_include=np.number)
CATEGORIES = make_column_selector(dtype_include="category")


def test_scaled_numbers_beside_categories_as_a_data_frame():
    X, y, X_test, y_test = people()
    scale = ColumnTransformer([("scaled", StandardScaler(), NUMBERS)], remainder="passthrough")
    model = make_pipeline(scale.set_output(transform="pandas"), SapwoodClassifier(**QUICK)).fit(X, y)
    assert model.score(X_test, y_test) > 0.75
    assert model[-1].feature_names_in_[0] == "scaled__age"
    assert "remainder__race" in model[-1].model_.encodings


def test_scaled_numbers_in_polars():
    X, y, X_test, y_test = people("polars")
    scale = ColumnTransformer([("scaled", StandardScaler(), ["age"])], remainder="passthrough")
    model = make_pipeline(scale.set_output(transform="polars"), SapwoodClassifier(**QUICK)).fit(X, y)
    assert model.score(X_test, y_test) > 0.75


def test_ordinal_codes_with_missing_values():
    X, y, X_test, y_test = people()
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    encode = make_column_transformer((codes, CATEGORIES), remainder="passthrough")
    model = make_pipeline(encode, SapwoodClassifier(**QUICK))
    assert model.fit(X, y).score(X_test, y_test) > 0.75


def test_arguments_of_fit_reach_the_last_step():
    X, y, X_test, y_test = people()
    model = make_pipeline(SapwoodClassifier(n_estimators=100, early_stopping_rounds=3))
    model.fit(X, y, sapwoodclassifier__eval_set=(X_test, y_test), sapwoodclassifier__sample_weight=np.ones(len(X)))
    assert model[-1].stopped_ == "early_stopping"


def test_weights_and_groups_are_routed():
    X, y, *_ = people()
    groups, weight = np.arange(len(X)) // 5, np.linspace(0.5, 2.0, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = SapwoodClassifier(**QUICK).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        params = {"sample_weight": weight, "groups": groups}
        scores = cross_validate(model, X, y, cv=GroupKFold(3), params=params)["test_score"]
    assert (scores > 0.7).all()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(method):
    X, y, X_test, _ = people()
    model = CalibratedClassifierCV(SapwoodClassifier(**QUICK), method=method, cv=2).fit(X, y)
    assert model.predict_proba(X_test).sum(axis=1) == pytest.approx(1.0)


def test_calibration_of_a_frozen_model():
    X, y, X_test, y_test = people()
    fitted = SapwoodClassifier(**QUICK).fit(X, y)
    fingerprint = fitted.model_.fingerprint()
    model = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X_test, y_test)
    assert model.predict_proba(X_test).shape == (300, 2) and fitted.model_.fingerprint() == fingerprint


def test_tuned_and_fixed_thresholds():
    X, y, X_test, _ = people()
    tuned = TunedThresholdClassifierCV(SapwoodClassifier(**QUICK), scoring="f1", cv=2).fit(X, y)
    assert 0.0 < tuned.best_threshold_ < 1.0
    low, high = (
        FixedThresholdClassifier(SapwoodClassifier(**QUICK), threshold=threshold).fit(X, y).predict(X_test).mean()
        for threshold in (0.2, 0.8)
    )
    assert low > high


def test_stacking_of_two_presets():
    X, y, X_test, y_test = people()
    parts = [("plain", SapwoodClassifier(**QUICK)), ("catboost", SapwoodClassifier(preset="catboost", n_estimators=8))]
    model = StackingClassifier(parts, final_estimator=LogisticRegression(), cv=2).fit(X, y)
    assert model.score(X_test, y_test) > 0.75


def test_voting_of_boosting_and_forest():
    X, y, X_test, y_test = people()
    parts = [("boosting", SapwoodClassifier(**QUICK)), ("forest", SapwoodClassifier(boosting="forest", **QUICK))]
    assert VotingClassifier(parts, voting="soft").fit(X, y).score(X_test, y_test) > 0.75


def test_bagging_and_adaboost_of_small_models():
    X, y, X_test, y_test = people()
    assert BaggingClassifier(SapwoodClassifier(**QUICK), n_estimators=2).fit(X, y).score(X_test, y_test) > 0.7
    numbers, numbers_test = X.select_dtypes("number"), X_test.select_dtypes("number")
    boosted = AdaBoostClassifier(SapwoodClassifier(n_estimators=2), n_estimators=2).fit(numbers, y)
    assert boosted.score(numbers_test, y_test) > 0.7


def test_a_logarithmic_target():
    X, _, X_test, _ = people()
    model = TransformedTargetRegressor(SapwoodRegressor(**QUICK), func=np.log1p, inverse_func=np.expm1)
    model.fit(X.drop(columns="age"), X["age"])
    assert (model.predict(X_test.drop(columns="age")) > 15).all()


def test_several_targets_and_one_model_per_class():
    X, _, X_test, _ = people()
    targets = ["age", "hours_per_week"]
    several = MultiOutputRegressor(SapwoodRegressor(**QUICK)).fit(X.drop(columns=targets), X[targets])
    assert several.predict(X_test.drop(columns=targets)).shape == (300, 2)
    one_each = OneVsRestClassifier(SapwoodClassifier(**QUICK)).fit(X.drop(columns="sex"), X["sex"].astype(str))
    assert set(one_each.predict(X_test.drop(columns="sex"))) == {"Female", "Male"}


def test_selection_of_features():
    X, y, *_ = people()
    selected = SelectFromModel(SapwoodClassifier(**QUICK)).fit(X, y).get_feature_names_out()
    assert 0 < len(selected) < 14 and set(selected) <= set(X.columns)
    assert RFE(SapwoodClassifier(**QUICK), n_features_to_select=2).fit(X.select_dtypes("number"), y).support_.sum() == 2


def test_self_training_with_unlabelled_rows():
    X, y, X_test, y_test = people()
    partly = np.where(np.arange(len(y)) % 2, -1, y)
    model = SelfTrainingClassifier(SapwoodClassifier(**QUICK)).fit(X.select_dtypes("number"), partly)
    assert model.score(X_test.select_dtypes("number"), y_test) > 0.7


def test_a_clone_has_the_parameters_whatever_they_are():
    model = SapwoodClassifier(
        n_estimators=3, eval_metric=[f1_score, "auc"], learning_rate=[0.3, 0.2, 0.1], callbacks=[print], verbose=50
    )
    assert clone(model).get_params() == model.get_params()
