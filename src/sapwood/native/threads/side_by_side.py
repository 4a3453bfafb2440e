"""Run calls side by side in several Python threads that share the cores.

Small tables leave cores idle while Python works between two kernels. Where there are several fits, each has a thread of
its own and a part of the cores; the last ones get those of the others (``Team.take_free_cores``).
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from sapwood.lazy_dataclass import dataclass

Value = TypeVar("Value")

_of_thread = threading.local()


class CoreShare:
    """Counts the Python threads that are at work, among which the cores are divided."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_working = 0

    def __enter__(self) -> None:
        with self._lock:
            self._n_working += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_working -= 1

    def part_of(self, size: int) -> int:
        """Return the part of a number of cores that each thread at work has now."""
        return max(1, size // max(1, self._n_working))


def current_share() -> CoreShare | None:
    """Return the share of the calls that this thread runs side by side with others; None if there are no others."""
    return getattr(_of_thread, "share", None)


@dataclass(frozen=True, eq=False)
class Outcome(Generic[Value]):
    """What a call returned, or the error that it raised."""

    value: Value | None
    error: BaseException | None = None

    def result(self) -> Value:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


def run_side_by_side(
    calls: Iterator[Callable[[], Value]], n_threads: int, stop: Callable[[], None]
) -> list[Outcome[Value]]:
    """Run calls in ``n_threads`` Python threads, this one among them; return their outcomes in the order of the calls.

    Threads take turns to advance the iterator, so that what it does for the next call is done in order by one thread
    at a time, with all cores that no call uses. After an error no further call begins, and ``stop`` is called, which is
    to make the others end soon. They have ended when this function returns, whatever interrupts it.
    """
    return _SideBySide(calls, stop).run(n_threads)


class _SideBySide(Generic[Value]):
    def __init__(self, calls: Iterator[Callable[[], Value]], stop: Callable[[], None]) -> None:
        self._calls, self._stop = calls, stop
        self._share, self._turn = CoreShare(), threading.Lock()
        self._outcomes: list[Outcome[Value] | None] = []
        self._is_ended = False

    def run(self, n_threads: int) -> list[Outcome[Value]]:
        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(self._work,), name=f"sapwood-fit-{k}")
            for k in range(1, n_threads)
        ]
        try:
            for thread in threads:
                thread.start()
            self._work()
            _join(threads)
        except BaseException:
            self._end()
            _join_whatever_interrupts(threads)
            raise
        return [outcome for outcome in self._outcomes if outcome is not None]

    def _work(self) -> None:
        """Run one call after the other in this thread."""
        before, _of_thread.share = current_share(), self._share
        try:
            while (taken := self._take()) is not None:
                number, call = taken
                try:
                    with self._share:
                        self._outcomes[number] = Outcome(call())
                except BaseException as error:
                    self._end_with(number, error)
        finally:
            _of_thread.share = before

    def _take(self) -> tuple[int, Callable[[], Value]] | None:
        """Advance the iterator; None if it has ended."""
        with self._turn:
            if self._is_ended:
                return None
            number = len(self._outcomes)
            self._outcomes.append(None)
            try:
                with self._share:
                    return number, next(self._calls)
            except StopIteration:
                self._is_ended = True
            except BaseException as error:
                self._end_with(number, error)
            return None

    def _end_with(self, number: int, error: BaseException) -> None:
        self._outcomes[number] = Outcome(None, error)
        self._end()

    def _end(self) -> None:
        self._is_ended = True
        self._stop()


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        if thread.ident is not None:
            thread.join()


def _join_whatever_interrupts(threads: list[threading.Thread]) -> None:
    while True:
        try:
            return _join(threads)
        except BaseException:
            continue
