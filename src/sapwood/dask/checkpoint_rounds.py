"""Finished rounds of a fit on their way between the checkpoint files of the client and the journals of workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from distributed import Client, Worker

from sapwood.dask.transport import PLUGIN, TransportPlugin
from sapwood.dask.worker_watch import TIMEOUTS
from sapwood.distributed.checkpoint_files import CheckpointFiles
from sapwood.distributed.inbox import WorkerLostError
from sapwood.distributed.journal import Journal

logger = logging.getLogger("sapwood.dask")
RECEIVE_SECONDS = 5.0  # that the client waits for the rounds of a worker
SEND_SECONDS = 120.0  # for all rounds of a checkpoint
NO_ANSWER = (OSError, KeyError, ValueError, *TIMEOUTS)  # the worker is gone or stopped


def send_rounds(client: Client, fit_id: str, address: str, files: CheckpointFiles) -> None:
    """Give a worker the rounds of the checkpoint files; it shares them with the other workers of the attempt."""
    journal = files.journal()
    if not journal.n_segments:
        return
    try:
        _run_on(client, address, SEND_SECONDS, keep_rounds, fit_id, journal.to_bytes())
    except NO_ANSWER as error:
        raise WorkerLostError(f"worker 0 ({address}) does not take the rounds of the checkpoint: {error!r}") from error


def receive_rounds(client: Client, fit_id: str, addresses: Sequence[str], files: CheckpointFiles) -> None:
    """Write the rounds that the first worker that answers has finished to the checkpoint files."""
    if not files.is_open:
        return
    files.postpone()
    try:
        present = client.sync(client.scheduler.ncores, workers=list(addresses), callback_timeout=RECEIVE_SECONDS)
    except NO_ANSWER as error:
        logger.info("the scheduler does not answer: %r", error)
        return
    for address in [one for one in addresses if one in present]:
        try:
            files.write(_run_on(client, address, RECEIVE_SECONDS, rounds_after, fit_id, files.counts))
            return
        except TIMEOUTS:
            logger.info("worker %s does not answer; the checkpoint is written later", address)
            return
        except NO_ANSWER as error:
            logger.info("worker %s is gone: %r", address, error)


async def keep_rounds(fit_id: str, data: bytes, dask_worker: Worker) -> None:
    """Keep the rounds of a checkpoint on a worker, unless it has more of them."""
    if PLUGIN not in dask_worker.plugins:
        await dask_worker.plugin_add(TransportPlugin(), name=PLUGIN)
    plugin: TransportPlugin = dask_worker.plugins[PLUGIN]
    journal = Journal.from_bytes(data)
    if journal.n_segments > plugin.journals.get(fit_id, Journal()).n_segments:
        plugin.journals[fit_id] = journal


def rounds_after(fit_id: str, counts: Mapping[str, int], dask_worker: Worker) -> dict[str, list[bytes]]:
    """Return the rounds that a worker has finished after those of the checkpoint files."""
    plugin: TransportPlugin | None = dask_worker.plugins.get(PLUGIN)
    journal: Journal = Journal() if plugin is None else plugin.journals.get(fit_id, Journal())
    return journal.segments_after(counts)


def _run_on(client: Client, address: str, seconds: float, function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function returns on the event loop of a worker."""
    answers = client.sync(client._run, function, *args, workers=[address], callback_timeout=seconds)
    return answers[address]
