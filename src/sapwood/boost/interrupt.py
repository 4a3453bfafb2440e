"""Ctrl-C during training: the first ends training after the current tree, the second raises immediately."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

# In a sequence of fits, such as a grid search, a second Ctrl-C within this time ends all of them, not only one fit.
REPEAT_SECONDS = 2.0

_last_interrupt = -float("inf")


class InterruptedBeforeFirstRound(KeyboardInterrupt):
    """Ctrl-C before the first round was complete: there is no model to return."""


class Interruption:
    """Context manager that records Ctrl-C instead of raising KeyboardInterrupt; no effect outside the main thread."""

    def __init__(self) -> None:
        self.is_requested = False
        self._previous: object = None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)  # type: ignore[arg-type]
            self._previous = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        global _last_interrupt
        now = time.monotonic()
        is_second = self.is_requested or now - _last_interrupt < REPEAT_SECONDS
        self.is_requested = True
        _last_interrupt = now
        if is_second:
            raise KeyboardInterrupt
