"""A file that only grows: segments of named arrays, each with its length and checksum.

::

    22 bytes    "sapwood checkpoint 1" and a line's end
    segments    8 bytes of length, then the layout of model files (``model/container``), checksum included

A process that is killed leaves at most one unfinished segment at the end, which does not count.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.errors import CheckpointError, ModelFileError
from sapwood.model.io import safetensors_file as container

try:
    import fcntl
except ImportError:  # not there on Windows, where two trainings with one file are not told apart
    fcntl = None  # type: ignore[assignment]

MAGIC = b"sapwood checkpoint 2\r\n"
LENGTH_BYTES = 8
REMEDY = "delete the file to train anew, or give another path"


@dataclass(frozen=True, eq=False)
class Segment:
    """What was added to a journal in one step."""

    text: str
    arrays: dict[str, np.ndarray]


class CheckpointLog:
    """A journal opened for one training; nobody else can open it until it is closed."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint {path!r} cannot be written ({error.strerror}): give the path of a file in a directory "
                "that exists and may be written"
            ) from error
        self._whole = 0
        try:
            self._lock()
            self.segments = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, text: str, arrays: dict[str, np.ndarray]) -> None:
        """Add a segment. It is on the disk when this returns; before, a killed process leaves the file as it was."""
        data = container.write(text, arrays)
        start = MAGIC if self._whole == 0 else b""
        written = start + len(data).to_bytes(LENGTH_BYTES, "little") + data
        self._file.seek(self._whole)
        self._file.truncate()
        view = memoryview(written)
        while view:
            view = view[self._file.write(view) :]
        os.fsync(self._file.fileno())
        self._whole += len(written)

    def close(self) -> None:
        """Let others open it."""
        self._file.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CheckpointError(
                f"checkpoint {self.path!r} is being written by another training: wait for it, or give another path"
            ) from error
        except OSError:  # a file system that knows no locks
            return

    def _read(self) -> list[Segment]:
        data = self._file.read()
        if not data.startswith(MAGIC) and not MAGIC.startswith(data):
            raise CheckpointError(
                f"{self.path!r} is not a checkpoint of this version of Sapwood, and is left as it is: give another path"
            )
        place, segments = len(MAGIC), []
        while (end := _end_of(data, place)) is not None:
            try:
                segments.append(_segment(data[place + LENGTH_BYTES : end]))
            except ModelFileError as error:
                if not segments:
                    raise CheckpointError(f"checkpoint {self.path!r} is damaged at its start: {REMEDY}") from error
                break
            place = self._whole = end
        return segments


def _end_of(data: bytes, place: int) -> int | None:
    """Where the segment at this place ends; None if it was not finished."""
    end = place + LENGTH_BYTES + int.from_bytes(data[place : place + LENGTH_BYTES], "little")
    return end if place + LENGTH_BYTES < end <= len(data) else None


def _segment(data: bytes) -> Segment:
    text, arrays = container.read(io.BytesIO(data), len(data))
    return Segment(text, arrays)


def described(segment: Segment) -> dict[str, Any]:
    """The JSON object that a segment begins with."""
    return container.parse_json(segment.text, "a segment")
