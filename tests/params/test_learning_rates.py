"""Schedules of learning rates: accepted values, and the models that they give."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import Dart, EarlyStopping, Linear, SapwoodClassifier, SapwoodRegressor, load, train
from sapwood.errors import ParameterError
from sapwood.params.learning_rates import RisingRate, rate_of_round, resolve_rates, sum_of_rates

N_ROUNDS = 6
RATES = [0.5, 0.4, 0.3, 0.3, 0.2, 0.1]


def table(n=300):
    random = np.random.default_rng(4)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * random.normal(size=n)


def fingerprint(rate, **params):
    X, y = table()
    return SapwoodRegressor(n_estimators=N_ROUNDS, learning_rate=rate, **params).fit(X, y).model_.fingerprint()


WAYS = [
    {},
    {"boosting": "ordered"},
    {"boosting": Dart(drop=0.5, skip=0.0)},
    {"boosting": Dart(drop=0.5, skip=0.0, normalise="forest")},
    {"leaf_steps": 3},
    {"leaf_model": Linear()},
    {"objective": "quantile"},
    {"random_strength": 1.0},
    {"sampling": "goss"},
    {"growth": "symmetric"},
    {"split_search": "exact"},
    {"early_stopping_rounds": 3, "refit": True},
]


@pytest.mark.parametrize("params", WAYS, ids=str)
def test_a_list_of_equal_rates_gives_the_model_of_that_rate(params):
    assert fingerprint([0.3] * N_ROUNDS, **params) == fingerprint(0.3, **params)


@pytest.mark.parametrize("params", WAYS, ids=str)
def test_a_function_gives_the_model_of_its_list(params):
    by_list = fingerprint(RATES, **params)
    assert by_list == fingerprint(lambda round: RATES[round], **params) == fingerprint(np.array(RATES), **params)
    assert by_list != fingerprint(0.5, **params)


def test_the_values_of_each_tree_have_the_rate_of_its_round():
    """One row on either side of a split: each round adds its rate times the mean of what is left."""
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 8.0])
    model = SapwoodRegressor(
        n_estimators=2, learning_rate=[0.5, 0.25], reg_lambda=0.0, min_child_samples=1, min_child_weight=0.0
    ).fit(X, y)
    assert model.predict(X, iterations=1).tolist() == [2.0, 6.0]
    assert model.predict(X).tolist() == [1.5, 6.5]


def test_a_schedule_is_that_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    random = np.random.default_rng(0)
    X = random.integers(1, 50, (2000, 3)).astype(float)
    y = X[:, 0] / 10 + X[:, 1] * X[:, 2] / 500 + random.normal(size=2000)
    ours = SapwoodRegressor(
        preset="lightgbm", n_estimators=10, learning_rate=lambda round: 0.5 * 0.7**round, precision="wide"
    ).fit(X, y)
    schedule = lightgbm.reset_parameter(learning_rate=lambda round: 0.5 * 0.7**round)
    theirs = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1).fit(X, y, callbacks=[schedule])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_a_resumed_fit_has_the_schedule_and_its_model(tmp_path):
    X, y = table()

    def crash(progress):
        if progress.round == 3:
            raise RuntimeError

    params = {
        "n_estimators": N_ROUNDS,
        "learning_rate": RATES,
        "checkpoint": str(tmp_path / "c"),
        "checkpoint_every": 0,
    }
    with pytest.raises(RuntimeError):
        SapwoodRegressor(**params, callbacks=crash).fit(X, y)
    resumed = SapwoodRegressor(**params).fit(X, y)
    assert resumed.model_.fingerprint() == fingerprint(RATES)


def test_rounds_count_from_0_in_a_fit_that_continues_a_model():
    X, y = table()
    first = SapwoodRegressor(n_estimators=2, learning_rate=RATES[:2]).fit(X, y)
    second = SapwoodRegressor(n_estimators=4, learning_rate=RATES[2:]).fit(X, y, init_model=first)
    assert second.model_.fingerprint() == fingerprint(RATES)


def test_warm_start_goes_on_with_the_schedule():
    X, y = table()
    model = SapwoodRegressor(n_estimators=2, learning_rate=lambda round: RATES[round], warm_start=True).fit(X, y)
    model.set_params(n_estimators=N_ROUNDS).fit(X, y)
    assert model.model_.fingerprint() == fingerprint(RATES)


def test_leaves_refitted_to_the_rows_of_training_keep_the_schedule(tmp_path):
    X, y = table()
    model = SapwoodRegressor(n_estimators=N_ROUNDS, learning_rate=RATES, reg_lambda=0.5).fit(X, y)
    before = model.predict(X)
    model.save(tmp_path / "model")
    refitted = load(tmp_path / "model").refit_leaves(X, y, decay_rate=0.0)
    np.testing.assert_allclose(refitted.predict(X), before, atol=1e-5)


def test_early_stopping_keeps_the_first_rates():
    X, y = table()
    params = {"n_estimators": 200, "learning_rate": lambda round: 0.9**round, "early_stopping_rounds": EarlyStopping(5)}
    model = SapwoodRegressor(**params).fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))
    shorter = SapwoodRegressor(n_estimators=model.n_iter_, learning_rate=lambda round: 0.9**round).fit(X[:200], y[:200])
    assert model.model_.fingerprint() == shorter.model_.fingerprint()


def test_train_and_several_classes_take_schedules():
    X, y = table()
    assert train({"n_estimators": N_ROUNDS, "learning_rate": RATES}, X, y).fingerprint() == fingerprint(RATES)
    model = SapwoodClassifier(n_estimators=N_ROUNDS, learning_rate=RATES).fit(X, np.digitize(y, [-1, 1]))
    assert model.params_["learning_rate"] == tuple(RATES)


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ([0.1, 0.2], "has 2 values, but n_estimators=6"),
        (lambda round: 0.0, "returned 0.0 for round 0, not a number above 0"),
        (lambda round: "fast", "returned 'fast' for round 0"),
        (lambda: 0.1, "must take 1 argument"),
        ([], "a list with one per round"),
        ([0.1, -1.0], "a list with one per round"),
        ("slow", "a list with one per round"),
        (0.0, "a list with one per round"),
    ],
)
def test_what_is_no_schedule_is_refused(rate, message):
    with pytest.raises(ParameterError, match=message):
        fingerprint(rate)


def test_a_forest_has_no_schedule():
    with pytest.raises(ParameterError, match="a forest averages unshrunk trees"):
        fingerprint(RATES, boosting="forest")


def test_schedules_of_other_libraries_are_translated():
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    for callback in (
        lightgbm.reset_parameter(learning_rate=RATES),
        xgboost.callback.LearningRateScheduler(lambda round: 0.1),
    ):
        with pytest.raises(ParameterError, match="pass its list or function as learning_rate"):
            fingerprint(0.1, callbacks=[callback])


def test_the_rate_of_a_round_and_the_sum_before_it():
    assert [rate_of_round(0.1, 5), rate_of_round((0.1, 0.2), 1)] == [0.1, 0.2]
    assert sum_of_rates(0.1, 3, 2) == 5 * 0.1
    assert sum_of_rates((0.5, 0.25, 0.1), 2, 3) == 3 * 0.5 + 0.75
    assert resolve_rates(1, 4) == 1.0


def test_a_rising_rate_rises_by_its_start_up_to_its_factor():
    rate = RisingRate(0.1, rounds=4, max_factor=2.5)
    assert [rate(round) for round in (0, 2, 4, 6, 9)] == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.25])
    assert resolve_rates(rate, 3) == pytest.approx((0.1, 0.125, 0.15))


def test_a_rising_rate_is_the_model_of_its_list():
    rate = RisingRate(0.1, rounds=4, max_factor=2.5)
    X = np.random.default_rng(0).normal(size=(200, 3))
    models = [train({"n_estimators": 8, "learning_rate": r}, X, X[:, 0]) for r in (rate, [rate(k) for k in range(8)])]
    assert models[0].fingerprint() == models[1].fingerprint()
