"""What a Dask worker does in a fit: join its partitions and train on them together with the other workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from distributed import Worker, get_worker, secede

from sapwood.boost.checkpoint.memory_log import count_rounds
from sapwood.dask.progress_events import LogProgress
from sapwood.dask.training_thread import run_in_thread
from sapwood.dask.transport import PLUGIN, DaskCommunicator, TransportPlugin
from sapwood.dask.worker_watch import report_begin
from sapwood.distributed.communicator import Communicator
from sapwood.distributed.inbox import WorkerLostError
from sapwood.distributed.journal import Journal
from sapwood.distributed.partitions import Partition, common_type
from sapwood.distributed.worker_rows import EvalRows, StoredPartition, WorkerResult, WorkerRows
from sapwood.distributed.workers import ROWS, Workers
from sapwood.errors import SapwoodError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.params.declaration import AUTO
from sapwood.params.resolve import check_value


class Attempt(NamedTuple):
    """An attempt to train: the id of the fit, the number of the attempt, and the workers by rank."""

    fit_id: str
    number: int
    addresses: tuple[str, ...]

    @property
    def run(self) -> str:
        """Id of the run of workers that exchange messages."""
        return f"{self.fit_id}/{self.number}"


class WorkerFailure(NamedTuple):
    """The error of a worker: returned rather than raised, because Dask would log it as a failure of its own."""

    error: SapwoodError


def train_on_worker(
    rank: int,
    attempt: Attempt,
    estimator: SapwoodEstimator,
    stored: Sequence[StoredPartition],
    partitions: Sequence[Partition],
    eval_sets: Mapping[str, EvalRows],
    arguments: Mapping[str, Any],
) -> WorkerResult | WorkerFailure:
    """Train on the partitions of a worker, together with the other workers of an attempt."""
    worker, rows = get_worker(), WorkerRows(stored, partitions, eval_sets)
    try:
        report_begin(worker, rank, attempt.run)
        # The thread is left to other tasks: those that compute lost partitions again, and the workers of other fits.
        secede()
        # After a loss every partition is checked: a worker that was started again may have the address of the lost one.
        rows.check_content("" if attempt.number else worker.address)
        return _train(rank, attempt, estimator, rows, arguments)
    except WorkerLostError as error:
        return WorkerFailure(error)
    except SapwoodError as error:
        numbers = ", ".join(str(one.number) for one in stored)
        where = f"(on worker {worker.address}, whose rows are those of partitions {numbers})"
        return WorkerFailure(type(error)(f"{error} {where}"))


def _train(
    rank: int, attempt: Attempt, estimator: SapwoodEstimator, rows: WorkerRows, arguments: Mapping[str, Any]
) -> WorkerResult:
    """Connect to the other workers, begin where an earlier attempt ended, and train."""
    plugin, worker = TransportPlugin.here(), get_worker()
    with DaskCommunicator(rank, attempt.addresses, attempt.run) as communicator:
        journal = share_journal(plugin.journals.get(attempt.fit_id, Journal()), communicator)
        plugin.journals[attempt.fit_id] = journal
        dtype = _common_type(rows.stored, communicator)
        estimator.set_params(**_worker_params(estimator, rank, worker, arguments["topic"]))
        workers, n_replayed = Workers(communicator, ROWS, journal), count_rounds(journal)
        run_in_thread(rows.fit, estimator, workers, dtype, arguments["init_model"])
    report = {"address": worker.address, **rows.report(workers, n_replayed)}
    return WorkerResult(estimator if rank == 0 else None, estimator.model_.fingerprint(), report)


def share_journal(journal: Journal, communicator: Communicator) -> Journal:
    """Return the journal of the worker that came furthest in earlier attempts."""
    communicator.purpose = "journal"
    progress = np.concatenate(communicator.gather(np.array([journal.n_segments]))).tolist()
    furthest = max(progress)
    donor = progress.index(furthest)
    data = journal.to_bytes() if communicator.rank == donor and len(set(progress)) > 1 else b""
    received = communicator.exchange([data if one != furthest else b"" for one in progress])[donor]
    journal = Journal.from_bytes(bytes(received)) if len(received) else journal
    journal.rewind()
    return journal


def forget_fit(fit_id: str, dask_worker: Worker) -> None:
    """Drop what a worker keeps of a fit that has ended."""
    plugin: TransportPlugin | None = dask_worker.plugins.get(PLUGIN)
    if plugin is None:
        return
    plugin.journals.pop(fit_id, None)
    for run in [run for run in plugin.inboxes if run.startswith(fit_id)]:
        plugin.end(run)


def _common_type(stored: Sequence[StoredPartition], communicator: Communicator) -> str | None:
    """Return the type that holds the arrays X of all workers; None where they are not numeric arrays."""
    types = {one.facts.dtype for one in stored}
    gathered = Workers(communicator, ROWS).gather_texts(",".join(sorted(map(str, types))))
    return common_type({None if name == "None" else name for text in gathered for name in text.split(",")})


def _worker_params(estimator: SapwoodEstimator, rank: int, worker: Worker, topic: str | None) -> dict[str, Any]:
    """Return the parameters that depend on the worker: the first one alone calls callbacks and logs progress."""
    callbacks = () if rank > 0 or estimator.callbacks == AUTO else check_value("callbacks", estimator.callbacks)
    if rank == 0 and topic is not None:
        callbacks = (*callbacks, LogProgress(topic))
    params: dict[str, Any] = {"verbose": 0, "callbacks": callbacks or AUTO}
    if estimator.n_jobs == AUTO:
        params["n_jobs"] = worker.state.nthreads
    return params
