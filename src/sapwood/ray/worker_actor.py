"""The workers of a fit on Ray: actors, each of which trains on its parts and receives what the others send."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sapwood.boost.checkpoint.memory_log import count_rounds
from sapwood.distributed.collectives import PointToPointCommunicator
from sapwood.distributed.inbox import Inbox, WorkerLostError
from sapwood.distributed.journal import Journal
from sapwood.distributed.partitions import without_rows
from sapwood.distributed.worker_rows import StoredPartition, WorkerResult, WorkerRows
from sapwood.distributed.workers import ROWS, Workers
from sapwood.errors import SapwoodError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.params.declaration import AUTO
from sapwood.ray.parts import Part

StoredParts = Sequence[tuple[StoredPartition, Part]]


class Task(NamedTuple):
    """What a worker trains: an estimator, its parts, those of validation sets with the first of all, which it may lack.

    ``journal`` are the rounds that an earlier attempt has finished.
    """

    attempt: int
    estimator: SapwoodEstimator
    parts: StoredParts
    eval_sets: Mapping[str, tuple[StoredParts, Part]]
    dtype: str | None
    init_model: Any
    n_threads: int
    journal: bytes


class WorkerFailure(NamedTuple):
    """The error of a worker, and the rounds that it has finished."""

    error: SapwoodError
    journal: bytes


class RayCommunicator(PointToPointCommunicator):
    """Sends to the other actors of an attempt, and takes what they have put into the inbox of this one."""

    def __init__(self, rank: int, actors: Sequence[Any], inbox: Inbox) -> None:
        super().__init__(rank, len(actors))
        self._actors, self._inbox = actors, inbox
        self._n_sent = [0] * self.size

    def send_receive(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> dict[int, Any]:
        """Send ``parts[r]`` to worker r; return the next part of each of ``senders``."""
        for rank, part in parts.items():
            self._n_sent[rank] += 1
            self._actors[rank].put.remote(self.rank, self._n_sent[rank], part)
        return self._inbox.take(senders)


class WorkerActor:
    """One worker of one attempt. ``train`` runs in one of its threads, while others receive."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self._journal = Journal()

    def pid(self) -> int:
        """Return the number of its process: it has started."""
        return os.getpid()

    def put(self, sender: int, number: int, part: bytes) -> None:
        """Receive a part."""
        self._inbox.put(sender, number, part)

    def stop(self, reason: str) -> None:
        """End the training of this worker at its next exchange."""
        self._inbox.fail(reason)

    def segments_after(self, counts: Mapping[str, int]) -> dict[str, list[bytes]]:
        """Return the finished rounds that come after those of a checkpoint file."""
        return self._journal.segments_after(counts)

    def train(self, rank: int, actors: Sequence[Any], task: Task) -> WorkerResult | WorkerFailure:
        """Train together with the other actors."""
        self._journal = journal = Journal.from_bytes(task.journal)
        workers = Workers(RayCommunicator(rank, actors, self._inbox), ROWS, journal)
        try:
            rows, n_replayed = _read_rows(task), count_rounds(journal)
            rows.check_content(str(task.attempt))
            task.estimator.set_params(**_worker_params(task, rank))
            rows.fit(task.estimator, workers, task.dtype, task.init_model)
        except WorkerLostError as error:
            return WorkerFailure(error, journal.to_bytes())
        except SapwoodError as error:
            numbers = ", ".join(str(stored.number) for stored, _ in task.parts)
            return WorkerFailure(type(error)(f"{error} (on the worker whose rows are those of parts {numbers})"), b"")
        report = rows.report(workers, n_replayed)
        return WorkerResult(None if rank else task.estimator, task.estimator.model_.fingerprint(), report)


def _read_rows(task: Task) -> WorkerRows:
    stored, partitions = _read(task.parts)
    eval_sets = {name: (*_read(own), without_rows(first.read())) for name, (own, first) in task.eval_sets.items()}
    return WorkerRows(stored, partitions, eval_sets)


def _read(parts: StoredParts) -> tuple[list[StoredPartition], list[Any]]:
    return [stored for stored, _ in parts], [part.read() for _, part in parts]


def _worker_params(task: Task, rank: int) -> dict[str, Any]:
    """Return the parameters that depend on the worker: the first one alone calls callbacks and shows progress."""
    params: dict[str, Any] = {} if rank == 0 else {"verbose": 0, "callbacks": AUTO}
    return params | ({"n_jobs": task.n_threads} if task.estimator.n_jobs == AUTO else {})
