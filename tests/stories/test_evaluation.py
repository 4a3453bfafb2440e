"""Searches, validation and inspection by scikit-learn and Optuna."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay, RocCurveDisplay
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from tests.stories.people import QUICK, people


@pytest.fixture(autouse=True)
def without_windows():
    import matplotlib

    matplotlib.use("Agg")


def test_a_grid_search_in_two_processes():
    X, y, *_ = people()
    grid = {"max_leaves": [4, 8], "learning_rate": [0.1, 0.3]}
    search = GridSearchCV(SapwoodClassifier(n_estimators=5), grid, cv=2, scoring="roc_auc", n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.8


def test_a_halving_search_over_rounds_and_over_rows():
    X, y, *_ = people()
    grid = {"max_leaves": [4, 8, 16]}
    by_rounds = HalvingGridSearchCV(
        SapwoodClassifier(), grid, resource="n_estimators", min_resources=2, max_resources=8, cv=2
    ).fit(X, y)
    assert by_rounds.best_estimator_.n_iter_ <= 8
    assert HalvingGridSearchCV(SapwoodClassifier(**QUICK), {"reg_lambda": [0.1, 1.0]}, cv=2).fit(X, y).best_params_


def test_a_random_search_over_schedules():
    X, y, *_ = people()
    rates = [0.1, [0.2] * 8, lambda round: 0.3 * 0.9**round]
    search = RandomizedSearchCV(SapwoodClassifier(**QUICK), {"learning_rate": rates}, n_iter=3, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_with_several_scores():
    X, y, *_ = people()
    found = cross_validate(
        SapwoodClassifier(**QUICK), X, y, cv=2, scoring=["roc_auc", "neg_log_loss"], return_estimator=True
    )
    assert (found["test_roc_auc"] > 0.8).all() and len(found["estimator"]) == 2


def test_out_of_fold_predictions():
    X, y, *_ = people()
    for method, shape in (("predict_proba", (800, 2)), ("decision_function", (800,)), ("predict", (800,))):
        assert cross_val_predict(SapwoodClassifier(**QUICK), X, y, cv=2, method=method).shape == shape


def test_our_cross_validation_with_groups_and_metrics():
    X, y, *_ = people()
    model = SapwoodClassifier(eval_metric=["auc", "balanced_accuracy", "f1_macro"], **QUICK)
    found = sapwood.cv(model, X, y, cv=GroupKFold(2), groups=np.arange(len(X)) // 4)
    assert list(found.scores) == ["auc", "balanced_accuracy", "f1_macro"]


def test_learning_and_validation_curves():
    X, y, *_ = people()
    assert learning_curve(SapwoodClassifier(**QUICK), X, y, cv=2, train_sizes=[0.5, 1.0])[2].shape == (2, 2)
    scores = validation_curve(SapwoodClassifier(**QUICK), X, y, param_name="max_leaves", param_range=[2, 8], cv=2)
    assert scores[0].shape == (2, 2)


def test_folds_in_the_order_of_time():
    X, *_ = people()
    scores = cross_val_score(SapwoodRegressor(**QUICK), X.drop(columns="age"), X["age"], cv=TimeSeriesSplit(2))
    assert (scores > 0.1).all()


def test_permutation_importance_of_a_frame_with_categories():
    X, y, X_test, y_test = people()
    model = SapwoodClassifier(**QUICK).fit(X, y)
    found = permutation_importance(model, X_test, y_test, n_repeats=1, random_state=0)
    assert found.importances_mean.shape == (14,)


def test_partial_dependence_of_a_number_and_of_categories():
    X, y, *_ = people()
    X = X.astype({"age": float, "hours_per_week": float})  # scikit-learn refuses integers here
    model = SapwoodClassifier(**QUICK).fit(X, y)
    PartialDependenceDisplay.from_estimator(model, X[:50], ["age", "education"], categorical_features=["education"])
    both = partial_dependence(model, X[:50], ["age", "hours_per_week"], grid_resolution=4)
    assert both["average"].shape == (1, 4, 4)


def test_displays():
    X, y, X_test, y_test = people()
    model = SapwoodClassifier(**QUICK).fit(X, y)
    for display in (RocCurveDisplay, CalibrationDisplay, ConfusionMatrixDisplay):
        display.from_estimator(model, X_test, y_test)
    regressor = SapwoodRegressor(**QUICK).fit(X.drop(columns="age"), X["age"])
    PredictionErrorDisplay.from_estimator(regressor, X_test.drop(columns="age"), X_test["age"])


def test_an_optuna_study():
    optuna = pytest.importorskip("optuna", reason="tunes parameters")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y, *_ = people()

    def objective(trial):
        model = SapwoodClassifier(
            n_estimators=trial.suggest_int("n_estimators", 2, 8),
            learning_rate=trial.suggest_float("learning_rate", 0.05, 0.5, log=True),
        )
        return cross_val_score(model, X, y, cv=2, scoring="roc_auc").mean()

    study = optuna.create_study(direction="maximize")
    study.optimize(objective, n_trials=2)
    assert study.best_value > 0.7
