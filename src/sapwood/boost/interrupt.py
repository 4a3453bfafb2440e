"""Ctrl-C during training: the first ends training after the current tree, the second raises immediately."""

from __future__ import annotations

import contextvars
import signal
import threading
import time
from types import FrameType, TracebackType

# In a sequence of fits, such as a grid search, a second Ctrl-C within this time ends all of them, not only one fit.
REPEAT_SECONDS = 2.0

_last_interrupt = -float("inf")
_enclosing: contextvars.ContextVar[Interruption | None] = contextvars.ContextVar("enclosing", default=None)


class InterruptedBeforeFirstRound(KeyboardInterrupt):
    """Ctrl-C before the first round was complete: there is no model to return."""


class Interruption:
    """Context manager that records Ctrl-C instead of raising KeyboardInterrupt; no effect outside the main thread.

    An enclosing one, which may be that of another thread, records it for those within.
    """

    def __init__(self) -> None:
        self._is_requested = False
        self._previous: object = None
        self._outer: Interruption | None = None
        self._token: contextvars.Token[Interruption | None] | None = None

    @property
    def is_requested(self) -> bool:
        """Whether training is to end after the current tree."""
        return self._is_requested or (self._outer is not None and self._outer.is_requested)

    def request(self) -> None:
        """Let training end after the current tree."""
        self._is_requested = True

    def __enter__(self) -> Interruption:
        self._outer = _enclosing.get()
        self._token = _enclosing.set(self)
        is_main = threading.current_thread() is threading.main_thread()
        if self._outer is None and is_main and callable(signal.getsignal(signal.SIGINT)):
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _enclosing.reset(self._token)
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)  # type: ignore[arg-type]
            self._previous = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        global _last_interrupt
        now = time.monotonic()
        is_second = self._is_requested or now - _last_interrupt < REPEAT_SECONDS
        self._is_requested = True
        _last_interrupt = now
        if is_second:
            raise KeyboardInterrupt
