"""Messages on sockets arrive whole and in order, and every wait ends when a worker is lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sapwood.dask.raw_messages import HEADER, RawMessages, can_hand_over
from sapwood.dask.run_inbox import FAREWELL, RunInbox
from sapwood.distributed.inbox import WorkerLostError


@pytest.fixture
def three_workers() -> Iterator[list[RawMessages]]:
    """Workers 0, 1 and 2, with a connection from each to each of the others."""
    inboxes, opened = [RunInbox() for _ in range(3)], []
    workers = [RawMessages(inbox, is_cancelled=lambda: False) for inbox in inboxes]
    for sender in range(3):
        for receiver in range(3):
            if sender != receiver:
                pair = socket.socketpair()
                for end in pair:
                    end.setblocking(False)
                opened += pair
                workers[sender].add_target(receiver, pair[0])
                inboxes[receiver].add_socket(sender, pair[1])
    yield workers
    for one in opened:
        one.close()


def close_sources(worker: RawMessages) -> None:
    """Close the connections from all others at the side of a worker."""
    for source in worker._inbox.wait_for_sockets((), is_cancelled=lambda: False).values():
        source.close()


def together(*functions: Callable[[], None]) -> None:
    """Run functions in threads and raise the first of their errors."""
    errors: list[BaseException] = []

    def run(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_parts_larger_than_the_buffers_of_sockets_pass_each_other(three_workers):
    sizes = (0, 1, 5_000_000, 17, 0, 300_000)

    def talk(rank: int) -> None:
        others = [one for one in range(3) if one != rank]
        for size in sizes:
            parts = {one: np.full(size, 10 * rank + one, np.uint8).tobytes() for one in others}
            received = three_workers[rank].exchange(parts, others)
            for one in others:
                assert bytes(received[one]) == np.full(size, 10 * one + rank, np.uint8).tobytes()

    together(*(lambda rank=rank: talk(rank) for rank in range(3)))


def test_a_part_that_is_still_used_is_not_overwritten(three_workers):
    first, second = three_workers[:2]

    def receive(size: int, value: int) -> np.ndarray:
        first.exchange({1: np.full(size, value, np.uint8).tobytes()}, [])
        return np.frombuffer(second.exchange({}, [0])[0], np.uint8)

    kept = [receive(size, value) for value, size in enumerate((300, 300, 20, 0, 500))]
    addresses = set()
    for size in (500, 40, 500):
        addresses.add(receive(size, 9).ctypes.data)
    for value, (part, size) in enumerate(zip(kept, (300, 300, 20, 0, 500), strict=True)):
        assert part.tolist() == [value] * size
    assert len(addresses) == 1  # the memory of a part that is no longer used


def test_a_part_that_comes_early_waits_for_its_turn(three_workers):
    first, second = three_workers[:2]
    for part in (b"a", b"b"):
        first.exchange({1: part}, [])
    assert bytes(second.exchange({}, [0])[0]) == b"a"
    assert bytes(second.exchange({}, [0])[0]) == b"b"


def test_a_worker_may_finish_while_others_still_wait(three_workers):
    first, second, third = three_workers
    first.exchange({1: b"last of 0"}, [])
    first.say_farewell(1.0)
    for target in first._targets.values():
        target.close()
    waited = threading.Thread(target=lambda: second.exchange({}, [2]), daemon=True)
    waited.start()
    waited.join(0.2)
    assert waited.is_alive()
    third.exchange({1: b"last of 2"}, [])
    waited.join(10)
    assert bytes(second.exchange({}, [0])[0]) == b"last of 0"


def test_a_worker_that_closes_without_farewell_ends_the_waits_of_all(three_workers):
    first, second, third = three_workers
    for target in first._targets.values():
        target.close()
    for waiting, sender in ((second, 0), (second, 2), (third, 1)):
        with pytest.raises(WorkerLostError, match="worker 0 was closed"):
            waiting.exchange({}, [sender])


def test_who_writes_to_a_worker_that_is_gone_is_told(three_workers):
    close_sources(three_workers[1])
    with pytest.raises(WorkerLostError, match="worker 1 has closed"):
        three_workers[0].exchange({1: b"x"}, [])
    three_workers[0].say_farewell(1.0)


def test_a_message_out_of_order_is_an_error(three_workers):
    three_workers[0]._targets[1].sendall(HEADER.pack(2, 0))
    with pytest.raises(WorkerLostError, match="has sent message 2 instead of 1"):
        three_workers[1].exchange({}, [0])
    three_workers[2]._targets[1].sendall(HEADER.pack(FAREWELL, 0))
    with pytest.raises(WorkerLostError, match="has sent message 0 instead of 1"):
        three_workers[1].exchange({}, [2])


def test_a_wait_looks_whether_the_run_is_over(three_workers):
    three_workers[0]._is_cancelled = lambda: True
    with pytest.raises(WorkerLostError, match="cancelled"):
        three_workers[0].exchange({}, [1])
    with pytest.raises(WorkerLostError, match="cancelled"):  # nobody reads
        three_workers[0].exchange({1: bytes(50_000_000)}, [])


def test_a_wait_ends_when_the_connections_are_closed_on_this_side(three_workers):
    close_sources(three_workers[0])
    with pytest.raises(WorkerLostError, match="closed"):
        three_workers[0].exchange({}, [1])
    for target in three_workers[1]._targets.values():
        target.close()
    with pytest.raises(WorkerLostError, match="closed"):
        three_workers[1].exchange({0: b"x"}, [])
    with pytest.raises(WorkerLostError, match="closed on this worker"):
        three_workers[1]._wait([0], [], lambda: None)


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (["tcp://127.0.0.1:1", "tcp://10.0.0.2:2"], True),
        (["tls://127.0.0.1:1", "tls://10.0.0.2:2"], False),
        (["inproc://127.0.0.1/1/2", "tcp://10.0.0.2:2"], False),
    ],
)
def test_sockets_are_handed_over_unless_connections_are_encrypted_or_in_one_process(addresses, expected):
    assert can_hand_over(addresses) is expected
