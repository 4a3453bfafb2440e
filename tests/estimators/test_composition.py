"""Sapwood inside scikit-learn's tools, with early stopping and everything that goes with it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_predict, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import EffectiveNumber, LastRows, SapwoodClassifier, SapwoodRegressor

STOPPING = {"n_estimators": 100, "learning_rate": 0.3, "early_stopping_rounds": 5, "min_child_samples": 5}


def example(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(scale=0.3, size=n)


def labelled() -> tuple[np.ndarray, np.ndarray]:
    X, y = example()
    return X, np.where(y > 0, "yes", "no")


def test_a_grid_search_with_early_stopping():
    X, y = labelled()
    grid = {"max_leaves": [3, 15], "validation_fraction": [0.2, LastRows(0.2)], "class_weight": [EffectiveNumber(0.9)]}
    search = GridSearchCV(SapwoodClassifier(**STOPPING), grid, cv=3).fit(X, y)
    assert search.best_estimator_.stopped_ == "early_stopping"
    assert search.score(X, y) > 0.85


def test_a_search_over_the_starting_estimator_and_its_parameters():
    X, y = example()
    grid = {"init": [Ridge()], "init__alpha": [0.1, 1000.0]}
    search = GridSearchCV(SapwoodRegressor(n_estimators=5), grid, cv=3).fit(X, y)
    assert search.best_params_["init__alpha"] == 0.1


def test_a_search_passes_validation_rows_on():
    X, y = labelled()
    search = RandomizedSearchCV(
        SapwoodClassifier(**STOPPING), {"max_leaves": [3, 7, 15]}, n_iter=2, cv=2, random_state=0
    )
    search.fit(X[:300], y[:300], eval_set=(X[300:], y[300:]))
    assert list(search.best_estimator_.evals_result_) == ["validation"]


def test_a_pipeline_with_early_stopping():
    X, y = example()
    pipeline = make_pipeline(StandardScaler(), SapwoodRegressor(**STOPPING))
    found = cross_validate(pipeline, X, y, cv=3, return_estimator=True)
    assert found["test_score"].min() > 0.7
    assert all(one[-1].stopped_ == "early_stopping" for one in found["estimator"])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_out_of_fold_predictions(method):
    X, y = labelled()
    found = cross_val_predict(SapwoodClassifier(**STOPPING), X, y, cv=3, method=method)
    assert len(found) == 400


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_of_an_early_stopped_classifier(method):
    X, y = labelled()
    calibrated = CalibratedClassifierCV(SapwoodClassifier(**STOPPING), method=method, cv=3).fit(X, y)
    assert calibrated.score(X, y) > 0.85


def test_stacking_with_a_linear_model():
    X, y = labelled()
    parts = [("trees", SapwoodClassifier(refit=True, **STOPPING)), ("line", LogisticRegression())]
    assert StackingClassifier(parts, cv=3).fit(X, y).score(X, y) > 0.85


def test_voting_with_a_linear_model():
    X, y = example()
    parts = [("trees", SapwoodRegressor(**STOPPING)), ("line", LinearRegression())]
    assert VotingRegressor(parts).fit(X, y).score(X, y) > 0.6


def test_one_model_per_target():
    X, y = example()
    both = MultiOutputRegressor(SapwoodRegressor(**STOPPING)).fit(X, np.column_stack([y, -y]))
    assert both.predict(X).shape == (400, 2)


def test_sapwood_can_start_from_sapwood():
    X, y = example()
    stumps = SapwoodRegressor(max_leaves=2, n_estimators=10)
    fitted = SapwoodRegressor(init=stumps, n_estimators=30).fit(X, y)
    assert fitted.score(X, y) > fitted.init_.score(X, y)


def test_a_clone_keeps_callbacks_and_choices():
    made = SapwoodClassifier(callbacks=[print], validation_fraction=LastRows(0.3), class_weight=EffectiveNumber(0.5))
    assert clone(made).get_params() == made.get_params()


def test_weights_reach_the_estimator_in_a_pipeline():
    X, y = example()
    pipeline = make_pipeline(StandardScaler(), SapwoodRegressor(n_estimators=5))
    weighted = pipeline.fit(X, y, sapwoodregressor__sample_weight=np.linspace(1, 2, 400)).predict(X)
    assert not np.array_equal(weighted, clone(pipeline).fit(X, y).predict(X))
