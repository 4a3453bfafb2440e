"""Early stopping, rows split off for validation, training again on all rows, and reasons to stop."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import sapwood
from sapwood import LastRows, SapwoodClassifier, SapwoodRegressor
from sapwood.boost import interrupt, refit
from sapwood.boost.validation_split import validation_rows
from sapwood.errors import InputError, ParameterError, TrainingError, TrainingInterrupted
from sapwood.metrics.registry import resolve_metric

FAST = {"learning_rate": 0.5, "min_child_samples": 5}


def example(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(scale=0.5, size=n)


def labelled(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = example(n, seed)
    return X, np.array(["low", "middle", "high"])[np.digitize(y, [-0.7, 0.7])]


# --- early stopping ---------------------------------------------------------------------------------------------------


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


def test_the_first_metric_of_the_first_set_decides():
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


# --- rows split off ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.25, LastRows(0.25)], ids=["random", "time"])
def test_the_rows_split_off_are_as_good_as_given_apart(share):
    X, y = example()
    chosen = validation_rows(share, np.arange(400, dtype=np.uint64), 0, None, None)
    settings = {"n_estimators": 50, "early_stopping_rounds": 5, "max_bins": 300, **FAST}
    split = SapwoodRegressor(validation_fraction=share, **settings).fit(X, y)
    given = SapwoodRegressor(**settings).fit(X[~chosen], y[~chosen], eval_set=(X[chosen], y[chosen]))
    assert split.evals_result_ == given.evals_result_
    assert split.model_.fingerprint() == given.model_.fingerprint()
    assert split.model_.metadata["n_rows"] == 300


def test_early_stopping_splits_off_a_tenth_by_itself():
    fitted = SapwoodRegressor(early_stopping_rounds=5).fit(*example())
    assert fitted.model_.metadata["n_rows"] == 360


def test_a_fraction_without_early_stopping_is_measured_only():
    fitted = SapwoodRegressor(validation_fraction=0.5, n_estimators=30, **FAST).fit(*example())
    assert len(fitted.evals_result_["validation"]["rmse"]) == fitted.n_iter_ == 30


def test_classes_are_split_alike():
    X, y = labelled()
    seen = []

    def share_of_classes(y, prediction, weight):
        seen.append(np.bincount(y.astype(int)) / len(y))
        return 0.0

    SapwoodClassifier(validation_fraction=0.25, eval_metric=share_of_classes, n_estimators=1).fit(X, y)
    assert np.allclose(seen[0], np.unique(y, return_counts=True)[1] / len(y), atol=0.01)


def test_groups_are_not_torn_apart():
    """Rows of a group are copies: split by rows they would be known, split by groups they are not."""
    X, y = (np.repeat(part, 10, axis=0) for part in example(60))
    groups = np.repeat([f"group {k}" for k in range(60)], 10)
    settings = {"n_estimators": 40, "early_stopping_rounds": 10, "min_child_samples": 1, "learning_rate": 0.3}
    torn = SapwoodRegressor(**settings).fit(X, y)
    whole = SapwoodRegressor(**settings).fit(X, y, groups=groups)
    assert torn.best_score_ < 0.2 < whole.best_score_


def test_weights_of_rows_and_classes_count_in_validation():
    X, y = labelled()
    weight = np.linspace(0.5, 2.0, len(y))
    seen = []

    def keep_weight(y, prediction, weight):
        seen.append((y, weight))
        return 0.0

    made = SapwoodClassifier(validation_fraction=0.25, eval_metric=keep_weight, class_weight={"low": 4.0})
    made.set_params(n_estimators=1).fit(X, y, sample_weight=weight)
    codes = np.unique(y, return_inverse=True)[1]
    chosen = validation_rows(0.25, np.arange(400, dtype=np.uint64), 0, codes.astype(float), None)
    assert np.array_equal(seen[0][1], np.where(y == "low", 4.0, 1.0)[chosen] * weight[chosen])


def test_rows_of_weight_zero_are_not_split_off():
    X, y = example()
    weight = (np.arange(400) < 100).astype(float)
    settings = {"early_stopping_rounds": 5, **FAST}
    weighted = SapwoodRegressor(**settings).fit(X, y, sample_weight=weight)
    assert weighted.model_.fingerprint() == SapwoodRegressor(**settings).fit(X[:100], y[:100]).model_.fingerprint()


def test_a_fraction_and_a_given_set_are_refused_together():
    with pytest.raises(InputError, match=r"validation_fraction=0\.2 is not supported with eval_set"):
        SapwoodRegressor(validation_fraction=0.2).fit(*example(), eval_set=example(seed=1))


def test_a_class_that_would_be_split_off_whole_is_named():
    X, y = labelled()
    y = np.where(np.arange(400) < 380, y, "new")
    with pytest.raises(InputError, match="all rows of class 'new' would be split off for validation"):
        SapwoodClassifier(validation_fraction=LastRows(0.1)).fit(X, y)


def test_one_row_cannot_be_stopped_early():
    with pytest.raises(InputError, match="no row can be split off for validation, there is only 1"):
        SapwoodRegressor(early_stopping_rounds=1).fit([[1.0]], [1.0])


def test_two_rows_can_be_stopped_early():
    assert SapwoodRegressor(early_stopping_rounds=1).fit([[1.0], [2.0]], [1.0, 2.0]).n_iter_ >= 1


def test_one_class_is_refused_with_early_stopping_too():
    with pytest.raises(InputError, match="y has one class"):
        SapwoodClassifier(early_stopping_rounds=5).fit([[0.0], [1.0]], ["a", "a"])


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, "half", True])
def test_a_fraction_out_of_range_is_refused(share):
    with pytest.raises(ParameterError, match="validation_fraction must be a number between 0 and 1"):
        SapwoodRegressor(validation_fraction=share).fit(*example())


# --- refit ------------------------------------------------------------------------------------------------------------


def test_refit_trains_on_all_rows_for_as_many_rounds_as_were_best():
    X, y = example()
    settings = {"n_estimators": 300, "early_stopping_rounds": 5, "validation_fraction": 0.3, **FAST}
    first = SapwoodRegressor(**settings).fit(X, y)
    again = SapwoodRegressor(refit=True, **settings).fit(X, y)
    assert again.best_iteration_ == again.n_iter_ == first.best_iteration_
    assert (again.evals_result_, again.best_score_) == (first.evals_result_, first.best_score_)
    plain = SapwoodRegressor(n_estimators=first.best_iteration_, **FAST).fit(X, y)
    assert again.model_.fingerprint() == plain.model_.fingerprint()
    assert again.model_.metadata["n_rows"] == 400


def test_refit_changes_nothing_where_no_rows_were_split_off():
    X, y = example()
    settings = {"n_estimators": 100, "early_stopping_rounds": 5, **FAST}
    models = [
        SapwoodRegressor(refit=refit, **settings).fit(X, y, eval_set=example(seed=1)).model_ for refit in (True, False)
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


# --- other reasons to stop --------------------------------------------------------------------------------------------


def test_a_callback_sees_every_round_and_can_stop_training():
    seen = []

    def stop_after_three(progress):
        seen.append((progress.round, progress.n_rounds, len(progress.evals["validation"]["rmse"])))
        assert progress.elapsed > 0.0
        return progress.round == 3

    fitted = SapwoodRegressor(n_estimators=10, callbacks=stop_after_three).fit(*example(), eval_set=example(seed=1))
    assert seen == [(1, 10, 1), (2, 10, 2), (3, 10, 3)]
    assert (fitted.stopped_, fitted.n_iter_) == ("callback", 3)


def test_all_callbacks_are_called_and_only_true_stops():
    seen = []
    callbacks = [lambda progress: seen.append(progress.round) or 1, lambda progress: seen.append(-progress.round)]
    fitted = SapwoodRegressor(n_estimators=2, callbacks=callbacks).fit(*example())
    assert seen == [1, -1, 2, -2]
    assert fitted.stopped_ == "n_estimators"


def test_an_exception_of_a_callback_leaves_fit():
    class PrunedError(Exception):
        pass

    def prune(progress):
        raise PrunedError

    made = SapwoodRegressor(callbacks=[prune])
    with pytest.raises(PrunedError):
        made.fit(*example())
    assert not hasattr(made, "model_")


def test_what_is_no_function_is_no_callback():
    with pytest.raises(ParameterError, match="callbacks must be a function or a list of them, got"):
        SapwoodRegressor(callbacks=["print"]).fit(*example())


def test_the_time_limit_ends_training_after_at_least_one_round():
    fitted = SapwoodRegressor(n_estimators=1000, time_limit=1e-9).fit(*example())
    assert (fitted.stopped_, fitted.n_iter_) == ("time_limit", 1)


def test_the_time_limit_is_kept():
    slow = SapwoodRegressor(n_estimators=10_000, time_limit=0.3, callbacks=lambda progress: time.sleep(0.02))
    start = time.perf_counter()
    slow.fit(*example())
    assert slow.stopped_ == "time_limit"
    assert 0.25 < time.perf_counter() - start < 3.0


def test_no_refit_where_the_time_is_used_up():
    made = SapwoodRegressor(n_estimators=1000, time_limit=1e-9, refit=True, validation_fraction=0.5)
    assert made.fit(*example()).model_.metadata["n_rows"] == 200


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def long_ago(monkeypatch):
    monkeypatch.setattr(interrupt, "_last_interrupt", -float("inf"))


def press(at: int, times: int = 1):
    def callback(progress):
        if progress.round == at:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return callback


def test_an_interruption_raises_and_keeps_the_model_so_far(long_ago):
    X, y = example()
    made = SapwoodRegressor(n_estimators=50, callbacks=press(at=4))
    with pytest.raises(TrainingInterrupted, match=r"after 4 rounds.*on_interrupt='return'") as caught:
        made.fit(X, y)
    assert (made.stopped_, made.n_iter_) == ("interrupted", 4)
    assert caught.value.model is made.model_
    assert isinstance(caught.value, KeyboardInterrupt)


def test_an_interruption_of_the_function_carries_the_model_so_far(long_ago):
    X, y = example()
    with pytest.raises(TrainingInterrupted) as caught:
        sapwood.train({"n_estimators": 50, "callbacks": press(at=4)}, X, y)
    assert caught.value.model.n_iterations == 4


def test_an_interruption_ends_a_search(long_ago):
    X, y = example()
    n_fits = []

    def count(progress):
        if progress.round == 1:
            n_fits.append(1)

    search = GridSearchCV(
        SapwoodRegressor(n_estimators=20, callbacks=[count, press(at=4)]), {"max_leaves": [3, 4, 5]}, cv=2
    )
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert len(n_fits) == 1


def test_an_interruption_returns_the_model_so_far_if_asked(long_ago):
    X, y = example()
    fitted = SapwoodRegressor(n_estimators=50, callbacks=press(at=4), on_interrupt="return").fit(X, y)
    assert (fitted.stopped_, fitted.n_iter_) == ("interrupted", 4)
    assert fitted.model_.fingerprint() == SapwoodRegressor(n_estimators=4).fit(X, y).model_.fingerprint()


def test_an_interruption_keeps_the_best_round_of_early_stopping(long_ago):
    settings = {"n_estimators": 500, "early_stopping_rounds": 400, "on_interrupt": "return", **FAST}
    made = SapwoodRegressor(callbacks=press(at=100), **settings)
    made.fit(*example(), eval_set=example(seed=1))
    assert made.stopped_ == "interrupted"
    assert made.n_iter_ == made.best_iteration_ < 100


def test_a_second_interruption_raises_and_leaves_no_model(long_ago):
    made = SapwoodRegressor(n_estimators=50, callbacks=press(at=4, times=2))
    with pytest.raises(KeyboardInterrupt):
        made.fit(*example())
    assert not hasattr(made, "model_")


def test_an_interruption_before_the_first_round_raises(long_ago, monkeypatch):
    X, y = labelled()
    from sapwood.objectives import Softmax

    class Pressed(Softmax):
        def pairs(self, *args):
            os.kill(os.getpid(), signal.SIGINT)
            super().pairs(*args)

        def for_classes(self, n_classes):
            return Pressed(n_classes)

    with pytest.raises(KeyboardInterrupt):
        SapwoodClassifier(objective=Pressed()).fit(X, y)


def test_a_round_that_is_not_complete_is_dropped(long_ago):
    """Three classes have three trees per round: Ctrl-C in the third round leaves two."""
    X, y = labelled()
    from sapwood.objectives import Softmax

    calls = []

    class Pressed(Softmax):
        def pairs(self, *args):
            calls.append(1)
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            super().pairs(*args)

        def for_classes(self, n_classes):
            return Pressed(n_classes)

    fitted = SapwoodClassifier(objective=Pressed(), n_estimators=9, on_interrupt="return").fit(X, y)
    assert (fitted.stopped_, fitted.n_iter_, fitted.model_.ensemble.n_trees) == ("interrupted", 2, 6)


def test_an_interrupted_refit_leaves_the_model_of_before(long_ago, monkeypatch):
    X, y = example()
    settings = {"n_estimators": 60, "early_stopping_rounds": 5, **FAST}
    first = SapwoodRegressor(**settings).fit(X, y)

    def interrupted(*_):
        raise interrupt.InterruptedBeforeFirstRound

    monkeypatch.setattr(refit, "train_rows", interrupted)
    again = SapwoodRegressor(refit=True, on_interrupt="return", **settings).fit(X, y)
    assert again.stopped_ == "interrupted"
    assert again.model_.fingerprint() == first.model_.fingerprint()


# --- verbose ----------------------------------------------------------------------------------------------------------


def test_training_is_quiet_unless_asked(capsys):
    SapwoodRegressor(n_estimators=20).fit(*example())
    assert capsys.readouterr() == ("", "")


def test_the_bar_is_drawn_on_standard_error(capsys):
    SapwoodRegressor(n_estimators=20, verbose=True).fit(*example(), eval_set=example(seed=1))
    out, err = capsys.readouterr()
    assert out == ""
    assert "20/20  validation rmse" in err
