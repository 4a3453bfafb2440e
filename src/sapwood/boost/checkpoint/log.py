"""An append-only file: segments of named arrays, each with its length and checksum.

::

    22 bytes    "sapwood checkpoint 4" and a line end
    segments    8 bytes of length, then the format of model files (``model/io/safetensors_file.py``), checksum included

A process that is killed leaves at most one incomplete segment at the end, which is ignored.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.boost.checkpoint import REMEDY
from sapwood.errors import CheckpointError, ModelFileError
from sapwood.lazy_dataclass import dataclass
from sapwood.model.io import safetensors_file

try:
    import fcntl
except ImportError:  # Windows, where two fits with one file are not detected
    fcntl = None  # type: ignore[assignment]

MAGIC = b"sapwood checkpoint 4\r\n"
LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment of a checkpoint log: JSON text and named arrays."""

    text: str
    arrays: dict[str, np.ndarray]

    def parse(self) -> dict[str, Any]:
        """Return the JSON object of the text."""
        return safetensors_file.parse_json(self.text, "a segment")


class CheckpointLog:
    """A checkpoint file opened for one fit; it is locked until it is closed. ``segments`` are those read from it."""

    checks_scores = True

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint {path!r} cannot be written ({error.strerror}): pass the path of a file in an existing, "
                "writable directory"
            ) from error
        self._valid_size = 0
        try:
            self._lock()
            self.segments = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, text: str, arrays: dict[str, np.ndarray]) -> None:
        """Append a segment; it is on disk when this returns, and a process killed before leaves the file valid."""
        self.append_encoded([safetensors_file.write(text, arrays)])

    def append_encoded(self, segments: Sequence[bytes]) -> None:
        """Append segments that ``safetensors_file.write`` wrote."""
        start = MAGIC if self._valid_size == 0 else b""
        written = start + b"".join(len(data).to_bytes(LENGTH_BYTES, "little") + data for data in segments)
        self._file.seek(self._valid_size)
        self._file.truncate()
        view = memoryview(written)
        while view:
            view = view[self._file.write(view) :]
        os.fsync(self._file.fileno())
        self._valid_size += len(written)

    def encoded_segments(self) -> list[bytes]:
        """Return the segments that were read from the file, as they are in it."""
        return [safetensors_file.write(one.text, one.arrays) for one in self.segments]

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CheckpointError(
                f"checkpoint {self.path!r} is in use by another fit: wait until it ends, or pass another path"
            ) from error
        except OSError:  # a file system without locks
            return

    def _read(self) -> list[Segment]:
        data = self._file.read()
        if not data.startswith(MAGIC) and not MAGIC.startswith(data):
            raise CheckpointError(
                f"{self.path!r} is not a checkpoint of this version of Sapwood and was not changed: pass another path, "
                "or delete the file"
            )
        start, segments = len(MAGIC), []
        while (end := _segment_end(data, start)) is not None:
            try:
                segments.append(read_segment(data[start + LENGTH_BYTES : end]))
            except ModelFileError as error:
                if not segments:
                    raise CheckpointError(f"checkpoint {self.path!r} is damaged at its start: {REMEDY}") from error
                break
            start = self._valid_size = end
        return segments


def _segment_end(data: bytes, start: int) -> int | None:
    """Return the end of the segment that starts here; None if it is incomplete."""
    end = start + LENGTH_BYTES + int.from_bytes(data[start : start + LENGTH_BYTES], "little")
    return end if start + LENGTH_BYTES < end <= len(data) else None


def read_segment(data: bytes) -> Segment:
    """Return the segment that ``safetensors_file.write`` wrote."""
    text, arrays = safetensors_file.read(io.BytesIO(data), len(data))
    return Segment(text, arrays)
