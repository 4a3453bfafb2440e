"""Ctrl-C during training: the first ends it after the tree at hand, a second raises at once."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

# Where one fit follows another, as in a search, a second Ctrl-C means all of them, if it comes this soon.
IMPATIENCE_SECONDS = 2.0

_last_heard = -float("inf")


class InterruptedBeforeFirstRound(KeyboardInterrupt):
    """Ctrl-C before there was a model to return."""


class Interruption:
    """Notes Ctrl-C instead of raising it, while it is used as a context in the main thread."""

    def __init__(self) -> None:
        self.was_asked = False
        self._previous: object = None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._previous = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)  # type: ignore[arg-type]
            self._previous = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        global _last_heard
        now = time.monotonic()
        is_second = self.was_asked or now - _last_heard < IMPATIENCE_SECONDS
        self.was_asked = True
        _last_heard = now
        if is_second:
            raise KeyboardInterrupt
