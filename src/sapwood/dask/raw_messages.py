"""Messages on the sockets of Dask's connections, sent and received by the thread that trains.

The event loop of a Dask worker hands a connection over after its first message. From then on the thread that needs a
part reads it, without a change of threads and without the frames of Dask's protocol: this takes a tenth of the time. A
message is a header of two integers, its number and the bytes of its part, and the part.
"""

from __future__ import annotations

import select
import socket
import struct
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from distributed.comm.registry import backends
from distributed.comm.tcp import TCP, TCPBackend

from sapwood.dask.run_inbox import FAREWELL, FAREWELL_SECONDS, RunInbox
from sapwood.distributed.inbox import CHECK_SECONDS, WorkerLostError

HEADER = struct.Struct("<qq")
MAX_KEPT_BYTES = 1 << 23  # of memory that is kept for the parts to come: the histograms of a batch
READY = "ready"  # the answer to the first message on a connection whose socket is handed over
# Tells that the other end has closed a connection although data of it is still to be read; not known everywhere.
CLOSED_BY_OTHER = getattr(select, "POLLRDHUP", 0)


def can_hand_over(addresses: Collection[str]) -> bool:
    """Return whether the connections between workers have sockets that can be handed over: not with TLS or Windows."""
    can_wait = hasattr(select, "poll") and isinstance(backends.get("tcp"), TCPBackend)
    return can_wait and all(address.startswith("tcp://") for address in addresses)


async def hand_over(comm: TCP) -> socket.socket:
    """Return the socket of a connection, which the event loop no longer reads or writes."""
    stream = comm.stream
    if stream is None:
        raise WorkerLostError(f"the connection to {comm.peer_address} is closed")
    if stream.writing():
        await stream.write(b"")
    stream.io_loop.remove_handler(stream.socket)
    taken: socket.socket = stream.socket
    return taken


class MessageReader:
    """Reads the messages of one worker, as far as they have come."""

    def __init__(self, rank: int, source: socket.socket) -> None:
        self.rank, self.source = rank, source
        self.is_closed = False  # after a farewell
        self._n_messages = 0
        self._ahead: deque[memoryview] = deque()  # parts that were read before they were asked for
        self._header = memoryview(bytearray(HEADER.size))
        self._kept = np.empty(0, np.uint8)
        self._last_part: Callable[[], np.ndarray | None] = lambda: None  # that in ``_kept``, as long as it is used
        self._begin_header()

    def _begin_header(self) -> None:
        self._buffer, self._n_read, self._is_header = self._header, 0, True

    def _begin_part(self, n_bytes: int) -> None:
        """Read a part next, into the memory of the one before if nobody uses that any more."""
        if n_bytes > len(self._kept) or self._last_part() is not None:
            kept = np.empty(max(n_bytes, len(self._kept)), np.uint8)
        else:
            kept = self._kept
        part = kept[:n_bytes]
        if len(kept) <= MAX_KEPT_BYTES:
            self._kept, self._last_part = kept, weakref.ref(part)
        self._buffer, self._n_read, self._is_header = part.data, 0, False

    def read(self) -> memoryview | None:
        """Return the next part; None if not all of it has come."""
        return self._ahead.popleft() if self._ahead else self._read_next()

    def read_to_the_end(self) -> None:
        """Read what has come on a connection that the other end has closed; it must end with a farewell."""
        while not self._is_at_farewell():
            part = self._read_next()
            if part is None:
                return
            self._ahead.append(part)
        self.is_closed = True

    def _read_next(self) -> memoryview | None:
        if self._is_header:
            if not self._fill():
                return None
            number, n_bytes = HEADER.unpack(self._buffer)
            if number != self._n_messages + 1:
                raise WorkerLostError(f"worker {self.rank} has sent message {number} instead of {self._n_messages + 1}")
            self._n_messages += 1
            self._begin_part(n_bytes)
        if not self._fill():
            return None
        part = self._buffer
        self._begin_header()
        return part

    def _is_at_farewell(self) -> bool:
        is_farewell: bool = self._is_header and self._fill() and HEADER.unpack(self._buffer)[0] == FAREWELL
        return is_farewell

    def _fill(self) -> bool:
        """Read what has come of a header or part; return whether it is whole."""
        while self._n_read < len(self._buffer):
            try:
                n_bytes = self.source.recv_into(self._buffer[self._n_read :])
            except BlockingIOError:
                return False
            except OSError as error:
                raise WorkerLostError(f"the connection from worker {self.rank} was closed: {error}") from error
            if n_bytes == 0:
                raise WorkerLostError(f"the connection from worker {self.rank} was closed")
            self._n_read += n_bytes
        return True


async def receive_socket(comm: TCP, inbox: RunInbox, sender: int) -> None:
    """Hand the connection from a worker to the thread that trains, until the run is over."""
    await comm.write(READY)
    inbox.add_socket(sender, await hand_over(comm))
    await inbox.is_over.wait()


