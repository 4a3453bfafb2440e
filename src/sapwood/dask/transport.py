"""Exchange of bytes between the workers of a fit, over the connections that Dask workers have among themselves.

A worker plugin adds one handler to the server of every Dask worker. A worker of a fit opens one connection to each of
the others with Dask's own ``connect``, so that TLS and all settings are those of the cluster, names its run, and then
writes messages (number, bytes) without waiting for replies. Nothing is pickled. Where connections are plain TCP, the
thread that trains reads and writes their sockets itself (``raw_messages.py``); others are left to the event loop
(``loop_messages.py``).

A connection that closes before its farewell means that the worker at its other end is lost or has failed. Whoever
notices it closes all its connections, so that a run ends everywhere at once. Runs have ids of their own: a message of
an earlier attempt is never taken for one of a later attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
from distributed import Worker, WorkerPlugin, get_worker
from distributed.comm import Comm, connect
from distributed.core import Status

from sapwood.dask.loop_messages import LoopMessages, receive_messages
from sapwood.dask.raw_messages import RawMessages, can_hand_over, receive_socket
from sapwood.dask.run_inbox import FAREWELL_SECONDS, RunInbox
from sapwood.distributed.collectives import PointToPointCommunicator
from sapwood.distributed.inbox import CHECK_SECONDS, WorkerLostError

HANDLER = "sapwood_exchange"
PLUGIN = "sapwood-transport"
CONNECT_SECONDS = 20.0

Result = TypeVar("Result")


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
            await (receive_socket if is_raw else receive_messages)(comm, inbox, sender)
        except (OSError, WorkerLostError) as error:
            inbox.fail(f"the connection from worker {sender} ({comm.peer_address}) was closed: {type(error).__name__}")
        finally:
            inbox.comms.discard(comm)
            comm.abort()
        return Status.dont_reply

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
        self._comms: list[Comm] = []
        self._messages: RawMessages | LoopMessages
        if can_hand_over(addresses):
            self._messages = RawMessages(self._inbox, self._is_cancelled)
        else:
            self._messages = LoopMessages(self._inbox, self._is_cancelled, self._loop)

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
        if kind is None:
            self._messages.say_farewell()
        self._on_loop(self._close(is_finished=kind is None))

    def send_receive(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> dict[int, Any]:
        """Send ``parts[r]`` to worker r; return the next part of each of ``senders``."""
        if self._is_cancelled():
            raise WorkerLostError("the fit was cancelled")
        return self._messages.exchange(parts, senders)

    def encode(self, values: np.ndarray) -> Any:
        """Return the bytes of an array, which are not copied if they are written to sockets before an exchange ends."""
        return self._messages.encode(values)

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
        self._comms.append(comm)
        await comm.write({"op": HANDLER, "run": self._run, "sender": self.rank, "is_raw": self._messages.is_raw})
        await self._messages.open(rank, comm)

    async def _close(self, is_finished: bool) -> None:
        """Close all connections and forget the run; one that is not finished ends everywhere."""
        for comm in self._comms:
            if not is_finished:
                comm.abort()
                continue
            try:
                await asyncio.wait_for(comm.close(), FAREWELL_SECONDS)
            except (OSError, asyncio.TimeoutError):  # the other worker has what it needs, or is gone or stopped
                comm.abort()
        if is_finished:
            self._plugin.finish(self._run)
        else:
            self._plugin.end(self._run)
