"""What one worker of a run receives from the others, by whichever thread reads it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection

from distributed.comm import Comm

from sapwood.distributed.inbox import Inbox

FAREWELL = 0  # the number of the last message on a connection; others count from 1
FAREWELL_SECONDS = 10.0  # for a farewell to a worker that does not read


class RunInbox(Inbox):
    """The parts that one worker of a run receives, and the connections that bring them."""

    def __init__(self) -> None:
        super().__init__()
        self.comms: set[Comm] = set()
        self.is_over = asyncio.Event()
        self._sockets: dict[int, socket.socket] = {}

    def add_socket(self, sender: int, source: socket.socket) -> None:
        """Add the socket that brings the parts of a sender."""
        with self._condition:
            self._sockets[sender] = source
            self._condition.notify()

    def wait_for_sockets(self, senders: Collection[int], is_cancelled: Callable[[], bool]) -> dict[int, socket.socket]:
        """Wait until the sockets of all senders are there; return these and all others that are."""
        with self._condition:
            self.wait_until(lambda: self._sockets.keys() >= set(senders), is_cancelled)
            return dict(self._sockets)
