"""Workers as threads of this process, joined by queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import numpy as np

from sapwood.distributed import Communicator
from sapwood.distributed.collectives import PointToPointCommunicator
from sapwood.distributed.workers import ROWS, Workers

SECONDS = 60


class QueueCommunicator(PointToPointCommunicator):
    """Sends bytes through one queue for each pair of workers."""

    def __init__(self, rank: int, size: int, queues: dict[tuple[int, int], Queue[bytes]]) -> None:
        super().__init__(rank, size)
        self._queues = queues

    def send_receive(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> dict[int, bytes]:
        for worker, part in parts.items():
            self._queues[self.rank, worker].put(part)
        return {worker: self._queues[worker, self.rank].get(timeout=SECONDS) for worker in senders}


def run_workers(size: int, work: Callable[[Communicator], Any]) -> list[Any]:
    """Return ``work(communicator)`` of each of ``size`` workers."""
    queues: dict[tuple[int, int], Queue[bytes]] = {(a, b): Queue() for a in range(size) for b in range(size)}
    communicators = [QueueCommunicator(rank, size, queues) for rank in range(size)]
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(work, communicators))


def rows_of(n: int, rank: int, size: int) -> np.ndarray:
    """Return the rows of a worker: shuffled, a third of what is left for each, and none for the last of three."""
    shuffled = np.random.default_rng(1).permutation(n)
    bounds = [0, *(n - 2 * n // 3**k for k in range(1, size)), n]
    if size == 3:
        bounds[2] = n
    return shuffled[bounds[rank] : bounds[rank + 1]]


def run_on_rows(size: int, n: int, work: Callable[[np.ndarray, Workers], Any]) -> list[Any]:
    """Return ``work(rows, workers)`` of each of ``size`` workers that have some of ``n`` rows."""
    return run_workers(size, lambda one: work(rows_of(n, one.rank, size), Workers(one, ROWS)))
