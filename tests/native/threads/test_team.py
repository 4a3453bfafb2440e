"""The team of threads: barriers, interruptions, forking, and its size."""

from __future__ import annotations

import gc
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.kernels.threads.barrier import check_barrier
from sapwood.native.system import cpu_count
from sapwood.native.system.cpu_count import usable_cpus
from sapwood.native.threads import team
from sapwood.native.threads.team import Team, current_team


def counters(members: int) -> np.ndarray:
    """Eight cells for each member: how many barriers it passed, and how often another's count differed."""
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


# --- barriers ---------------------------------------------------------------------------------------------------------


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


# --- interruptions ----------------------------------------------------------------------------------------------------

LONG_FITS = """
import numpy as np
from sapwood import SapwoodRegressor
X = np.random.default_rng(0).normal(size=(20_000, 10))
SapwoodRegressor(n_estimators=2).fit(X, X[:, 0])
while True:
    print("training", flush=True)
    model = SapwoodRegressor(n_estimators=1_000_000, on_interrupt="return").fit(X, X[:, 0])
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
        monkeypatch.setattr(cpu_count, "cpu_quota", lambda: granted)
        monkeypatch.setattr(cpu_count.os, "sched_getaffinity", lambda pid: set(range(cpus)), raising=False)
        cpu_count._cached_quota.cache_clear()

    monkeypatch.delenv("SAPWOOD_TEAM", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield made
    cpu_count._cached_quota.cache_clear()


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


def test_little_work_is_done_by_one_thread(machine):
    machine(8)
    assert current_team(None, team.MIN_PARALLEL_WORK - 1).size == 1
    assert current_team(None, team.MIN_PARALLEL_WORK).size == 8


def test_a_size_can_be_forced_whatever_the_machine_has(machine, monkeypatch):
    machine(2)
    monkeypatch.setenv("SAPWOOD_TEAM", "8")
    assert current_team(1, 10).size == 8
