"""Progress of training: the argument of callbacks, and the progress bar on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

BAR_WIDTH = 24
REDRAW_SECONDS = 0.1
MAX_LOG_LINES = 10

History = Mapping[str, Mapping[str, list[float]]]


@dataclass(frozen=True, eq=False)
class Progress:
    """Progress of training after a round, passed to callbacks.

    Attributes
    ----------
    round : int
        Number of finished rounds.
    n_rounds : int
        Number of all rounds.
    evals : dict
        Metrics so far as ``{set: {metric: [one value per round]}}``, a copy.
    elapsed : float
        Number of seconds since training began.

    Examples
    --------
    A callback that returns True stops training:

    >>> import sapwood
    >>> params = {"callbacks": lambda progress: progress.round == 3}
    >>> len(sapwood.train(params, [[float(i)] for i in range(50)], list(range(50))))
    3
    """

    round: int
    n_rounds: int
    evals: History
    elapsed: float

    @property
    def left(self) -> float:
        """Estimated number of seconds until the last round, from the mean time per round so far."""
        return self.elapsed / self.round * (self.n_rounds - self.round)


def describe(progress: Progress) -> str:
    """Return one line of text: a bar, rounds, the first metric of each validation set, time spent and time left."""
    filled = BAR_WIDTH * progress.round // progress.n_rounds
    bar = "█" * filled + "░" * (BAR_WIDTH - filled)
    parts = [f"{bar} {progress.round}/{progress.n_rounds}"]
    for name, metrics in progress.evals.items():
        for metric, values in list(metrics.items())[:1]:
            parts.append(f"{name} {metric} {values[-1]:.5g}")
    parts.append(f"{_clock(progress.elapsed)} spent, {_clock(progress.left)} left")
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _log_lines(round: int, n_rounds: int) -> int:
    return round * MAX_LOG_LINES // n_rounds


class ProgressBar:
    """Progress bar: one line that is redrawn on a terminal, ten separate lines in a log file."""

    def __init__(self, is_shown: bool, stream: TextIO | None = None) -> None:
        self._stream = (stream or sys.stderr) if is_shown else None
        self._drawn_at = -float("inf")
        self._width = 0
        self._last: Progress | None = None
        self._written: Progress | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, progress: Progress) -> None:
        """Show the progress after a round, at most once per ``REDRAW_SECONDS`` on a terminal."""
        if self._stream is None:
            return
        self._last = progress
        if self._stream.isatty():
            if time.monotonic() - self._drawn_at >= REDRAW_SECONDS:
                self._draw(progress)
        elif _log_lines(progress.round, progress.n_rounds) > _log_lines(progress.round - 1, progress.n_rounds):
            self._write(progress)

    def _write(self, progress: Progress) -> None:
        print(describe(progress), file=self._stream, flush=True)
        self._written = progress

    def _draw(self, progress: Progress) -> None:
        assert self._stream is not None
        line = describe(progress)
        print("\r" + line.ljust(self._width), end="", file=self._stream, flush=True)
        self._width, self._drawn_at = len(line), time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is None or self._last is None:
            return
        if self._stream.isatty():
            self._draw(self._last)
            print(file=self._stream, flush=True)
        elif self._written is not self._last:
            self._write(self._last)
