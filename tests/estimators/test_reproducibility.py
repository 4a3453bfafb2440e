"""N2: the same model, bit for bit, whatever the number of threads."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import sapwood
from sapwood import Dataset, LastRows, SapwoodClassifier, SapwoodRegressor
from sapwood.objectives import Quantile

TEAMS = ("1", "2", "3", "8")


def example(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 5))
    X[random.random(X.shape) < 0.05] = np.nan
    return X, np.nan_to_num(X[:, 0]) + np.sin(3 * np.nan_to_num(X[:, 1])) + random.normal(scale=0.5, size=n)


def summary(fitted) -> tuple:
    return fitted.model_.fingerprint(), fitted.evals_result_, fitted.best_iteration_, fitted.best_score_


STOPPING = {"n_estimators": 60, "learning_rate": 0.5, "early_stopping_rounds": 4}

CASES = {
    "early stopping": lambda X, y: SapwoodRegressor(**STOPPING).fit(X, y),
    "early stopping by time, refit": lambda X, y: SapwoodRegressor(
        validation_fraction=LastRows(0.2), refit=True, **STOPPING
    ).fit(X, y),
    "early stopping by group": lambda X, y: SapwoodRegressor(**STOPPING).fit(X, y, groups=np.arange(len(y)) // 7),
    "early stopping on classes, weighted": lambda X, y: SapwoodClassifier(
        class_weight="effective", eval_metric=["auc", "log_loss"], **STOPPING
    ).fit(X, y > 1.0, sample_weight=np.linspace(0.1, 3.0, len(y))),
    "several classes": lambda X, y: SapwoodClassifier(subsample=0.5, **STOPPING).fit(X, np.digitize(y, [-1, 0, 1])),
    "subsampling": lambda X, y: SapwoodRegressor(n_estimators=8, subsample=0.3).fit(X, y, eval_set=(X, y)),
    "quantiles": lambda X, y: SapwoodRegressor(objective=Quantile([0.2, 0.8]), n_estimators=8, subsample=0.6).fit(X, y),
    "absolute error": lambda X, y: SapwoodRegressor(objective="absolute", **STOPPING).fit(X, y),
    "offset": lambda X, y: SapwoodRegressor(n_estimators=8).fit(X, y, init_score=y / 2),
    "dataset": lambda X, y: SapwoodRegressor(**STOPPING).fit(Dataset(X, max_bins=63), y),
}


@pytest.mark.parametrize("case", CASES)
def test_the_size_of_the_team_changes_nothing(case, monkeypatch):
    X, y = example()
    found = []
    for team in TEAMS:
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        found.append(summary(CASES[case](X, y)))
    assert all(one == found[0] for one in found[1:])


def test_continued_training_does_not_depend_on_the_team(monkeypatch):
    X, y = example()
    found = []
    for team in TEAMS:
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        first = SapwoodRegressor(n_estimators=4, subsample=0.5).fit(X, y)
        found.append(SapwoodRegressor(n_estimators=4, subsample=0.5).fit(X, y, init_model=first).model_.fingerprint())
    assert len(set(found)) == 1


@pytest.mark.parametrize("estimator", [SapwoodRegressor, SapwoodClassifier])
def test_cross_validation_does_not_depend_on_the_team(estimator, monkeypatch):
    X, y = example(1500)
    target = y if estimator is SapwoodRegressor else np.digitize(y, [-0.5, 0.5])
    found = []
    for team in TEAMS:
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        result = sapwood.cv(estimator(subsample=0.7, **STOPPING), X, target, cv=3)
        digest = hashlib.sha256(result.predictions.tobytes()).hexdigest()
        found.append((digest, [one.model_.fingerprint() for one in result.estimators], result.best_iteration))
        assert all((found[0][1][k] == found[-1][1][k]) for k in range(3))
    assert all(one == found[0] for one in found[1:])
