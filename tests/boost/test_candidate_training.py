"""Candidates are trained one after the other or side by side, with the same models."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost import candidate_training, interrupt, rounds
from sapwood.errors import TrainingError
from sapwood.native.runtime.kernel import mode

needs_native = pytest.mark.skipif(mode() != "native", reason="kernels of Numba and Python hold the interpreter's lock")


@pytest.fixture
def used_threads(monkeypatch):
    """Numbers of threads that trainings ran in."""
    seen, run = [], candidate_training.run_side_by_side
    monkeypatch.setattr(
        candidate_training, "run_side_by_side", lambda calls, n, stop: (seen.append(n), run(calls, n, stop))[1]
    )
    return seen


def table(n_rows: int = 600, n_classes: int = 0):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 6))
    X[:, 5] = rng.integers(0, 12, n_rows)
    score = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.1 * X[:, 5] + 0.1 * rng.normal(size=n_rows)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)) if n_classes else score


@needs_native
@pytest.mark.parametrize(("n_classes", "effort"), [(0, "balanced"), (2, "balanced"), (4, "balanced"), (2, "best")])
def test_models_do_not_depend_on_the_number_of_threads(n_classes, effort, monkeypatch, used_threads):
    X, y = table(n_classes=n_classes)
    estimator = SapwoodClassifier if n_classes else SapwoodRegressor
    prints = []
    for team in ("1", "2", "3"):
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        fitted = estimator(effort=effort, n_estimators=30, categorical_features=[5]).fit(X, y)
        prints.append(fitted.model_.fingerprint())
    assert len(set(prints)) == 1
    assert {1, 2} <= set(used_threads)


@needs_native
def test_intervals_do_not_depend_on_the_number_of_threads(monkeypatch, used_threads):
    X, y = table(120)
    prints = []
    for team in ("1", "3"):
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        model = sapwood.train({"effort": "fast", "n_estimators": 5, "intervals": 0.8}, X, y)
        prints.append((model.fingerprint(), model.predict_interval(X, 0.8).tolist()))
    assert prints[0] == prints[1]
    assert {1, 3} <= set(used_threads)


@pytest.mark.parametrize(
    "params",
    [
        {"n_jobs": 1},
        {"verbose": 1000},
        {"time_limit": 1000.0},
        {"callbacks": [lambda progress: None]},
        {"eval_metric": lambda y, prediction, weight: 0.0},
    ],
    ids=lambda params: next(iter(params)),
)
def test_order_is_kept_where_a_user_sees_it(params, used_threads, monkeypatch):
    monkeypatch.setattr("sapwood.native.threads.team.usable_cpus", lambda: 2)
    X, y = table(200)
    sapwood.train({"effort": "balanced", **params}, X, y)
    assert set(used_threads) == {1}


def test_large_tables_are_trained_one_after_the_other(used_threads, monkeypatch):
    monkeypatch.setattr(candidate_training, "MAX_CELLS_SIDE_BY_SIDE", 100)
    X, y = table(200)
    sapwood.train({"effort": "balanced"}, X, y)
    assert set(used_threads) == {1}


@needs_native
def test_the_error_of_one_candidate_ends_the_others(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "2")
    check = rounds.check_values

    def fail_in_another_thread(value, context, rate):
        if threading.current_thread() is not threading.main_thread():
            raise TrainingError("a leaf value is not finite")
        check(value, context, rate)

    monkeypatch.setattr(rounds, "check_values", fail_in_another_thread)
    X, y = table()
    with pytest.raises(TrainingError, match="not finite"):
        sapwood.train({"effort": "balanced"}, X, y)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sapwood-fit")]


@needs_native
def test_ctrl_c_ends_all_candidates_and_returns_the_model_so_far(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "2")
    monkeypatch.setattr(interrupt, "_last_interrupt", -float("inf"))
    counts = {}
    add_round = rounds.add_round

    def count(context, *args):
        name = (threading.current_thread().name, context.params.tree.growth)
        counts[name] = counts.get(name, 0) + 1
        if context.params.tree.max_leaves and sum(counts.values()) == 400:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return add_round(context, *args)

    monkeypatch.setattr(rounds, "add_round", count)
    X, y = table(3000)
    model = sapwood.train({"effort": "balanced", "on_interrupt": "return"}, X, y)
    n_rounds = sum(counts.values())
    assert 400 <= n_rounds < 500
    assert model.n_iterations > 0
    assert np.isfinite(model.predict(X)).all()
