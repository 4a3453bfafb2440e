"""Training on a thread of its own."""

from __future__ import annotations

import contextvars
import threading

import pytest

from sapwood.dask.training_thread import run_in_thread

NUMBER: contextvars.ContextVar[int] = contextvars.ContextVar("NUMBER")


def test_a_function_runs_on_another_thread_in_the_context_of_its_caller() -> None:
    NUMBER.set(7)
    number, thread = run_in_thread(lambda more: (NUMBER.get() + more, threading.current_thread()), 1)
    assert number == 8
    assert thread is not threading.current_thread()
    assert thread.daemon


@pytest.mark.parametrize("error", [ValueError("wrong"), KeyboardInterrupt()])
def test_its_error_is_raised_here(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_in_thread(fail)
    assert caught.value is error
