"""Ctrl-C is noted once, and raised the second time."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from sklearn.model_selection import GridSearchCV

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost import interrupt
from sapwood.boost.interrupt import Interruption
from sapwood.errors import TrainingInterrupted
from tests.boost.examples import FAST, example, labelled


@pytest.fixture(autouse=True)
def long_ago(monkeypatch):
    monkeypatch.setattr(interrupt, "_last_interrupt", -float("inf"))


def test_the_first_is_noted():
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_requested


def test_the_second_raises():
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


def test_the_handler_from_before_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interruption():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_the_handler_is_put_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError), Interruption():
        raise ValueError
    assert signal.getsignal(signal.SIGINT) == before


def test_a_second_soon_after_the_first_raises_even_in_the_next_fit():
    with Interruption():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)


def test_a_second_much_later_is_a_first_again(monkeypatch):
    with Interruption():
        signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(interrupt, "_last_interrupt", interrupt._last_interrupt - 60.0)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_requested


def test_other_threads_leave_the_handler_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work() -> None:
        with Interruption():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_process_that_ignores_it_goes_on_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGINT)
            assert not interruption.is_requested
    finally:
        signal.signal(signal.SIGINT, before)


def press(at: int, times: int = 1):
    def callback(progress):
        if progress.round == at:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return callback


def test_an_interruption_raises_and_keeps_the_model_so_far():
    X, y = example()
    made = SapwoodRegressor(n_estimators=50, callbacks=press(at=4))
    with pytest.raises(TrainingInterrupted, match=r"after 4 rounds.*on_interrupt='return'") as caught:
        made.fit(X, y)
    assert (made.stopped_, made.n_iter_) == ("interrupted", 4)
    assert caught.value.model is made.model_
    assert isinstance(caught.value, KeyboardInterrupt)


def test_an_interruption_of_the_function_carries_the_model_so_far():
    X, y = example()
    with pytest.raises(TrainingInterrupted) as caught:
        sapwood.train({"n_estimators": 50, "callbacks": press(at=4)}, X, y)
    assert caught.value.model.n_iterations == 4


def test_an_interruption_ends_a_search():
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


def test_an_interruption_returns_the_model_so_far_if_asked():
    X, y = example()
    fitted = SapwoodRegressor(n_estimators=50, callbacks=press(at=4), on_interrupt="return").fit(X, y)
    assert (fitted.stopped_, fitted.n_iter_) == ("interrupted", 4)
    assert fitted.model_.fingerprint() == SapwoodRegressor(n_estimators=4).fit(X, y).model_.fingerprint()


def test_an_interruption_keeps_the_best_round_of_early_stopping():
    settings = {"n_estimators": 500, "early_stopping_rounds": 400, "on_interrupt": "return", **FAST}
    made = SapwoodRegressor(callbacks=press(at=100), **settings)
    made.fit(*example(), eval_set=example(seed=1))
    assert made.stopped_ == "interrupted"
    assert made.n_iter_ == made.best_iteration_ < 100


def test_a_second_interruption_raises_and_leaves_no_model():
    made = SapwoodRegressor(n_estimators=50, callbacks=press(at=4, times=2))
    with pytest.raises(KeyboardInterrupt):
        made.fit(*example())
    assert not hasattr(made, "model_")


def test_an_interruption_before_the_first_round_raises(monkeypatch):
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


def test_a_round_that_is_not_complete_is_dropped():
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
