"""A thread on which a Dask worker trains.

Dask looks at the stack of every thread that runs a task a hundred times a second, and holds the interpreter lock
meanwhile: half a millisecond for a stack as deep as that of training, which is a twentieth of its time. The thread of
the task therefore only waits for another one, which is not looked at.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_in_thread(function: Callable[..., Result], *args: Any) -> Result:
    """Return what a function returns on a thread of its own, in the context of this one, or raise what it raises."""
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(function(*args))
        except BaseException as error:
            outcome.set_exception(error)

    # It does not keep a process from ending, as the threads of Dask's tasks do not.
    threading.Thread(
        target=contextvars.copy_context().run, args=(run,), name="sapwood-training", daemon=True
    ).start()  # fmt: skip
    return outcome.result()
