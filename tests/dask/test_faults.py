"""Workers that are killed at a given step, stopped, restarted or added: the model of an undisturbed fit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from sapwood import SapwoodRegressor
from sapwood.dask import DaskSapwoodRegressor
from sapwood.dask.transport import DaskCommunicator
from sapwood.errors import TrainingError
from tests.dask.collections import make_table, put
from tests.dask.conftest import QUIET, make_cluster
from tests.dask.test_fit import FEW, fingerprint
from tests.dask.test_worker_loss import SIZES, kill_once, parts, workers_of

ROUNDS = FEW | {"n_estimators": 10}


def die_at(purpose: str) -> None:
    """Kill this process when it next sends bytes for a purpose."""
    send_receive = DaskCommunicator.send_receive

    def send_or_die(self: DaskCommunicator, *arguments: Any) -> Any:
        if self.purpose.startswith(purpose):
            os.kill(os.getpid(), signal.SIGKILL)
        return send_receive(self, *arguments)

    DaskCommunicator.send_receive = send_or_die  # type: ignore[method-assign]


class AtRound:
    """A callback that creates a file after a round, and then waits for another one, at most some seconds."""

    def __init__(self, folder: Path, round: int) -> None:
        self.folder, self.round = str(folder), round

    def __call__(self, progress: Any) -> None:
        if progress.round == self.round:
            Path(self.folder, "reached").touch()
            wait_until(Path(self.folder, "go").exists)


def wait_until(fact: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def fit_disturbed(client: Client, folder: Path, disturb: Callable[[], None]) -> DaskSapwoodRegressor:
    """Train on all workers of the cluster, and do something after round 4 while training waits."""
    X, y = make_table()
    addresses = list(workers_of(client))
    pinned = [put(client, values, SIZES, addresses) for values in (X, y)]
    model = DaskSapwoodRegressor(**ROUNDS, client=client, callbacks=AtRound(folder, 4))
    thread = threading.Thread(target=model.fit, args=pinned)
    thread.start()
    wait_until(Path(folder, "reached").exists)
    try:
        disturb()
    finally:
        Path(folder, "go").touch()
        thread.join(60.0)
    assert not thread.is_alive()
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**ROUNDS).fit(X, y))
    return model


@pytest.mark.parametrize(
    "purpose",
    [
        pytest.param("journal", marks=pytest.mark.cluster),
        "edges",
        "level 2",
        pytest.param("leaves", marks=pytest.mark.cluster),
    ],
)
def test_a_worker_killed_at_a_step_does_not_change_the_model(fragile_client: Client, purpose: str) -> None:
    X, y = make_table()
    addresses = list(workers_of(fragile_client))
    pinned = [put(fragile_client, values, SIZES, addresses) for values in (X, y)]
    fragile_client.run(die_at, purpose, workers=addresses[1:2])
    model = DaskSapwoodRegressor(**ROUNDS, client=fragile_client).fit(*pinned)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**ROUNDS).fit(X, y))
    assert model.fit_report_["attempts"] == 2


def test_a_worker_killed_while_it_predicts_does_not_change_predictions(fragile_client: Client, tmp_path: Path) -> None:
    X, y = make_table()
    path = tmp_path / "model.sapwood"
    alone = SapwoodRegressor(**ROUNDS).fit(X, y)
    alone.save(path)
    model = DaskSapwoodRegressor.load(path)
    predicted = fragile_client.gather(
        fragile_client.compute(model.predict(parts(X, str(tmp_path / "predict"))))  # one part kills its worker once
    )
    assert (tmp_path / "predict").exists()
    assert np.array_equal(np.concatenate(predicted), alone.predict(X))


def test_a_worker_that_is_stopped_for_a_while_goes_on(fragile_client: Client, tmp_path: Path) -> None:
    victim = list(workers_of(fragile_client).values())[-1]

    def stop_for_a_while() -> None:
        os.kill(victim, signal.SIGSTOP)
        Path(tmp_path, "go").touch()
        time.sleep(2.0)
        os.kill(victim, signal.SIGCONT)

    model = fit_disturbed(fragile_client, tmp_path, stop_for_a_while)
    assert model.fit_report_["attempts"] == 1


def test_a_worker_that_the_scheduler_restarts_is_replaced(fragile_client: Client, tmp_path: Path) -> None:
    address = list(workers_of(fragile_client))[1]
    model = fit_disturbed(fragile_client, tmp_path, lambda: restart(fragile_client, address, tmp_path))
    assert model.fit_report_["attempts"] == 2
    assert address not in [worker["address"] for worker in model.fit_report_["workers"]]


def restart(client: Client, address: str, folder: Path) -> None:
    Path(folder, "go").touch()
    client.restart_workers([address], timeout=30)


def test_a_fault_in_every_attempt_ends_with_an_error_that_names_it(fragile_client: Client, tmp_path: Path) -> None:
    X, y = make_table()
    killer = KillInEveryAttempt(tmp_path)
    with pytest.raises(TrainingError, match=r"lost in each of 2 attempts, in the last one because .*worker 0"):
        DaskSapwoodRegressor(**ROUNDS, client=fragile_client, callbacks=killer, retries=1).fit(parts(X), parts(y))


class KillInEveryAttempt:
    """A callback that kills the first worker of every attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, progress: Any) -> None:
        if progress.round >= 3:
            kill_once(f"{self.folder}/{os.getpid()}", os.getpid())


