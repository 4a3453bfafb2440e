"""The checkpoint log of a distributed fit: a file of the first worker, whose content all workers receive."""

from __future__ import annotations

from sapwood.boost.checkpoint.log import CheckpointLog
from sapwood.boost.checkpoint.memory_log import MemoryLog
from sapwood.distributed.journal import Journal
from sapwood.distributed.workers import Workers
from sapwood.errors import CheckpointError


def open_shared_log(path: str, workers: Workers) -> CheckpointLog | MemoryLog:
    """Open a checkpoint file at the first worker; return a log with the segments of the file at every worker.

    An error is raised at all workers. Scores are not compared: other workers may have had the rows before.
    """
    log, error = None, None
    if workers.is_first:
        try:
            log = CheckpointLog(path)
            log.checks_scores = False
        except CheckpointError as one:
            error = one
    message = workers.broadcast_text(None if error is None else str(error))
    if message is not None:
        raise error or CheckpointError(message)
    journal = Journal()
    stage = journal.open_stage()
    if log is not None:
        stage += log.encoded_segments()
    journal = Journal.from_bytes(workers.broadcast_bytes(journal.to_bytes()))
    return MemoryLog(journal.open_stage(), path) if log is None else log
