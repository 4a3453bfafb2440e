"""Train on a Dask cluster: partitions are computed where Dask puts them, and their workers train one model together.

If a worker is lost, the others stop. Dask computes the lost partitions again on workers that are there, and the next
attempt begins with the rounds that were finished: it ends with the model that an undisturbed fit would have given.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from dask.delayed import Delayed
from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm import CommClosedError

from sapwood.dask.checkpoint_rounds import receive_rounds, send_rounds
from sapwood.dask.partitions import describe_on_worker
from sapwood.dask.placement import Share, StoredRows, place, wait_for
from sapwood.dask.progress_events import displayed_progress
from sapwood.dask.transport import TransportPlugin
from sapwood.dask.worker_task import (
    Attempt,
    WorkerFailure,
    forget_fit,
    train_on_worker,
)
from sapwood.dask.worker_watch import WorkerWatch
from sapwood.distributed.checkpoint_files import CheckpointFiles
from sapwood.distributed.cost import log_attempt
from sapwood.distributed.inbox import WorkerLostError
from sapwood.distributed.partitions import without_rows
from sapwood.distributed.retries import fit_with_retries
from sapwood.distributed.worker_rows import StoredPartition, WorkerResult, number_rows
from sapwood.errors import TrainingError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.params.declaration import AUTO
from sapwood.params.resolve import check_value

logger = logging.getLogger("sapwood.dask")
LOST = (WorkerLostError, KilledWorker, CommClosedError, CancelledError)
FORGET_SECONDS = 3.0  # that a fit waits at its end for workers to answer
GRACE_SECONDS = 1.0  # for workers to tell why they failed, after the first one has ended


class ClusterFit(NamedTuple):
    """What is trained, on a cluster: an estimator without Dask, rows, validation sets, further arguments of fit.

    ``empty`` has a partition without rows for each validation set; ``files`` are the checkpoints of this process.
    """

    client: Client
    fit_id: str
    estimator: SapwoodEstimator
    rows: StoredRows
    eval_sets: dict[str, StoredRows]
    empty: dict[str, Future]
    arguments: Mapping[str, Any]
    files: CheckpointFiles


def fit_on_cluster(
    client: Client,
    estimator: SapwoodEstimator,
    rows: Sequence[Delayed],
    eval_sets: Mapping[str, Sequence[Delayed]],
    arguments: Mapping[str, Any],
    retries: int,
    files: CheckpointFiles,
) -> tuple[SapwoodEstimator, dict[str, Any]]:
    """Return the fitted estimator, and a report of attempts and of what the workers exchanged."""
    _register_transport(client)
    fit_id = uuid.uuid4().hex
    stored = _store(client, {"": rows, **eval_sets})
    training = stored.pop("")
    empty = {name: client.submit(without_rows, one.futures[0], pure=False) for name, one in stored.items()}
    verbose = int(check_value("verbose", 0 if estimator.verbose == AUTO else estimator.verbose))
    arguments = {**arguments, "topic": f"sapwood-{fit_id}" if verbose else None}
    fit = ClusterFit(client, fit_id, estimator, training, stored, empty, arguments, files)
    try:
        with displayed_progress(client, f"sapwood-{fit_id}", verbose):
            return fit_with_retries(partial(_attempt, fit), retries, logger)
    finally:
        _forget(client, fit_id)
        for one in (training, *stored.values()):
            _release(one.futures)


def _register_transport(client: Client) -> None:
    """Add the transport to all workers, and to those that will join."""
    try:
        client.register_plugin(TransportPlugin())
    except OSError as error:  # a worker has just died; the others have the plugin, or add it when they train
        logger.info("the transport was not added to all workers: %s", error)


def _release(futures: Sequence[Future]) -> None:
    """Let workers drop results at once, rather than when Python collects the garbage of this process."""
    for future in futures:
        future.release()


def _forget(client: Client, fit_id: str) -> None:
    """Let workers drop what they keep of a fit; one that does not answer, because it is stopped, does so later."""

    def forget() -> None:
        try:
            client.run(forget_fit, fit_id, on_error="ignore")
        except Exception as error:  # the cluster is being closed
            logger.debug("workers were not told that fit %s has ended: %s", fit_id, error)

    thread = threading.Thread(target=forget, name="sapwood-forget", daemon=True)
    thread.start()
    thread.join(FORGET_SECONDS)


def _attempt(fit: ClusterFit, number: int) -> tuple[SapwoodEstimator, dict[str, Any]]:
    """Train; raise WorkerLostError if a worker is lost on the way."""
    shares = place(fit.client, fit.rows, fit.eval_sets)
    attempt = Attempt(fit.fit_id, number, tuple(share.address for share in shares))
    log_attempt(logger, number, fit.estimator, fit.rows.facts, len(shares))
    send_rounds(fit.client, fit.fit_id, shares[0].address, fit.files)
    return _first_result(_run(fit, attempt, shares), number + 1)


def _store(client: Client, rows: Mapping[str, Sequence[Delayed]]) -> dict[str, StoredRows]:
    """Compute all partitions and find their facts."""
    futures = {name: client.compute(list(one)) for name, one in rows.items()}
    facts = {name: client.map(describe_on_worker, one, pure=False) for name, one in futures.items()}
    for name in rows:
        wait_for(client, futures[name])
    return {name: StoredRows(futures[name], client.gather(facts[name])) for name in rows}


def _run(fit: ClusterFit, attempt: Attempt, shares: Sequence[Share]) -> list[WorkerResult]:
    """Let all workers train; raise WorkerLostError if one is lost, or the error of the one that failed by itself."""
    futures = [_submit(fit, attempt, rank, share) for rank, share in enumerate(shares)]
    try:
        watch = WorkerWatch(fit.client, attempt.addresses, attempt.run, poll=partial(_write_checkpoint, fit, attempt))
        outcomes = _collect(watch, futures)
        errors = [one for one in outcomes if isinstance(one, Exception)]
        for error in errors:
            if not isinstance(error, LOST):
                raise error
        if errors or len(outcomes) < len(futures):
            raise WorkerLostError(min(map(str, errors), default="a worker was cancelled"))
        return [one for one in outcomes if isinstance(one, WorkerResult)]
    except LOST as error:
        if not _is_open(fit.client):
            raise TrainingError("the client was closed while it trained: keep it open until fit returns") from error
        raise WorkerLostError(str(error)) from error
    finally:
        if _is_open(fit.client):
            receive_rounds(fit.client, fit.fit_id, attempt.addresses, fit.files)
            # Workers that train notice it at their next exchange; so they do if this process is interrupted or dies.
            fit.client.cancel([future for future in futures if future.status == "pending"], force=True)
        _release(futures)


def _is_open(client: Client) -> bool:
    return bool(client.status == "running")


def _write_checkpoint(fit: ClusterFit, attempt: Attempt) -> None:
    """Write the rounds that workers have finished to the checkpoint, if it is time to."""
    if fit.files.is_due:
        receive_rounds(fit.client, fit.fit_id, attempt.addresses, fit.files)


def _collect(watch: WorkerWatch, futures: Sequence[Future]) -> list[WorkerResult | Exception]:
    """Return the results and errors of all workers by rank, or those that came soon after the first error."""
    outcomes: dict[Future, WorkerResult | Exception] = {}
    pending, seconds = set(futures), None
    while pending:
        done, pending = watch.wait(pending, seconds)
        if not done:
            break
        outcomes |= _outcomes(watch, done)
        if any(isinstance(one, Exception) for one in outcomes.values()):
            seconds = GRACE_SECONDS
    return [outcomes[future] for future in futures if future in outcomes]


def _outcomes(watch: WorkerWatch, ended: Collection[Future]) -> dict[Future, WorkerResult | Exception]:
    """Return the result of each worker that has ended, or its error."""
    finished = [future for future in ended if future.status == "finished"]
    results: list[WorkerResult | WorkerFailure] = watch.gather(finished)
    outcomes: dict[Future, WorkerResult | Exception] = {
        future: result.error if isinstance(result, WorkerFailure) else result
        for future, result in zip(finished, results, strict=True)
    }
    for future in ended:
        if future not in outcomes:
            is_error = future.status == "error"
            outcomes[future] = future.exception() if is_error else WorkerLostError("the task of a worker was cancelled")
    return outcomes


def _submit(fit: ClusterFit, attempt: Attempt, rank: int, share: Share) -> Future:
    """Submit the task of a worker, which no other worker may run: the ``WorkerWatch`` notices that it is gone."""
    eval_sets = {
        name: (*_parts_of(one, share.eval_numbers[name]), fit.empty[name]) for name, one in fit.eval_sets.items()
    }
    return fit.client.submit(
        train_on_worker, rank, attempt, fit.estimator, *_parts_of(fit.rows, share.numbers), eval_sets, fit.arguments,
        workers=[share.address], allow_other_workers=False, pure=False, retries=0,
        key=f"sapwood-fit-{attempt.fit_id}-{attempt.number}-{rank}",
    )  # fmt: skip


def _parts_of(rows: StoredRows, numbers: Sequence[int]) -> tuple[list[StoredPartition], list[Future]]:
    stored = number_rows(rows.facts)
    return [stored[k] for k in numbers], [rows.futures[k] for k in numbers]


def _first_result(results: Sequence[WorkerResult], n_attempts: int) -> tuple[SapwoodEstimator, dict[str, Any]]:
    fingerprints = {result.fingerprint for result in results}
    estimator = results[0].estimator
    assert len(fingerprints) == 1 and estimator is not None
    return estimator, {"attempts": n_attempts, "workers": [result.report for result in results]}
