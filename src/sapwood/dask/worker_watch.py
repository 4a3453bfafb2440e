"""The watch over the workers of an attempt: nothing is ever waited for that only a worker that is gone could give.

The task of a worker may run on that worker only, so that no idle worker takes it over. Dask would wait for ever for a
task whose worker is gone, and for a result that went with it; therefore the scheduler is asked, while the client
waits, whether all workers of the attempt are there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from distributed import Client, Future, Worker
from distributed.client import _wait

from sapwood.distributed.inbox import WorkerLostError

logger = logging.getLogger("sapwood.dask")
POLL_SECONDS = 1.0  # between questions to the scheduler
PAUSED_SECONDS = 20.0  # that a worker may be paused before its task has begun
TOPIC = "sapwood-fit"  # of the events that tasks have begun
TIMEOUTS = (TimeoutError, asyncio.TimeoutError)  # two classes in Python 3.10


class WorkerWatch:
    """Waits for the tasks of the workers of a run as long as all of them are there.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    addresses : sequence of str
        Addresses of the workers, by rank.
    run : str
        Id of the run.
    poll : callable, optional
        Function that is called about every second while tasks are waited for.
    """

    def __init__(
        self, client: Client, addresses: Sequence[str], run: str, poll: Callable[[], None] | None = None
    ) -> None:  # fmt: skip
        self._client, self._addresses, self._run, self._poll = client, addresses, run, poll
        self._paused_since: dict[str, float] = {}

    def wait(self, futures: Collection[Future], seconds: float | None = None) -> tuple[set[Future], set[Future]]:
        """Wait for at least one task, or some seconds; return those that have ended, and the others.

        Raises WorkerLostError if a worker is gone.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
            try:
                done, pending = wait_on(self._client, futures, max(left, 0.0), "FIRST_COMPLETED")
                return set(done), set(pending)
            except TIMEOUTS:
                self._client.sync(self._check)
                if self._poll is not None:
                    self._poll()
            if deadline is not None and time.monotonic() >= deadline:
                return set(), set(futures)

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of tasks that have ended; raise WorkerLostError if one is lost with its worker."""
        results: list[Any] = self._client.sync(self._gather, futures)
        return results

    async def _gather(self, futures: Sequence[Future]) -> list[Any]:
        gathering = asyncio.ensure_future(self._client.gather(list(futures), asynchronous=True))
        try:
            while not (await asyncio.wait([gathering], timeout=POLL_SECONDS))[0]:
                await self._check()
            results: list[Any] = await gathering
        finally:
            gathering.cancel()
        return results

    async def _check(self) -> None:
        """Raise WorkerLostError if a worker has left the cluster, or is paused before its task has begun."""
        scheduler, addresses = self._client.scheduler, list(self._addresses)
        present = await scheduler.ncores(workers=addresses)
        for rank, address in enumerate(addresses):
            if address not in present:
                raise WorkerLostError(f"worker {rank} ({address}) is gone")
        running = await scheduler.ncores_running(workers=addresses)
        now = time.monotonic()
        paused = {one: self._paused_since.get(one, now) for one in addresses if one not in running}
        for address in paused.keys() - self._paused_since.keys():
            logger.warning("worker %s is paused", address)
        self._paused_since = paused
        if not any(now - since >= PAUSED_SECONDS for since in paused.values()):
            return
        begun = {message.get("rank") for message in await self._events() if message.get("run") == self._run}
        for rank, address in enumerate(addresses):
            if rank not in begun and now - paused.get(address, now) >= PAUSED_SECONDS:
                raise WorkerLostError(
                    f"worker {rank} ({address}) has been paused for {now - paused[address]:.0f} s and has not begun; "
                    "Dask pauses a worker whose memory is nearly full"
                )

    async def _events(self) -> list[dict[str, Any]]:
        events = await self._client.scheduler.events(topic=TOPIC)
        return [message for _, message in events if isinstance(message, dict)]


def wait_on(
    client: Client, futures: Collection[Future], seconds: float, return_when: str = "ALL_COMPLETED"
) -> tuple[set[Future], set[Future]]:
    """Wait for futures of a client at most some seconds; return those that have ended, and the others.

    ``distributed.wait`` would wait on the event loop of the client that is current, which may be another one.
    """
    done, pending = client.sync(_wait, futures, timeout=seconds, return_when=return_when)
    return done, pending


def report_begin(worker: Worker, rank: int, run: str) -> None:
    """Tell the watch, on a worker, that its task has begun: a worker that is paused from now on goes on with it."""
    worker.log_event(TOPIC, {"run": run, "rank": rank})


def find_running(client: Client) -> set[str]:
    """Return the addresses of the workers that start tasks: those that are not paused."""
    return set(client.sync(client.scheduler.ncores_running, workers=None))
