"""Ctrl-C is noted once, and raised the second time."""

from __future__ import annotations

import signal
import threading

import pytest

from sapwood.boost import interrupt
from sapwood.boost.interrupt import Interruption


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
