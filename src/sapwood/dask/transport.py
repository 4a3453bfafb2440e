"""Exchange of bytes between the workers of a fit, over the connections that Dask workers have among themselves.

A worker plugin adds one handler to the server of every Dask worker. A worker of a fit opens one connection to each of
the others with Dask's own ``connect``, so that TLS and all settings are those of the cluster, names its run, and then
writes messages (number, bytes) without waiting for replies. Nothing is pickled. Where connections are plain TCP, the
thread that trains reads and writes their sockets itself (``raw_messages.py``); others are left to the event loop.

A connection that closes before its farewell means that the worker at its other end is lost or has failed. Whoever
notices it closes all its connections, so that a run ends everywhere at once. Runs have ids of their own: a message of
an earlier attempt is never taken for one of a later attempt.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import wait
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from distributed import Worker, WorkerPlugin, get_worker
from distributed.comm import Comm, connect
from distributed.core import Status
from distributed.protocol import Serialize, to_serialize

from sapwood.dask.raw_messages import FAREWELL, RawMessages, hand_over, is_raw
from sapwood.distributed.collectives import PointToPointCommunicator
from sapwood.distributed.inbox import CHECK_SECONDS, Inbox, WorkerLostError

HANDLER = "sapwood_exchange"
PLUGIN = "sapwood-transport"
READY = "ready"  # the answer to the first message on a connection whose socket is handed over
MAX_INLINE = 256 * 1024  # bytes that are cheaper inside a message than as a frame of their own
CONNECT_SECONDS = 20.0
FAREWELL_SECONDS = 10.0  # for a farewell to a worker that does not read

Result = TypeVar("Result")


class RunInbox(Inbox):
    """The parts that one worker of a run receives, and the connections that bring them."""

    def __init__(self) -> None:
        super().__init__()
        self.comms: set[Comm] = set()
        self.sockets: dict[int, socket.socket] = {}
        self.is_over = asyncio.Event()

    def add_socket(self, sender: int, source: socket.socket) -> None:
        """Add the socket that brings the parts of a sender."""
        with self._condition:
            self.sockets[sender] = source
            self._condition.notify()

    def wait_for_sockets(self, senders: Collection[int], is_cancelled: Callable[[], bool]) -> None:
        """Wait until the connections of all senders are there."""
        self.wait_until(lambda: self.sockets.keys() >= set(senders), is_cancelled)


class TransportPlugin(WorkerPlugin):
    """Receives what the workers of fits send to one Dask worker, and keeps the finished rounds of fits.

    ``client.register_plugin(TransportPlugin())`` reaches all workers, and those that join later.
    """

    name = PLUGIN
    idempotent = True

    def setup(self, worker: Worker) -> None:
        """Add the handler to a worker."""
        self.worker = worker
        self.inboxes: dict[str, RunInbox] = {}
        self.ended: set[str] = set()
        self.journals: dict[str, Any] = {}
        worker.handlers[HANDLER] = self.receive

    def teardown(self, worker: Worker) -> None:
        """Remove the handler."""
        worker.handlers.pop(HANDLER, None)

    def inbox(self, run: str) -> RunInbox:
        """Return the inbox of a run, which the first of task and message creates."""
        return self.inboxes.setdefault(run, RunInbox())

    async def receive(self, comm: Any, run: str, sender: int, is_raw: bool) -> Any:
        """Take the messages of a worker of a run, or hand its connection to the thread that trains."""
        if run in self.ended:
            comm.abort()
            return Status.dont_reply
        inbox = self.inbox(run)
        inbox.comms.add(comm)
        try:
            if is_raw:
                await comm.write(READY)
                inbox.add_socket(sender, await hand_over(comm))
                await inbox.is_over.wait()
            else:
                await self._read_messages(comm, inbox, sender)
        except OSError as error:
            inbox.fail(f"the connection from worker {sender} ({comm.peer_address}) was closed: {type(error).__name__}")
        finally:
            inbox.comms.discard(comm)
            comm.abort()
        return Status.dont_reply

    async def _read_messages(self, comm: Comm, inbox: RunInbox, sender: int) -> None:
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

    def finish(self, run: str) -> None:
        """Forget a run that has come to its end; called on the event loop."""
        inbox = self.inboxes.pop(run, None)
        if inbox is not None:
            inbox.is_over.set()

    def end(self, run: str) -> None:
        """Forget a run and close its connections; called on the event loop."""
        self.ended.add(run)
        inbox = self.inboxes.get(run)
        self.finish(run)
        for comm in list(inbox.comms) if inbox is not None else ():
            comm.abort()

    @staticmethod
    def here() -> TransportPlugin:
        """Return the plugin of the worker that runs the current task; a worker that was not reached adds it now."""
        worker = get_worker()
        if PLUGIN not in worker.plugins:
            adding = worker.plugin_add(TransportPlugin(), name=PLUGIN)
            asyncio.run_coroutine_threadsafe(adding, worker.loop.asyncio_loop).result()
        plugin: TransportPlugin = worker.plugins[PLUGIN]
        return plugin


class DaskCommunicator(PointToPointCommunicator):
    """Connects a task to those of the other workers of a run; use it as a context manager.

    Parameters
    ----------
    rank : int
        Number of this worker.
    addresses : sequence of str
        Addresses of the Dask workers, by rank.
    run : str
        Id of the run, different for every attempt of every fit.
    """

    def __init__(self, rank: int, addresses: Sequence[str], run: str) -> None:
        super().__init__(rank, len(addresses))
        self._plugin, self._addresses, self._run = TransportPlugin.here(), addresses, run
        self._worker = self._plugin.worker
        self._key = self._worker.get_current_task()
        self._loop = self._worker.loop.asyncio_loop
        self._inbox = self._plugin.inbox(run)
        self._comms: dict[int, Comm] = {}
        self._watchers: list[asyncio.Task[None]] = []
        self._is_closing = False
        self._n_sent = dict.fromkeys(range(self.size), 0)
        self._raw = RawMessages() if is_raw(addresses) else None

    def __enter__(self) -> DaskCommunicator:
        try:
            self._on_loop(self._connect())
        except BaseException:
            self._on_loop(self._close(is_finished=False))
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._raw is not None:
            self._raw.say_farewell(FAREWELL_SECONDS)
        self._on_loop(self._close(is_finished=kind is None))

    def send_receive(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> dict[int, Any]:
        """Send ``parts[r]`` to worker r; return the next part of each of ``senders``."""
        if self._is_cancelled():
            raise WorkerLostError("the fit was cancelled")
        if self._raw is not None:
            self._inbox.wait_for_sockets(senders, self._is_cancelled)
            self._raw.add_sources(self._inbox.sockets)
            return self._raw.exchange(parts, senders, self._check)
        sending = asyncio.run_coroutine_threadsafe(self._send(parts), self._loop) if parts else None
        received = self._inbox.take(senders, self._is_cancelled)
        while sending is not None and not wait([sending], CHECK_SECONDS).done:
            # A worker that is stopped does not read: whoever writes to it waits, unless the run has ended.
            self._check()
        if sending is not None:
            sending.result()
        return received

    def encode(self, values: np.ndarray) -> Any:
        """Return the bytes of an array, which are not copied if they are written to sockets before an exchange ends."""
        if self._raw is None:
            return super().encode(values)
        return np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def _check(self) -> None:
        """Raise WorkerLostError if the run has ended or was cancelled."""
        self._inbox.check(self._is_cancelled)

    def _is_cancelled(self) -> bool:
        """Return whether the client no longer wants the result of this task."""
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state == "cancelled"

    def _on_loop(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _connect(self) -> None:
        """Open a connection to each of the other workers."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        opening = asyncio.gather(*map(self._connect_to, others))
        while not opening.done():
            await asyncio.wait([opening], timeout=CHECK_SECONDS)
            if self._is_cancelled():
                opening.cancel()
                raise WorkerLostError("the fit was cancelled")
        try:
            await opening
        except OSError as error:
            raise WorkerLostError(f"a worker cannot be reached: {error}") from error

    async def _connect_to(self, rank: int) -> None:
        comm: Any = await connect(self._addresses[rank], timeout=CONNECT_SECONDS, **self._worker.connection_args)
        comm.name = "sapwood"
        self._comms[rank] = comm
        is_raw = self._raw is not None
        await comm.write({"op": HANDLER, "run": self._run, "sender": self.rank, "is_raw": is_raw})
        if self._raw is not None:
            if (answer := await comm.read()) != READY:
                raise WorkerLostError(f"worker {rank} ({self._addresses[rank]}) does not take part: {answer}")
            self._raw.add_target(rank, await hand_over(comm))
            return
        self._watchers.append(asyncio.create_task(self._watch(rank, comm)))

    async def _watch(self, rank: int, comm: Comm) -> None:
        """End the run if the other end of a connection, on which it never writes, closes it."""
        try:
            await comm.read()
        except OSError as error:
            if not self._is_closing:
                self._inbox.fail(f"worker {rank} ({self._addresses[rank]}) has closed: {type(error).__name__}")

    async def _send(self, parts: Mapping[int, bytes]) -> None:
        for rank, part in parts.items():
            self._n_sent[rank] += 1
            message = (self._n_sent[rank], part if len(part) <= MAX_INLINE else to_serialize(part))
            try:
                await self._comms[rank].write(message)
            except OSError as error:
                raise WorkerLostError(f"worker {rank} ({self._addresses[rank]}) has closed: {error}") from error

    async def _say_farewell(self, comm: Comm) -> None:
        if self._raw is None:
            await comm.write((FAREWELL, b""))
        await comm.close()

    async def _close(self, is_finished: bool) -> None:
        """Close all connections, with a farewell if the run is finished."""
        self._is_closing = True
        for comm in self._comms.values():
            if not is_finished:
                comm.abort()
                continue
            try:
                await asyncio.wait_for(self._say_farewell(comm), FAREWELL_SECONDS)
            except (OSError, asyncio.TimeoutError):  # the other worker has what it needs, or is gone or stopped
                comm.abort()
        await asyncio.gather(*self._watchers)
        if is_finished:
            self._plugin.finish(self._run)
        else:
            self._plugin.end(self._run)