def test_a_cluster_that_is_closed_in_the_middle_ends_the_fit(tmp_path: Path) -> None:
    X, y = make_table()
    with dask.config.set(QUIET), make_cluster(2) as cluster, Client(cluster) as client:
        model = DaskSapwoodRegressor(**ROUNDS, client=client, callbacks=AtRound(tmp_path, 4))
        errors: list[BaseException] = []
        thread = threading.Thread(target=lambda: errors.append(raised_by(lambda: model.fit(parts(X), parts(y)))))
        thread.start()
        wait_until(Path(tmp_path, "reached").exists)
        cluster.close()
        thread.join(60.0)
        assert not thread.is_alive()
    assert len(errors) == 1


def raised_by(call: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as caught:
        call()
    return caught.value


@pytest.mark.cluster
def test_a_worker_that_joins_in_the_middle_does_not_matter(tmp_path: Path) -> None:
    with dask.config.set(QUIET), make_cluster(2) as cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)

        def add_worker() -> None:
            cluster.scale(3)
            client.wait_for_workers(3, timeout=60)

        model = fit_disturbed(client, tmp_path, add_worker)
        assert len(model.fit_report_["workers"]) == 2
        X, y = make_table()
        again = DaskSapwoodRegressor(**ROUNDS, client=client).fit(
            *[put(client, values, SIZES, list(workers_of(client))) for values in (X, y)]
        )
        assert len(again.fit_report_["workers"]) == 3


@pytest.mark.cluster
def test_a_worker_that_stays_stopped_is_replaced_when_its_time_is_over(tmp_path: Path) -> None:
    quick = QUIET | {"distributed.scheduler.worker-ttl": "3s"}
    with dask.config.set(quick), make_cluster(3) as cluster, Client(cluster) as client:
        client.wait_for_workers(3, timeout=60)
        victim = list(workers_of(client).values())[-1]
        model = fit_disturbed(client, tmp_path, lambda: os.kill(victim, signal.SIGSTOP))
        # On a busy machine another worker may be silent for 3 s too.
        assert model.fit_report_["attempts"] >= 2


@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_a_table_that_no_worker_could_hold_trains() -> None:
    n_partitions, n_rows, n_columns, limit = 32, 78_000, 64, 1200 * 2**20
    cluster = LocalCluster(
        n_workers=8, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", memory_limit=limit,
    )  # fmt: skip
    with dask.config.set(QUIET), cluster, Client(cluster) as client:
        X = [dask.delayed(draw_rows)(k, n_rows, n_columns) for k in range(n_partitions)]
        y = [dask.delayed(add_columns)(one) for one in X]
        model = DaskSapwoodRegressor(**FEW, client=client).fit(X, y)
        workers = model.fit_report_["workers"]
        peaks = list(client.run(peak_bytes).values())
    size = n_partitions * n_rows * (n_columns + 1) * 8
    print(
        f"\n{sum(worker['rows'] for worker in workers)} rows, {size / 2**20:.0f} MiB, {len(workers)} workers of "
        f"{limit / 2**20:.0f} MiB, peaks {[round(peak / 2**20) for peak in peaks]} MiB, "
        f"{model.fit_report_['attempts']} attempts"
    )
    assert sum(worker["rows"] for worker in workers) == n_partitions * n_rows
    assert size > limit


def draw_rows(number: int, n_rows: int, n_columns: int) -> np.ndarray:
    return np.random.default_rng(number).normal(size=(n_rows, n_columns))


def add_columns(X: np.ndarray) -> np.ndarray:
    return X[:, 0] + X[:, 1] ** 2


def peak_bytes() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_cluster_with_tls_trains() -> None:
    pytest.importorskip("cryptography", reason="Dask makes temporary certificates with cryptography only")
    from distributed.security import Security

    X, y = make_table()
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", memory_limit=0,
        security=Security.temporary(),
    )  # fmt: skip
    with dask.config.set(QUIET), cluster, Client(cluster) as client:
        addresses = sorted(workers_of(client))
        assert all(address.startswith("tls://") for address in addresses)
        pinned = [put(client, values, SIZES, addresses) for values in (X, y)]
        model = DaskSapwoodRegressor(**FEW, client=client).fit(*pinned)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW).fit(X, y))
    assert len(model.fit_report_["workers"]) == 2
