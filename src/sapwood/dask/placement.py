"""Which worker trains on which partitions: those that it has in memory, so that rows are not moved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from distributed import CancelledError, Client, Future, KilledWorker

from sapwood.dask.worker_watch import POLL_SECONDS, TIMEOUTS, find_running, wait_on
from sapwood.distributed.partitions import PartitionFacts
from sapwood.errors import InputError, TrainingError

WAIT_SECONDS = 0.05
IDLE_SECONDS = 300.0  # without a task on any worker, after which partitions are not waited for


class Share(NamedTuple):
    """The partitions of a worker: numbers of those of training, and of those of each validation set."""

    address: str
    numbers: list[int]
    eval_numbers: dict[str, list[int]]


class StoredRows(NamedTuple):
    """Futures of the partitions of training rows or of a validation set, and their facts."""

    futures: list[Future]
    facts: list[PartitionFacts]


def place(client: Client, rows: StoredRows, eval_sets: dict[str, StoredRows]) -> list[Share]:
    """Return the share of each worker that has training rows, by address; validation rows go to these workers only.

    Partitions that were lost with a worker are computed again first. Those of a paused worker, which would not begin,
    go to the other workers.
    """
    futures = [*rows.futures, *(future for one in eval_sets.values() for future in one.futures)]
    holders = _locate(client, futures)
    running = find_running(client)
    numbers: dict[str, list[int]] = {}
    n_rows: dict[str, int] = {}
    for k, (future, facts) in enumerate(zip(rows.futures, rows.facts, strict=True)):
        if facts.n_rows:
            candidates = running.intersection(holders[future.key]) or running or holders[future.key]
            address = min(candidates, key=lambda one: (n_rows.get(one, 0), one))
            numbers.setdefault(address, []).append(k)
            n_rows[address] = n_rows.get(address, 0) + facts.n_rows
    if not numbers:
        raise InputError("X has no rows: all of its partitions are empty")
    addresses = sorted(numbers)
    shares = [Share(address, numbers[address], {name: [] for name in eval_sets}) for address in addresses]
    rank_of = {address: rank for rank, address in enumerate(addresses)}
    for name, one in eval_sets.items():
        for k, (future, facts) in enumerate(zip(one.futures, one.facts, strict=True)):
            if facts.n_rows:
                here = [rank_of[address] for address in holders[future.key] if address in rank_of]
                shares[min(here, default=k % len(shares))].eval_numbers[name].append(k)
    return shares


def wait_for(client: Client, futures: Sequence[Future]) -> None:
    """Wait until partitions are computed; raise what went wrong with the first that is not.

    A partition that is lost with its worker after it was computed is waited for until Dask has computed it again.
    """
    idle_since = time.monotonic()
    while True:
        try:
            wait_on(client, futures, POLL_SECONDS)
        except (CancelledError, *TIMEOUTS):
            if any(client.processing().values()):
                idle_since = time.monotonic()
        statuses = [future.status for future in futures]
        for k, status in enumerate(statuses):
            if status in ("error", "cancelled"):
                raise _failure(k, futures[k])
        if all(status == "finished" for status in statuses):
            return
        if time.monotonic() - idle_since > IDLE_SECONDS:
            raise _not_computed(client, futures)
        time.sleep(WAIT_SECONDS)


def _failure(number: int, future: Future) -> BaseException:
    """Return the error for a partition that could not be computed."""
    if future.status == "cancelled":
        return TrainingError(
            f"partition {number} was lost with its worker and cannot be computed again, because it was scattered or "
            "cancelled: build collections from files or functions, or keep copies with client.replicate"
        )
    error: BaseException = future.exception()
    if isinstance(error, KilledWorker):
        return TrainingError(f"workers died each time that partition {number} was computed: {error}")
    return error


def _not_computed(client: Client, futures: Sequence[Future]) -> TrainingError:
    """Return the error for partitions that no worker computes."""
    number = next(k for k, future in enumerate(futures) if future.status != "finished")
    n_workers = len(client.nthreads())
    return TrainingError(
        f"no worker has computed partition {number} for {IDLE_SECONDS:.0f} s, though none had anything else to do; the "
        f"cluster has {n_workers} workers: start workers, or look at those to which the partition is restricted "
        "(workers=, resources=)"
    )


def _locate(client: Client, futures: Sequence[Future]) -> dict[str, Sequence[str]]:
    """Return the addresses of the workers that have each partition, by key, as soon as some worker has each."""
    while True:
        wait_for(client, futures)
        holders: dict[str, Sequence[str]] = client.who_has(futures)
        if all(holders.get(future.key) for future in futures):
            return holders
        time.sleep(WAIT_SECONDS)  # the scheduler has noticed a loss that the client has not heard of
