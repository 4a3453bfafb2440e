"""The team of threads: meeting, failing, being interrupted, forking, and how large it is."""

from __future__ import annotations

import gc
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.kernels.threads.barrier import check_barrier
from sapwood.native.threads import team
from sapwood.native.threads.team import Crew, Team, current_team, usable_cpus


def counters(members: int) -> np.ndarray:
    """Eight cells for each member: how often it met, and how often another had not kept pace."""
    return np.zeros(8 * members, dtype=np.int64)


def table(n_rows: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(5).normal(size=(n_rows, 5))
    return X, X[:, 0] - X[:, 1] ** 2


def fit(X, y, **settings):
    return SapwoodRegressor(n_estimators=5, precision="packed", **settings).fit(X, y).model_.fingerprint()


def wait_for(condition, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


# --- meeting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [2, 3, 8])
def test_members_keep_pace_even_if_there_are_more_than_cores(members):
    out = counters(members)
    Team(members).run(check_barrier, out, 300)
    assert out.reshape(members, 8)[:, 0].tolist() == [300] * members
    assert not out.reshape(members, 8)[:, 1].any()


def test_a_kernel_without_members_runs_once_on_any_team():
    calls = []

    class Lonely:
        takes_team = False

        def __call__(self, *args):
            calls.append(args)

    Team(8).run(Lonely(), 1, 2)
    assert calls == [(1, 2)]


# --- failing ----------------------------------------------------------------------------------------------------------


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


def test_a_crew_works_again_after_a_failure():
    crew, out = Crew(4), counters(4)
    with pytest.raises(RuntimeError):
        crew.run(FailingMember(2), (counters(4),))
    crew.run(check_barrier, (out, 50))
    assert out.reshape(4, 8)[:, :2].tolist() == [[50, 0]] * 4


class Interrupted(BaseException):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer signal")
def test_an_interruption_at_any_moment_leaves_no_member_behind():
    """A signal's exception can strike between any two steps of a call; the calls after it must find the crew whole."""
    is_armed = False

    def strike(*_):
        if is_armed:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, strike)
    source, crew, out, n_struck = random.Random(1), Crew(3), counters(3), 0
    try:
        for _ in range(1500):
            out[:] = 0
            signal.setitimer(signal.ITIMER_REAL, source.uniform(1e-6, 2e-4))
            try:
                is_armed = True
                crew.run(check_barrier, (out, 5))
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


LONG_FITS = """
import numpy as np
from sapwood import SapwoodRegressor
X = np.random.default_rng(0).normal(size=(20_000, 10))
SapwoodRegressor(n_estimators=2).fit(X, X[:, 0])
while True:
    print("training", flush=True)
    model = SapwoodRegressor(n_estimators=1_000_000).fit(X, X[:, 0])
    print(model.stopped_, model.n_iter_ < 1_000_000, flush=True)
"""


def test_ctrl_c_ends_a_long_fit_promptly(start):
    """The first ends the fit with the trees it has; one soon after it ends the program."""
    process = start("-c", LONG_FITS, SAPWOOD_TEAM="2")
    assert process.stdout.readline() == "training\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert process.stdout.readline() == "interrupted True\n"
    assert process.stdout.readline() == "training\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begin < 10
    assert process.returncode != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")


# --- processes and threads --------------------------------------------------------------------------------------------


def test_a_forked_child_fits_the_same_model(start):
    script = """
import os, sys
from tests.native.threads.test_team import fit, table
first = fit(*table())
child = os.fork()
if child == 0:
    os._exit(0 if fit(*table()) == first else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert fit(*table()) == first
sys.exit(code)
"""
    process = start("-c", script, SAPWOOD_TEAM="4")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def test_two_fits_at_once_are_as_good_as_one_after_the_other(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    X, y = table()
    alone = [fit(X, y), fit(X, -y)]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            together = list(pool.map(lambda target: fit(X, target), [y, -y]))
            assert together == alone


def test_threads_do_not_grow_in_number_over_many_fits(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "4")
    X, y = table(200)
    fit(X, y)
    before = threading.active_count()
    for _ in range(50):
        fit(X, y)
    assert threading.active_count() <= before


def test_the_threads_of_a_forgotten_crew_end():
    before = set(threading.enumerate())
    crew = Crew(6)
    crew.run(check_barrier, (counters(6), 2))
    its_own = set(threading.enumerate()) - before
    assert len(its_own) == 5
    del crew
    gc.collect()
    assert wait_for(lambda: not any(thread.is_alive() for thread in its_own))


def test_a_finished_call_keeps_no_array_of_the_caller():
    import weakref

    out = counters(3)
    Team(3).run(check_barrier, out, 2)
    seen = weakref.ref(out)
    del out
    assert wait_for(lambda: gc.collect() >= 0 and seen() is None)


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(monkeypatch):
    """A machine with so many CPUs, of which control groups grant some."""

    def made(cpus: int, granted: float = float("inf")) -> None:
        monkeypatch.setattr(team, "granted_cpus", lambda: granted)
        monkeypatch.setattr(team.os, "sched_getaffinity", lambda pid: set(range(cpus)), raising=False)
        team._quota.cache_clear()

    monkeypatch.delenv("SAPWOOD_TEAM", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield made
    team._quota.cache_clear()


@pytest.mark.parametrize(
    ("granted", "cpus"), [(float("inf"), 8), (2.5, 3), (2.4, 2), (0.1, 1), (99.0, 8), (4.0, 4)]
)  # fmt: skip
def test_a_team_is_no_larger_than_the_control_group_allows(machine, granted, cpus):
    machine(8, granted)
    assert usable_cpus() == cpus
    assert current_team().size == cpus


def test_a_team_is_no_larger_than_the_affinity_of_the_process(machine):
    machine(3)
    assert current_team().size == 3


@pytest.mark.parametrize(("text", "size"), [("2", 2), ("1", 1), ("0", 1), ("64", 8), ("", 8), ("all", 8)])
def test_omp_num_threads_is_a_limit(machine, monkeypatch, text, size):
    machine(8)
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert current_team().size == size


@pytest.mark.parametrize(("n_jobs", "size"), [(None, 8), (-1, 8), (1, 1), (3, 3), (100, 8), (-2, 7), (-8, 1), (-99, 1)])
def test_n_jobs_is_a_number_of_threads_or_counts_back_from_all(machine, n_jobs, size):
    machine(8)
    assert current_team(n_jobs).size == size


def test_n_jobs_is_stronger_than_the_environment(machine, monkeypatch):
    machine(8)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert current_team(4).size == 4


def test_little_work_is_done_alone(machine):
    machine(8)
    assert current_team(None, team.SMALL_WORK - 1).size == 1
    assert current_team(None, team.SMALL_WORK).size == 8


def test_a_size_can_be_forced_whatever_the_machine_has(machine, monkeypatch):
    machine(2)
    monkeypatch.setenv("SAPWOOD_TEAM", "8")
    assert current_team(1, 10).size == 8


# --- how long members wait awake --------------------------------------------------------------------------------------


def test_members_wait_awake_for_less_time_while_others_take_their_cores(monkeypatch):
    taken, now = [0], [0.0]
    monkeypatch.setattr(team, "interruptions", lambda: taken[0])
    monkeypatch.setattr(team.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(team, "usable_cpus", lambda: 2)
    crew, asked = Crew(2), []
    for n in (1, 1, 50, 50, 1):  # interruptions in about a quarter of a second
        taken[0] += n
        now[0] += 1.0 / 4
        asked.append(crew._spins())
        now[0] += team.BUSY_EVERY / 2
        asked.append(crew._spins())
    calm, busy = [team.SPINS] * 2, [team.FEWER_SPINS] * 2
    assert asked == calm + calm + busy + busy + calm


def test_a_team_larger_than_the_machine_does_not_wait_awake(monkeypatch):
    monkeypatch.setattr(team, "usable_cpus", lambda: 1)
    assert Crew(2)._spins() == 0
