"""Display of progress, by ``verbose``: a bar on a terminal or in a notebook, lines elsewhere, or lines of metrics."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, TextIO

from sapwood.boost.progress import Progress, describe, describe_metrics

BAR_WIDTH = 24
BLOCKS, ASCII_BLOCKS = "█░", "#-"
REDRAW_SECONDS = 0.1
MAX_LINES = 10


class ProgressDisplay:
    """Shows nothing; the base class of the others.

    ``show`` is called after every round, ``end`` when training has ended, the context manager's exit in any case.
    """

    def show(self, progress: Progress) -> None:
        """Show the progress after a round."""

    def end(self, message: str) -> None:
        """Show why training ended."""

    def close(self) -> None:
        """Show the last round, if it was not shown yet."""

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Lines(ProgressDisplay):
    """Writes a line every ``every`` rounds, with all metrics; if that is None, ten lines with the first metric."""

    def __init__(self, stream: TextIO, every: int | None = None) -> None:
        self._stream, self._every = stream, every
        self._last: Progress | None = None
        self._written: Progress | None = None

    def show(self, progress: Progress) -> None:
        """Write a line if it is due after this round."""
        self._last = progress
        if self._is_due(progress.round, progress.n_rounds):
            self._write(progress)

    def end(self, message: str) -> None:
        """Write the last round and why training ended."""
        self.close()
        write_line(self._stream, message)

    def close(self) -> None:
        """Write the last round."""
        if self._last is not None and self._written is not self._last:
            self._write(self._last)

    def _is_due(self, round: int, n_rounds: int) -> bool:
        if self._every is not None:
            return round % self._every == 0
        return round * MAX_LINES // n_rounds > (round - 1) * MAX_LINES // n_rounds

    def _write(self, progress: Progress) -> None:
        write_line(self._stream, describe(progress) if self._every is None else describe_metrics(progress))
        self._written = progress


class Bar(ProgressDisplay):
    """Bar that is redrawn at most once per ``REDRAW_SECONDS``."""

    def __init__(self) -> None:
        self._drawn_at = -float("inf")
        self._last: Progress | None = None

    def show(self, progress: Progress) -> None:
        """Redraw the bar, if that is due."""
        self._last = progress
        if time.monotonic() - self._drawn_at >= REDRAW_SECONDS:
            self._drawn_at = time.monotonic()
            self._draw(progress, is_last=False)

    def close(self) -> None:
        """Draw the last round."""
        if self._last is not None:
            self._draw(self._last, is_last=True)
            self._last = None

    def _draw(self, progress: Progress, is_last: bool) -> None:
        raise NotImplementedError


class TerminalBar(Bar):
    """One line of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._blocks = BLOCKS if encodable(BLOCKS, stream) == BLOCKS else ASCII_BLOCKS
        self._width = 0

    def end(self, message: str) -> None:
        """Write why training ended below the bar."""
        self.close()
        write_line(self._stream, message)

    def _draw(self, progress: Progress, is_last: bool) -> None:
        line = encodable(f"{text_bar(progress, self._blocks)} {describe(progress)}", self._stream)
        print("\r" + line.ljust(self._width), end="\n" if is_last else "", file=self._stream, flush=True)
        self._width = len(line)


class NotebookBar(Bar):
    """An output of a Jupyter notebook that is updated; in a front end without HTML it is a line of text."""

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None
        self._message = ""

    def end(self, message: str) -> None:
        """Show why training ended beside the bar."""
        self._message = message
        self.close()

    def _draw(self, progress: Progress, is_last: bool) -> None:
        import html  # needed in notebooks only

        from IPython import display as notebook

        show: Any = notebook.display  # IPython has types in some versions only
        text = "  ".join(filter(None, [describe(progress), self._message]))
        bar = f'<progress value="{progress.round}" max="{progress.n_rounds}"></progress>'
        bundle = {"text/plain": text, "text/html": f"{bar} <code>{html.escape(text)}</code>"}
        if self._handle is None:
            self._handle = show(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def make_display(verbose: int, stream: TextIO | None = None) -> ProgressDisplay:
    """Return the display for a value of ``verbose``: 0 nothing, 1 a bar, above that a line every so many rounds."""
    stream = stream or sys.stderr
    if not verbose or stream is None:  # pythonw has no standard error
        return ProgressDisplay()
    if verbose > 1:
        return Lines(stream, verbose)
    if stream.isatty():
        return TerminalBar(stream)
    return NotebookBar() if in_notebook() else Lines(stream)


def in_notebook() -> bool:
    """Return whether the code runs in the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def text_bar(progress: Progress, blocks: str) -> str:
    """Return a bar of two characters, for rounds done and to come."""
    filled = BAR_WIDTH * progress.round // progress.n_rounds
    return blocks[0] * filled + blocks[1] * (BAR_WIDTH - filled)


def encodable(text: str, stream: TextIO) -> str:
    """Return the text with escapes in place of characters that the encoding of a stream does not have."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def write_line(stream: TextIO, text: str) -> None:
    """Write a line at once."""
    print(encodable(text, stream), file=stream, flush=True)
