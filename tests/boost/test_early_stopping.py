"""The best round, and when to give up on a better one."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from sapwood import EarlyStopping, SapwoodClassifier, SapwoodRegressor
from sapwood.boost.early_stopping import BestRound
from sapwood.errors import InputError, SapwoodError, TrainingError
from sapwood.metrics.registry import resolve_metric
from tests.boost.examples import FAST, example


def after(scores, greater_is_better=False, patience=None) -> BestRound:
    best = BestRound(greater_is_better, patience)
    for done, score in enumerate(scores, 1):
        best.update(done, score, "rmse of validation")
    return best


def test_the_best_is_the_first_of_equals():
    best = after([3.0, 1.0, 2.0, 1.0])
    assert (best.round, best.score) == (2, 1.0)


def test_more_can_be_better():
    assert after([3.0, 1.0, 4.0], greater_is_better=True).round == 3


@pytest.mark.parametrize("done, stale", [(2, False), (3, False), (4, True)])
def test_it_is_stale_when_nothing_was_better_for_as_many_rounds_as_allowed(done, stale):
    assert after([3.0, 1.0, 2.0, 2.0][:done], patience=2).should_stop(done) is stale


def test_without_patience_it_is_never_stale():
    assert not after([1.0] + [2.0] * 50).should_stop(51)


def test_a_score_that_is_not_a_number_cannot_stop_training():
    with pytest.raises(TrainingError, match="rmse of validation is not a number after round 1"):
        after([math.nan], patience=3)


def test_a_score_that_is_not_a_number_is_never_the_best():
    assert after([math.nan, 2.0, math.nan, 3.0]).round == 2


# --- what is monitored ------------------------------------------------------------------------------------------------


def frame_example(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"a": random.normal(size=n), "b": random.choice(["x", "y", None], n)})
    return X, X["a"].to_numpy() + random.normal(scale=0.5, size=n)


SETTINGS = {"n_estimators": 300, "learning_rate": 0.5, "min_child_samples": 5}


@pytest.mark.parametrize("order", [["train", "valid"], ["valid", "train"]], ids=str)
@pytest.mark.parametrize("is_copy", [False, True])
def test_sets_that_hold_the_training_rows_are_not_monitored(order, is_copy):
    """The idiom of XGBoost and LightGBM, eval_set=[(X, y), (X_valid, y_valid)], stops by the validation rows."""
    X, y = frame_example()
    held = frame_example(seed=1)
    sets = {"train": (X.copy(), y.copy()) if is_copy else (X, y), "valid": held}
    ordered = {name: sets[name] for name in order}
    fitted = SapwoodRegressor(early_stopping_rounds=5, **SETTINGS).fit(X, y, eval_set=ordered)
    alone = SapwoodRegressor(early_stopping_rounds=5, **SETTINGS).fit(X, y, eval_set=held)
    assert fitted.best_iteration_ == alone.best_iteration_ < 100
    assert fitted.stopped_ == "early_stopping"


def test_the_last_of_several_validation_sets_is_monitored():
    X, y = frame_example()
    sets = [frame_example(seed=1), frame_example(seed=2)]
    fitted = SapwoodRegressor(early_stopping_rounds=5, **SETTINGS).fit(X, y, eval_set=sets)
    assert fitted.best_iteration_ == int(np.argmin(fitted.evals_result_["validation_1"]["rmse"])) + 1


def test_a_set_and_a_metric_can_be_chosen():
    X, y = frame_example()
    sets = {"one": frame_example(seed=1), "two": frame_example(seed=2)}
    stopping = EarlyStopping(5, metric="mae", eval_set="one")
    fitted = SapwoodRegressor(early_stopping_rounds=stopping, eval_metric=["rmse", "mae"], **SETTINGS)
    fitted.fit(X, y, eval_set=sets)
    assert fitted.best_iteration_ == int(np.argmin(fitted.evals_result_["one"]["mae"])) + 1


def test_a_small_improvement_does_not_count():
    X, y = frame_example()
    fitted = SapwoodRegressor(early_stopping_rounds=EarlyStopping(3, min_delta=10.0), **SETTINGS)
    assert fitted.fit(X, y, eval_set=frame_example(seed=1)).best_iteration_ == 1


def test_training_rows_alone_cannot_stop_training():
    X, y = frame_example()
    with pytest.raises(InputError, match="every set of eval_set holds the training rows"):
        SapwoodRegressor(early_stopping_rounds=5).fit(X, y, eval_set=[(X, y)])
    fitted = SapwoodRegressor(n_estimators=7).fit(X, y, eval_set=[(X, y)])
    assert (fitted.best_iteration_, fitted.best_score_) == (7, None)


@pytest.mark.parametrize("choice", [{"metric": "auc"}, {"eval_set": "nowhere"}], ids=str)
def test_what_is_not_there_cannot_be_watched(choice):
    X, y = frame_example()
    with pytest.raises(SapwoodError, match="EarlyStopping"):
        SapwoodRegressor(early_stopping_rounds=EarlyStopping(3, **choice)).fit(X, y, eval_set=frame_example(seed=1))


def test_the_log_tells_what_is_watched(caplog):
    X, y = frame_example()
    with caplog.at_level("INFO", logger="sapwood"):
        SapwoodRegressor(early_stopping_rounds=5, **SETTINGS).fit(X, y, eval_set={"valid": frame_example(seed=1)})
    assert "early stopping watches rmse of valid for 5 rounds" in caplog.text


# --- the rounds that are kept -----------------------------------------------------------------------------------------


def test_training_stops_when_nothing_improves_and_keeps_the_best_round():
    """A6: after early stopping the model is that of the best round."""
    X, y = example()
    held = example(seed=1)
    stopped = SapwoodRegressor(n_estimators=500, early_stopping_rounds=7, **FAST).fit(X, y, eval_set=held)
    history = stopped.evals_result_["validation"]["rmse"]
    assert stopped.stopped_ == "early_stopping"
    assert stopped.best_iteration_ == stopped.n_iter_ == len(stopped.model_) == int(np.argmin(history)) + 1
    assert len(history) == stopped.best_iteration_ + 7
    assert stopped.best_score_ == min(history) == resolve_metric("rmse")(held[1], stopped.predict(held[0]))
    plain = SapwoodRegressor(n_estimators=stopped.best_iteration_, **FAST).fit(X, y)
    assert plain.model_.fingerprint() == stopped.model_.fingerprint()


def test_the_best_round_is_kept_even_if_all_rounds_were_done():
    X, y = example()
    fitted = SapwoodRegressor(n_estimators=60, early_stopping_rounds=59, **FAST).fit(X, y, eval_set=example(seed=1))
    assert fitted.stopped_ == "n_estimators"
    assert fitted.n_iter_ == fitted.best_iteration_ < 60


def test_without_early_stopping_all_rounds_are_kept():
    X, y = example()
    fitted = SapwoodRegressor(n_estimators=60, **FAST).fit(X, y, eval_set=example(seed=1))
    assert (fitted.n_iter_, fitted.stopped_) == (60, "n_estimators")
    assert fitted.best_iteration_ == int(np.argmin(fitted.evals_result_["validation"]["rmse"])) + 1 < 60


def test_without_validation_rows_the_best_round_is_the_last():
    fitted = SapwoodRegressor(n_estimators=5).fit(*example())
    assert (fitted.best_iteration_, fitted.best_score_, fitted.evals_result_) == (5, None, {})


def test_the_first_metric_decides_on_the_set_that_does_not_hold_the_training_rows():
    X, y = example()
    sets = {"first": example(seed=1), "second": (X, y)}
    fitted = SapwoodRegressor(n_estimators=200, early_stopping_rounds=5, eval_metric=["mae", "rmse"], **FAST)
    fitted.fit(X, y, eval_set=sets)
    assert fitted.best_iteration_ == int(np.argmin(fitted.evals_result_["first"]["mae"])) + 1
    assert list(fitted.evals_result_) == ["first", "second"]


def test_a_metric_of_which_more_is_better_stops_at_its_largest():
    X, y = example()
    held = example(seed=1)
    fitted = SapwoodClassifier(n_estimators=200, early_stopping_rounds=5, eval_metric="auc", **FAST)
    fitted.fit(X, y > 0, eval_set=(held[0], held[1] > 0))
    assert fitted.best_score_ == max(fitted.evals_result_["validation"]["auc"])


def test_weights_of_validation_rows_decide_when_to_stop():
    X, y = example()
    held = example(seed=1)
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    make = lambda: SapwoodRegressor(n_estimators=200, early_stopping_rounds=5, **FAST)  # noqa: E731
    weighted = make().fit(X, y, eval_set=held, eval_sample_weight=weight)
    absent = make().fit(X, y, eval_set=(held[0][:200], held[1][:200]))
    assert weighted.evals_result_ == absent.evals_result_


def test_a_metric_that_is_not_a_number_cannot_stop_training():
    X, y = example()
    made = SapwoodClassifier(early_stopping_rounds=5, eval_metric="auc", **FAST)
    with pytest.raises(TrainingError, match="auc of validation is not a number after round 1"):
        made.fit(X, y > 0, eval_set=(X[y > 0], y[y > 0] > 0))


def test_a_relative_minimum_counts_from_the_best_value():
    best = BestRound(False, 3, min_delta=0.001, min_relative_delta=0.01)
    for n_rounds, score in enumerate([1.0, 0.991, 0.989, 0.0500, 0.0491, 0.0485], start=1):
        best.update(n_rounds, score, "loss")
    # 0.991 is less than a hundredth below 1, 0.0491 less than a thousandth below 0.05.
    assert (best.round, best.score) == (6, 0.0485)
    assert not best.should_stop(8)
    assert best.should_stop(9)


def test_any_finite_value_is_better_than_an_infinite_one():
    best = BestRound(False, 3, min_relative_delta=0.01)
    for n_rounds, score in enumerate([float("inf"), 5.0, 4.99], start=1):
        best.update(n_rounds, score, "loss")
    assert (best.round, best.score) == (2, 5.0)
