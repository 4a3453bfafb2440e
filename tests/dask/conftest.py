"""A cluster of processes on this machine, and a time limit: a test that hangs fails with the stacks of all threads."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import dask
from distributed import Client, LocalCluster

N_WORKERS = 4
HANG_SECONDS = 90.0
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 65536,
}


def make_cluster(n_workers: int) -> LocalCluster:
    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0",
        memory_limit=0, silence_logs=logging.CRITICAL,
    )  # fmt: skip


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(HANG_SECONDS))


@pytest.fixture(scope="package")
def client() -> Iterator[Client]:
    with dask.config.set(QUIET), make_cluster(N_WORKERS) as cluster, Client(cluster) as made:
        yield made


@pytest.fixture(scope="package")
def addresses(client: Client) -> list[str]:
    client.wait_for_workers(N_WORKERS)
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def fit_report(model: Any) -> list[dict[str, Any]]:
    return model.fit_report_["workers"]
