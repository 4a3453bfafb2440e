"""An inbox hands out the parts of each sender in their order, and ends every wait when a worker is lost."""

from __future__ import annotations

import threading

import pytest

from sapwood.distributed.inbox import Inbox, WorkerLostError


def test_parts_are_taken_in_the_order_of_their_numbers() -> None:
    inbox = Inbox()
    inbox.put(0, 2, b"later")
    inbox.put(1, 1, b"b")
    inbox.put(0, 1, b"a")
    assert inbox.take([0, 1]) == {0: b"a", 1: b"b"}
    assert inbox.take([0]) == {0: b"later"}
    assert inbox.take([]) == {}


def test_a_part_that_has_not_come_is_waited_for() -> None:
    inbox = Inbox()
    timer = threading.Timer(0.05, inbox.put, (3, 1, b"late"))
    timer.start()
    assert inbox.take([3]) == {3: b"late"}
    timer.join()


def test_whoever_waits_is_told_that_the_run_is_over() -> None:
    inbox = Inbox()
    inbox.put(0, 1, b"there")
    inbox.fail("worker 1 is lost")
    inbox.fail("an echo")
    assert inbox.take([0]) == {0: b"there"}
    with pytest.raises(WorkerLostError, match="worker 1 is lost"):
        inbox.take([0])
    with pytest.raises(WorkerLostError, match="cancelled"):
        Inbox().take([0], lambda: True)
