"""How far training is: for callbacks, and drawn as a bar on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

BAR_WIDTH = 24
SECONDS_BETWEEN = 0.1
LINES_OF_A_LOG = 10

History = Mapping[str, Mapping[str, list[float]]]


@dataclass(frozen=True, eq=False)
class Progress:
    """What a callback is told after each round.

    ``round`` is the number of rounds done and ``n_rounds`` that of all, ``evals`` the metrics so far as
    ``{set: {metric: [one per round]}}`` (not to be changed), ``elapsed`` the seconds since training began.
    """

    round: int
    n_rounds: int
    evals: History
    elapsed: float

    @property
    def left(self) -> float:
        """Seconds until the last round, if all take as long as those so far."""
        return self.elapsed / self.round * (self.n_rounds - self.round)


def describe(progress: Progress) -> str:
    """One line: rounds, the first metric of each set, and the time left."""
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


def _tenths(round: int, n_rounds: int) -> int:
    return round * LINES_OF_A_LOG // n_rounds


class ProgressBar:
    """Draws progress on one line of a terminal, or ten times on lines of their own where there is none."""

    def __init__(self, is_shown: bool, stream: TextIO | None = None) -> None:
        self._stream = (stream or sys.stderr) if is_shown else None
        self._drawn_at = -float("inf")
        self._width = 0
        self._last: Progress | None = None
        self._written: Progress | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, progress: Progress) -> None:
        """Draw, unless the line is fresh."""
        if self._stream is None:
            return
        self._last = progress
        if self._stream.isatty():
            if time.monotonic() - self._drawn_at >= SECONDS_BETWEEN:
                self._draw(progress)
        elif _tenths(progress.round, progress.n_rounds) > _tenths(progress.round - 1, progress.n_rounds):
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
