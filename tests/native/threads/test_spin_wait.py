"""Members that wait in compiled code between calls."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from sapwood.kernels.threads.barrier import check_barrier
from sapwood.native.runtime import intrinsics
from sapwood.native.runtime.kernel import mode
from sapwood.native.threads import worker_threads
from sapwood.native.threads.spin_wait import MEMBER_WORDS, STATE, WAITING, WAKE
from sapwood.native.threads.worker_threads import WorkerThreads

pytestmark = pytest.mark.skipif(mode() != "native", reason="members spin in compiled code only")


@pytest.fixture(autouse=True)
def enough_cores(monkeypatch):
    """Members spin only where each has a core of its own."""
    monkeypatch.setattr(worker_threads, "usable_cpus", lambda: 8)


def states(workers: WorkerThreads) -> np.ndarray:
    """The state of each member but the caller."""
    assert workers._mailbox is not None
    return workers._mailbox.words[MEMBER_WORDS::MEMBER_WORDS][: workers.size - 1] + STATE


def test_calls_in_quick_succession_find_the_members_waiting():
    workers, out = WorkerThreads(2), np.zeros(16, np.int64)
    workers.run(check_barrier, (out, 1))
    deadline = time.perf_counter() + 10
    while states(workers)[0] != WAITING and time.perf_counter() < deadline:
        workers.run(check_barrier, (np.zeros(16, np.int64), 1))
    assert states(workers)[0] == WAITING


@pytest.mark.parametrize("pause", [0.0, 0.0003, 0.002])
def test_every_member_takes_part_whether_it_still_waits_or_has_gone_to_sleep(pause):
    workers, out = WorkerThreads(4), np.zeros(32, np.int64)
    for _ in range(50):
        out[:] = 0
        workers.run(check_barrier, (out, 3))
        assert out[::8].tolist() == [3, 3, 3, 3]
        time.sleep(pause)


def test_members_fall_asleep_when_no_call_comes():
    workers = WorkerThreads(3)
    workers.run(check_barrier, (np.zeros(24, np.int64), 1))
    deadline = time.perf_counter() + 10
    while states(workers).any() and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert not states(workers).any()
    assert workers._mailbox is not None
    assert not workers._mailbox.words[WAKE::MEMBER_WORDS][1:3].any()


def test_threads_of_two_callers_work_side_by_side():
    totals: list[int] = []

    def work() -> None:
        workers, out = WorkerThreads(2), np.zeros(16, np.int64)
        for _ in range(200):
            out[:] = 0
            workers.run(check_barrier, (out, 2))
            totals.append(out[0] + out[8])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [4] * 600


def test_compare_exchange_returns_the_old_value_and_writes_only_over_the_expected_one():
    words = np.array([5], np.int64)
    assert intrinsics.atomic_compare_exchange(words, 0, 4, 7) == 5
    assert words[0] == 5
    assert intrinsics.atomic_compare_exchange(words, 0, 5, 7) == 5
    assert words[0] == 7
