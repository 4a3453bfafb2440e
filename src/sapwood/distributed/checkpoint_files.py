"""Checkpoints of fits on a cluster: files of the process that started the fit, which gets finished rounds from workers.

Workers need not see the file system of this process. The files are those of a fit on one machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from sapwood.boost.checkpoint.log import CheckpointLog
from sapwood.boost.refit import CHECKPOINT_SUFFIX
from sapwood.distributed.journal import Journal
from sapwood.errors import warn_user
from sapwood.params.declaration import REPLAY, Params


class CheckpointFiles:
    """The checkpoint file of a fit, and that of its refit, opened and locked; there are none without a checkpoint.

    Parameters
    ----------
    params : Params
        Parameters of the fit.
    """

    def __init__(self, params: Params) -> None:
        path, refit = params.run.checkpoint, params.evaluation.refit
        paths = [] if path is None else [path, path + CHECKPOINT_SUFFIX] if refit and refit != REPLAY else [path]
        self._interval = params.run.checkpoint_every
        self._received_at = time.monotonic()
        self._logs: dict[str, CheckpointLog] = {}
        self._segments: dict[str, list[bytes]] = {}
        try:
            for one in paths:
                self._logs[one] = CheckpointLog(one)
                self._segments[one] = self._logs[one].encoded_segments()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> CheckpointFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def counts(self) -> dict[str, int]:
        """Number of segments of each file."""
        return {path: len(segments) for path, segments in self._segments.items()}

    @property
    def is_open(self) -> bool:
        """Whether there is a file to which rounds are written."""
        return bool(self._logs)

    @property
    def is_due(self) -> bool:
        """Whether it is time to ask a worker for finished rounds."""
        return self.is_open and time.monotonic() - self._received_at >= self._interval

    def journal(self) -> Journal:
        """Return the rounds in the files, from which an attempt begins if its workers have fewer."""
        journal = Journal()
        journal.stages = {path: list(segments) for path, segments in self._segments.items() if segments}
        return journal

    def postpone(self) -> None:
        """Ask workers for finished rounds after another interval."""
        self._received_at = time.monotonic()

    def write(self, segments: Mapping[str, Sequence[bytes]]) -> None:
        """Append the segments of each file that come after those that it has."""
        for path, added in segments.items():
            if path not in self._logs:  # it could not be written
                continue
            try:
                self._logs[path].append_encoded(added)
                self._segments[path].extend(added)
            except OSError as error:
                warn_user(
                    f"checkpoint {path!r} can no longer be written ({error.strerror}): training continues without it",
                    RuntimeWarning,
                )
                self._logs.pop(path).close()

    def close(self) -> None:
        """Close the files; those without a segment are removed."""
        for path, log in self._logs.items():
            log.close()
            if not self._segments.get(path) and os.path.exists(path) and os.path.getsize(path) == 0:
                os.unlink(path)
        self._logs = {}
