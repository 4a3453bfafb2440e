"""Workers killed at random moments of a fit: the same model each time, soon, and nothing left behind."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import threading
import time
from typing import Any

import numpy as np
import psutil
import pytest
from dask.delayed import Delayed, delayed
from distributed import Client

from sapwood import SapwoodClassifier
from sapwood.dask import DaskSapwoodClassifier
from tests.dask.conftest import FragileCluster
from tests.dask.test_fit import fingerprint

N_PARTITIONS, N_ROWS = 6, 1000  # rows of each partition
BEYOND_SECONDS = 30.0  # of a fit whose worker is killed, compared with one that is not
PARAMS: dict[str, Any] = {
    "n_estimators": 200, "max_leaves": 8, "subsample": 0.7, "sampling": "uniform", "random_state": 1, "effort": "fast",
}  # fmt: skip


def read_rows(number: int, seconds: float = 0.0) -> np.ndarray:
    time.sleep(seconds)
    X = np.random.default_rng(number).normal(size=(N_ROWS, 8))
    X[np.random.default_rng(number).random(X.shape) < 0.05] = np.nan
    return X


def label(X: np.ndarray) -> np.ndarray:
    return np.digitize(np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]), [0.3])


def partitions() -> tuple[list[Delayed], list[Delayed]]:
    X = [delayed(read_rows)(k, 0.1) for k in range(N_PARTITIONS)]
    return X, [delayed(label)(one) for one in X]


class Fit(threading.Thread):
    """A fit in a thread of its own."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.model = DaskSapwoodClassifier(**PARAMS, client=client)
        self.error: BaseException | None = None
        self.seconds = 0.0

    def run(self) -> None:
        begin = time.perf_counter()
        try:
            self.model.fit(*partitions())
        except BaseException as error:
            self.error = error
        self.seconds = time.perf_counter() - begin

    def wait(self, seconds: float) -> None:
        """Wait for the end; print the stacks of all threads if it does not come."""
        self.join(seconds)
        if self.is_alive():
            faulthandler.dump_traceback()
            pytest.fail(f"the fit has not ended after {seconds:.0f} s")
        if self.error is not None:
            raise self.error


def expected_fingerprint() -> str:
    X = np.concatenate([read_rows(k) for k in range(N_PARTITIONS)])
    return fingerprint(SapwoodClassifier(**PARAMS).fit(X, label(X)))


def undisturbed_seconds(client: Client) -> float:
    fits = [Fit(client) for _ in range(2)]  # the first one loads kernels
    for fit in fits:
        fit.start()
        fit.wait(120.0)
    return fits[-1].seconds


def kill_at_random(cluster: FragileCluster, source: random.Random, seconds: float) -> tuple[float, Fit]:
    """Kill a worker at a moment of a fit that would take some seconds; return the moment and the fit."""
    client = cluster.get()
    victim = source.choice(cluster.pids())
    moment = source.uniform(0.0, seconds)
    fit = Fit(client)
    fit.start()
    fit.join(moment)
    os.kill(victim, signal.SIGKILL)
    fit.wait(seconds + BEYOND_SECONDS)
    return moment, fit


def test_workers_killed_at_random_moments_do_not_change_the_model(fragile_cluster: FragileCluster) -> None:
    seconds, expected = undisturbed_seconds(fragile_cluster.get()), expected_fingerprint()
    for seed in (1, 2):
        _, fit = kill_at_random(fragile_cluster, random.Random(seed), seconds)
        assert fingerprint(fit.model) == expected


@pytest.mark.cluster
@pytest.mark.timeout(1500)
def test_twenty_workers_killed_at_random_moments_give_twenty_equal_models() -> None:
    expected = expected_fingerprint()
    before = set(psutil.Process().children(recursive=True))
    cluster, seed = FragileCluster(), int(os.environ.get("SAPWOOD_KILL_SEED", time.time_ns()))
    source, slowest, n_resumed = random.Random(seed), 0.0, 0
    try:
        seconds = undisturbed_seconds(cluster.get())
        print(f"\nseed {seed}; a fit that is not disturbed: {seconds:.1f} s")
        for number in range(20):
            moment, fit = kill_at_random(cluster, source, seconds)
            report = fit.model.fit_report_
            replayed = max(worker["rounds_replayed"] for worker in report["workers"])
            print(
                f"{number + 1:2}: killed after {moment:4.1f} s, {fit.seconds:5.1f} s in all, {report['attempts']} "
                f"attempts, {replayed:2} rounds replayed, {fingerprint(fit.model)[:12]}",
                flush=True,
            )
            slowest = max(slowest, fit.seconds - seconds)
            n_resumed += report["attempts"] > 1
            assert fingerprint(fit.model) == expected
    finally:
        cluster.close()
    print(f"slowest: {slowest:.1f} s beyond the fit that is not disturbed")
    assert slowest < BEYOND_SECONDS
    assert n_resumed > 3, "most workers were killed before the first or after the last round"
    left = set(psutil.Process().children(recursive=True)) - before
    _, alive = psutil.wait_procs([one for one in left if "resource_tracker" not in " ".join(command(one))], timeout=20)
    assert not alive, "processes are left"


def command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
