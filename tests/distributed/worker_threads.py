"""Workers as threads of this process, joined by queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

from sapwood.distributed import Communicator
from sapwood.distributed.collectives import PointToPointCommunicator

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
