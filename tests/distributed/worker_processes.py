"""Ranks as processes on this machine, joined by pipes."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from sapwood.distributed import Reducer

SECONDS = 60


class PipeReducer(Reducer):
    """Sends bytes through a pipe to each of the other ranks."""

    def __init__(self, rank: int, size: int, pipes: dict[int, Connection]) -> None:
        super().__init__(rank, size)
        self._pipes = pipes

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        # A thread sends while this one receives: pipes hold little, and two ranks that both only send would wait.
        sending = threading.Thread(target=self._send, args=(parts,), daemon=True)
        sending.start()
        got = [parts[r] if r == self.rank else self._receive(r) for r in range(self.size)]
        sending.join()
        return got

    def _send(self, parts: Sequence[bytes]) -> None:
        for rank in range(self.size):
            if rank != self.rank:
                self._pipes[rank].send_bytes(parts[rank])

    def _receive(self, rank: int) -> bytes:
        if not self._pipes[rank].poll(SECONDS):
            raise TimeoutError(f"rank {self.rank} has waited too long for rank {rank}")
        return self._pipes[rank].recv_bytes()


class Processes:
    """Processes that wait for work, which any number of them do together as ranks."""

    def __init__(self, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        pipes: list[dict[int, Connection]] = [{} for _ in range(size)]
        for a in range(size):
            for b in range(a):
                pipes[a][b], pipes[b][a] = context.Pipe()
        self._desks: list[Connection] = []
        self._processes = []
        for rank in range(size):
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(rank, pipes[rank], there), daemon=True)
            process.start()
            self._desks.append(here)
            self._processes.append(process)

    def run(self, size: int, work: Callable[..., Any], *args: Any) -> list[Any]:
        """What ``work(reducer, *args)`` returns, or the error it raises, at each of ``size`` ranks."""
        for desk in self._desks[:size]:
            desk.send((size, work, args))
        return [desk.recv() if desk.poll(SECONDS) else TimeoutError() for desk in self._desks[:size]]

    def end(self) -> None:
        """Send the processes home."""
        for desk, process in zip(self._desks, self._processes, strict=True):
            desk.send(None)
            process.join()


def serve(rank: int, pipes: dict[int, Connection], desk: Connection) -> None:
    """Do the work that comes to the desk of a rank."""
    while (task := desk.recv()) is not None:
        size, work, args = task
        try:
            desk.send(work(PipeReducer(rank, size, pipes), *args))
        except Exception as error:
            desk.send(error)
