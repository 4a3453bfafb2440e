"""A task runs on its worker or not at all, and nothing is waited for that a lost or paused worker has to give."""

from __future__ import annotations

import logging
import os
import signal
import time
from typing import Any

import pytest
from distributed import Client, Worker
from distributed.core import Status

from sapwood import SapwoodRegressor
from sapwood.dask import DaskSapwoodRegressor
from sapwood.dask.placement import Share, place
from sapwood.dask.worker_watch import WorkerWatch, find_running
from sapwood.distributed.inbox import WorkerLostError
from sapwood.errors import TrainingError
from tests.dask.collections import make_table, put
from tests.dask.test_fit import FEW, fingerprint


def pause(dask_worker: Worker) -> None:
    dask_worker.status = Status.paused


def resume(dask_worker: Worker) -> None:
    dask_worker.status = Status.running


def wait_for_running(client: Client, n_workers: int) -> None:
    while len(find_running(client)) != n_workers:
        time.sleep(0.02)


def test_idle_workers_do_not_take_over_the_task_of_a_busy_one(
    client: Client, addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    busy = []

    def place_on_a_busy_worker(*arguments: Any) -> list[Share]:
        shares = place(*arguments)
        busy.extend(client.submit(time.sleep, 0.4, workers=[shares[0].address], pure=False) for _ in range(5))
        return shares

    monkeypatch.setattr("sapwood.dask.fit.place", place_on_a_busy_worker)
    X, y = make_table()
    parts = [put(client, values, [600], addresses[:1]) for values in (X, y)]
    model = DaskSapwoodRegressor(**FEW, client=client, retries=0).fit(*parts)
    assert len(busy) == 5
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW).fit(X, y))


def test_neither_a_task_nor_a_result_of_a_killed_worker_is_waited_for(fragile_client: Client) -> None:
    address, pid = next(iter(fragile_client.run(os.getpid).items()))
    watch = WorkerWatch(fragile_client, [address], "run")
    result = fragile_client.submit(os.getpid, workers=[address], pure=False)
    assert watch.wait([result]) == ({result}, set())
    assert watch.gather([result]) == [pid]
    os.kill(pid, signal.SIGKILL)
    pending = fragile_client.submit(time.sleep, 60, workers=[address], pure=False)
    with pytest.raises(WorkerLostError, match=r"worker 0 \(tcp://.*\) is gone"):
        watch.wait([pending])
    with pytest.raises(WorkerLostError, match="is gone"):
        watch.gather([result])


def test_an_unfinished_task_is_waited_for_as_long_as_asked(client: Client, addresses: list[str]) -> None:
    task = client.submit(time.sleep, 1.0, workers=addresses[:1], pure=False)
    assert WorkerWatch(client, addresses[:1], "run").wait([task], 0.1) == (set(), {task})


def test_another_current_client_does_not_matter(client: Client, addresses: list[str]) -> None:
    with Client(client.scheduler.address, set_as_default=True):
        task = client.submit(time.sleep, 0.3, workers=addresses[:1], pure=False)
        assert WorkerWatch(client, addresses[:1], "run").wait([task], 10.0) == ({task}, set())


def test_the_partitions_of_a_paused_worker_go_to_the_others(client: Client, addresses: list[str]) -> None:
    X, y = make_table()
    parts = [put(client, values, [200] * 3, addresses[:3]) for values in (X, y)]
    client.run(pause, workers=addresses[:1])
    try:
        wait_for_running(client, 3)
        model = DaskSapwoodRegressor(**FEW, client=client).fit(*parts)
    finally:
        client.run(resume, workers=addresses[:1])
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW).fit(X, y))
    assert addresses[0] not in [worker["address"] for worker in model.fit_report_["workers"]]


def test_a_worker_that_is_paused_before_it_begins_is_left_out(
    client: Client, addresses: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    X, y = make_table()
    parts = [put(client, values, [200] * 3, addresses[:3]) for values in (X, y)]

    def place_then_pause(*arguments: Any) -> list[Share]:
        shares = place(*arguments)
        client.run(pause, workers=addresses[:1])
        return shares

    monkeypatch.setattr("sapwood.dask.fit.place", place_then_pause)
    monkeypatch.setattr("sapwood.dask.worker_watch.PAUSED_SECONDS", 0.5)
    try:
        with caplog.at_level(logging.WARNING, "sapwood.dask"):
            model = DaskSapwoodRegressor(**FEW, client=client).fit(*parts)
    finally:
        client.run(resume, workers=addresses[:1])
        wait_for_running(client, 4)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW).fit(X, y))
    assert model.fit_report_["attempts"] == 2
    assert f"worker {addresses[0]} is paused" in caplog.text
    assert "has not begun; Dask pauses a worker whose memory is nearly full" in caplog.text


def test_a_partition_that_no_worker_may_compute_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.dask.placement.IDLE_SECONDS", 1.0)
    X, _ = make_table()
    nowhere = client.submit(len, X, workers=["tcp://127.0.0.1:1"], pure=False)
    with pytest.raises(TrainingError, match=r"no worker has computed partition 0 for 1 s.* has 4 workers: start"):
        DaskSapwoodRegressor(**FEW, client=client).fit([nowhere], [nowhere])
