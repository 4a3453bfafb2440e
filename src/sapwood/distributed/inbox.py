"""Parts that other workers of a fit have sent to one worker, as they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any

from sapwood.errors import TrainingError

CHECK_SECONDS = 0.25  # between looks at whether the fit was cancelled


class WorkerLostError(TrainingError):
    """A worker of the run is lost, has failed or was cancelled: the run is over, and may be tried again."""


class Inbox:
    """Parts by sender, in the order of the numbers that senders give them, from 1.

    Threads that receive add parts, the thread that trains takes them.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._parts: dict[tuple[int, int], Any] = {}
        self._n_taken: dict[int, int] = {}
        self._failure: str | None = None

    def put(self, sender: int, number: int, part: Any) -> None:
        """Add a part of a sender."""
        with self._condition:
            self._parts[sender, number] = part
            self._condition.notify()

    def fail(self, reason: str) -> None:
        """End the run: whoever waits for a part that has not come gets a WorkerLostError."""
        with self._condition:
            self._failure = self._failure or reason
            self._condition.notify()

    def check(self, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        """Raise WorkerLostError if the run has ended or was cancelled."""
        if self._failure is not None:
            raise WorkerLostError(self._failure)
        if is_cancelled():
            raise WorkerLostError("the fit was cancelled")

    def take(self, senders: Collection[int], is_cancelled: Callable[[], bool] = lambda: False) -> dict[int, Any]:
        """Return the next part of each sender; wait for those that have not come."""
        with self._condition:
            keys = [(sender, self._n_taken.get(sender, 0) + 1) for sender in senders]
            self.wait_until(lambda: all(key in self._parts for key in keys), is_cancelled)
            self._n_taken.update(keys)
            return {key[0]: self._parts.pop(key) for key in keys}

    def wait_until(self, is_there: Callable[[], bool], is_cancelled: Callable[[], bool]) -> None:
        """Wait until something is there; raise WorkerLostError if the run ends or is cancelled before."""
        with self._condition:
            while not is_there():
                self.check()
                if not self._condition.wait(CHECK_SECONDS):
                    self.check(is_cancelled)
