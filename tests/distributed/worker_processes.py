"""Workers as processes on this machine, joined by pipes."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from sapwood.distributed import Communicator

SECONDS = 60


class PipeCommunicator(Communicator):
    """Sends bytes through a pipe to each of the other workers."""

    def __init__(self, rank: int, size: int, pipes: dict[int, Connection]) -> None:
        super().__init__(rank, size)
        self._pipes = pipes

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        # A thread sends while this one receives: pipes hold little, and two workers that both only send would wait.
        sending = threading.Thread(target=self._send, args=(parts,), daemon=True)
        sending.start()
        got = [parts[r] if r == self.rank else self._receive(r) for r in range(self.size)]
        sending.join()
        return got

    def _send(self, parts: Sequence[bytes]) -> None:
        for worker in range(self.size):
            if worker != self.rank:
                self._pipes[worker].send_bytes(parts[worker])

    def _receive(self, worker: int) -> bytes:
        if not self._pipes[worker].poll(SECONDS):
            raise TimeoutError(f"worker {self.rank} has waited too long for worker {worker}")
        return self._pipes[worker].recv_bytes()


class Processes:
    """Processes that wait for work, which any number of them do together as workers."""

    def __init__(self, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        pipes: list[dict[int, Connection]] = [{} for _ in range(size)]
        for a in range(size):
            for b in range(a):
                pipes[a][b], pipes[b][a] = context.Pipe()
        self._desks: list[Connection] = []
        self._processes = []
        for worker in range(size):
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(worker, pipes[worker], there), daemon=True)
            process.start()
            self._desks.append(here)
            self._processes.append(process)

    def run(self, size: int, work: Callable[..., Any], *args: Any) -> list[Any]:
        """What ``work(reducer, *args)`` returns, or the error it raises, at each of ``size`` workers."""
        for desk in self._desks[:size]:
            desk.send((size, work, args))
        return [desk.recv() if desk.poll(SECONDS) else TimeoutError() for desk in self._desks[:size]]

    def end(self) -> None:
        """Send the processes home."""
        for desk, process in zip(self._desks, self._processes, strict=True):
            desk.send(None)
            process.join()


def serve(worker: int, pipes: dict[int, Connection], desk: Connection) -> None:
    """Do the work that comes to the desk of a worker."""
    while (task := desk.recv()) is not None:
        size, work, args = task
        try:
            desk.send(work(PipeCommunicator(worker, size, pipes), *args))
        except Exception as error:
            desk.send(error)
