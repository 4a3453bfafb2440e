"""Worker threads: failing, being interrupted, ending, and how long they spin."""

from __future__ import annotations

import gc
import random
import signal
import threading
import time

import pytest

from sapwood.kernels.threads.barrier import check_barrier
from sapwood.native.threads import worker_threads
from sapwood.native.threads.spin_speed import count_spins
from sapwood.native.threads.team import Team
from sapwood.native.threads.worker_threads import WorkerThreads
from tests.native.threads.test_team import counters, wait_for


class FailingMember:
    """A kernel in which one member fails while all others wait for it."""

    takes_team = True

    def __init__(self, failing: int) -> None:
        self.failing = failing

    def bind(self, sync, out):
        wait = check_barrier.bind(sync, out, 1_000_000)

        def call(member, members):
            if member == self.failing:
                time.sleep(0.02)
                raise RuntimeError(f"member {member} failed")
            wait(member, members)

        return call


@pytest.mark.parametrize("failing", [0, 1, 4])
def test_when_a_member_fails_nobody_is_left_waiting_and_the_error_is_raised(failing):
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=f"member {failing} failed"):
        Team(5).run(FailingMember(failing), counters(5))
    assert time.monotonic() - begin < 5


def test_threads_work_again_after_a_failure():
    workers, out = WorkerThreads(4), counters(4)
    with pytest.raises(RuntimeError):
        workers.run(FailingMember(2), (counters(4),))
    workers.run(check_barrier, (out, 50))
    assert out.reshape(4, 8)[:, :2].tolist() == [[50, 0]] * 4


class Interrupted(BaseException):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_an_interruption_at_any_moment_leaves_no_member_behind():
    """A signal's exception can strike between any two steps of a call; the calls after it must find all threads."""
    is_armed = False

    def strike(*_):
        if is_armed:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, strike)
    source, workers, out, n_struck = random.Random(1), WorkerThreads(3), counters(3), 0
    try:
        for _ in range(1500):
            out[:] = 0
            signal.setitimer(signal.ITIMER_REAL, source.uniform(1e-6, 2e-4))
            try:
                is_armed = True
                workers.run(check_barrier, (out, 5))
                is_armed = False
                assert out.reshape(3, 8)[:, :2].tolist() == [[5, 0]] * 3
            except Interrupted:
                is_armed = False
                n_struck += 1
                left = out.copy()
                time.sleep(1e-4)
                assert left.tolist() == out.tolist()
            is_armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert n_struck > 20
    finally:
        is_armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_threads_of_deleted_workers_end():
    before = set(threading.enumerate())
    workers = WorkerThreads(6)
    workers.run(check_barrier, (counters(6), 2))
    its_own = set(threading.enumerate()) - before
    assert len(its_own) == 5
    del workers
    gc.collect()
    assert wait_for(lambda: not any(thread.is_alive() for thread in its_own))


# --- how long members spin --------------------------------------------------------------------------------------


def test_members_spin_less_while_others_take_their_cores(monkeypatch):
    taken, now = [0], [0.0]
    monkeypatch.setattr(worker_threads, "context_switches", lambda: taken[0])
    monkeypatch.setattr(worker_threads.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(worker_threads, "usable_cpus", lambda: 2)
    workers, asked = WorkerThreads(2), []
    for n in (1, 1, 50, 50, 1):  # context switches in about a quarter of a second
        taken[0] += n
        now[0] += 1.0 / 4
        asked.append(workers._spins())
        now[0] += worker_threads.BUSY_SECONDS / 2
        asked.append(workers._spins())
    calm, busy = [count_spins(worker_threads.SPINNING)] * 2, [count_spins(worker_threads.BRIEF_SPINNING)] * 2
    assert asked == calm + calm + busy + busy + calm


def test_a_team_larger_than_the_machine_does_not_spin(monkeypatch):
    monkeypatch.setattr(worker_threads, "usable_cpus", lambda: 1)
    assert WorkerThreads(2)._spins() == 0
