"""Messages on Dask's connections, sent and received by the event loop of a worker.

For connections whose sockets the thread that trains cannot use itself: those with TLS, between workers of one process,
and on Windows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import wait
from contextlib import suppress
from typing import Any

import numpy as np
from distributed.comm import Comm
from distributed.protocol import Serialize, to_serialize

from sapwood.dask.run_inbox import FAREWELL, FAREWELL_SECONDS, RunInbox
from sapwood.distributed.inbox import CHECK_SECONDS, WorkerLostError

MAX_INLINE = 256 * 1024  # bytes that are cheaper inside a message than as a frame of their own


async def receive_messages(comm: Comm, inbox: RunInbox, sender: int) -> None:
    """Read messages of a worker until its farewell."""
    expected = 1
    while True:
        number, part = await comm.read()
        if number == FAREWELL:
            return
        if number != expected:
            inbox.fail(f"worker {sender} has sent message {number} instead of {expected}")
            return
        # Between workers of one process, values arrive as they were written.
        inbox.put(sender, number, part.data if isinstance(part, Serialize) else part)
        expected += 1


class LoopMessages:
    """The connections of a worker to all others, for an event loop; parts of the others come through the inbox.

    Parameters
    ----------
    inbox : RunInbox
        Gets the parts of the other workers.
    is_cancelled : callable
        Returns whether the fit was cancelled; asked from time to time.
    loop : asyncio.AbstractEventLoop
        Writes the messages.
    """

    is_raw = False

    def __init__(self, inbox: RunInbox, is_cancelled: Callable[[], bool], loop: asyncio.AbstractEventLoop) -> None:
        self._inbox, self._is_cancelled, self._loop = inbox, is_cancelled, loop
        self._targets: dict[int, Comm] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        self._n_sent: dict[int, int] = {}

    async def open(self, rank: int, comm: Comm) -> None:
        """Take over the connection to a worker, on the event loop."""
        self._targets[rank], self._n_sent[rank] = comm, 0
        watcher = asyncio.create_task(self._watch(rank, comm))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    def encode(self, values: np.ndarray) -> bytes:
        """Return a copy of the bytes of an array: messages may be written when its values are no longer these."""
        return np.ascontiguousarray(values).tobytes()

    def exchange(self, parts: Mapping[int, Any], senders: Collection[int]) -> dict[int, Any]:
        """Send ``parts[r]`` to worker r; return the next part of each of ``senders``."""
        sending = asyncio.run_coroutine_threadsafe(self._send(parts), self._loop) if parts else None
        received = self._inbox.take(senders, self._is_cancelled)
        while sending is not None and not wait([sending], CHECK_SECONDS).done:
            # A worker that is stopped does not read: whoever writes to it waits, unless the run has ended.
            self._inbox.check(self._is_cancelled)
        if sending is not None:
            sending.result()
        return received

    def say_farewell(self, seconds: float = FAREWELL_SECONDS) -> None:
        """Tell all others that no messages follow: those that are gone or do not read have what they need."""
        asyncio.run_coroutine_threadsafe(self._say_farewell(seconds), self._loop).result()

    async def _say_farewell(self, seconds: float) -> None:
        for comm in self._targets.values():
            with suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(comm.write((FAREWELL, b"")), seconds)

    async def _send(self, parts: Mapping[int, bytes]) -> None:
        for rank, part in parts.items():
            self._n_sent[rank] += 1
            message = (self._n_sent[rank], part if len(part) <= MAX_INLINE else to_serialize(part))
            comm = self._targets[rank]
            try:
                await comm.write(message)
            except OSError as error:
                raise WorkerLostError(f"worker {rank} ({comm.peer_address}) has closed: {error}") from error

    async def _watch(self, rank: int, comm: Comm) -> None:
        """End the run if the other end of a connection, on which it never writes, closes it."""
        try:
            await comm.read()
        except OSError as error:
            self._inbox.fail(f"worker {rank} ({comm.peer_address}) has closed: {type(error).__name__}")