class RawMessages:
    """The connections of a worker to all others, and those of all others to it, for the thread that trains.

    Parameters
    ----------
    inbox : RunInbox
        Gets the connections from the other workers.
    is_cancelled : callable
        Returns whether the fit was cancelled; asked from time to time.
    """

    is_raw = True

    def __init__(self, inbox: RunInbox, is_cancelled: Callable[[], bool]) -> None:
        self._inbox, self._is_cancelled = inbox, is_cancelled
        self._targets: dict[int, socket.socket] = {}
        self._readers: dict[int, MessageReader] = {}
        self._n_sent: dict[int, int] = {}

    async def open(self, rank: int, comm: TCP) -> None:
        """Take over the connection to a worker, on the event loop."""
        if (answer := await comm.read()) != READY:
            raise WorkerLostError(f"worker {rank} ({comm.peer_address}) does not take part: {answer}")
        self.add_target(rank, await hand_over(comm))

    def add_target(self, rank: int, target: socket.socket) -> None:
        """Add the socket of the connection to a worker."""
        self._targets[rank], self._n_sent[rank] = target, 0

    def encode(self, values: np.ndarray) -> Any:
        """Return the bytes of an array, which are not copied: they are written to sockets before an exchange ends."""
        return np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def exchange(self, parts: Mapping[int, Any], senders: Collection[int]) -> dict[int, memoryview]:
        """Send ``parts[r]`` to worker r; return the next part of each of ``senders``."""
        if len(self._readers) < len(self._targets):
            for rank, source in self._inbox.wait_for_sockets(senders, self._is_cancelled).items():
                if rank not in self._readers:
                    self._readers[rank] = MessageReader(rank, source)
        unsent: dict[int, list[memoryview]] = {}
        for rank, part in parts.items():
            self._n_sent[rank] += 1
            header = HEADER.pack(self._n_sent[rank], len(part))
            unsent[rank] = [memoryview(header), memoryview(part)]
        return self._finish(unsent, senders, self._check)

    def say_farewell(self, seconds: float = FAREWELL_SECONDS) -> None:
        """Tell all others that no messages follow: those that are gone or do not read have what they need."""
        end, header = time.monotonic() + seconds, HEADER.pack(FAREWELL, 0)

        def check() -> None:
            if time.monotonic() > end:
                raise WorkerLostError("a worker does not read")

        for rank in self._targets:
            with suppress(WorkerLostError):
                self._finish({rank: [memoryview(header)]}, (), check)

    def _check(self) -> None:
        self._inbox.check(self._is_cancelled)

    def _finish(
        self, unsent: dict[int, list[memoryview]], senders: Collection[int], check: Callable[[], None]
    ) -> dict[int, memoryview]:
        received: dict[int, memoryview] = {}
        awaited = list(senders)
        while True:
            unsent = {rank: rest for rank, buffers in unsent.items() if (rest := self._write(rank, buffers))}
            for rank in awaited:
                part = self._readers[rank].read()
                if part is not None:
                    received[rank] = part
            awaited = [rank for rank in awaited if rank not in received]
            if not unsent and not awaited:
                return received
            self._wait(unsent, awaited, check)

    def _write(self, rank: int, buffers: list[memoryview]) -> list[memoryview]:
        """Write as much as the socket takes; return the rest."""
        while buffers:
            try:
                n_bytes = self._targets[rank].sendmsg(buffers)
            except BlockingIOError:
                return buffers
            except OSError as error:
                raise WorkerLostError(f"worker {rank} has closed: {error}") from error
            while buffers and n_bytes >= len(buffers[0]):
                n_bytes -= len(buffers.pop(0))
            if buffers:
                buffers[0] = buffers[0][n_bytes:]
        return buffers

    def _wait(self, unsent: Collection[int], awaited: Collection[int], check: Callable[[], None]) -> None:
        """Wait until something can be written or read, or the connection from any worker is closed."""
        readers = {reader.source.fileno(): reader for reader in self._readers.values()}
        if min([*readers, *(self._targets[rank].fileno() for rank in unsent)], default=0) < 0:
            raise WorkerLostError("the connections of the run were closed on this worker")
        poll = select.poll()
        for rank in unsent:
            poll.register(self._targets[rank], select.POLLOUT)
        for rank, reader in self._readers.items():
            is_awaited = rank in awaited
            if is_awaited or not reader.is_closed:
                poll.register(reader.source, select.POLLIN | CLOSED_BY_OTHER if is_awaited else CLOSED_BY_OTHER)
        events = poll.poll(1000 * CHECK_SECONDS)
        if not events:
            check()
        for number, _ in events:
            if number in readers and readers[number].rank not in awaited:
                readers[number].read_to_the_end()
