"""A cluster of processes on this machine, and a time limit: a test that hangs fails with the stacks of all threads."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import dask
from distributed import Client, LocalCluster

N_WORKERS = 4
HANG_SECONDS = 180.0
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.comm.timeouts.connect": "10s",
    # Nannies start workers again; the cluster would close one that is being restarted when an earlier loss is this old.
    "distributed.deploy.lost-worker-timeout": "1h",
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


@pytest.fixture(scope="package")
def threaded_client() -> Iterator[Client]:
    """A cluster of eight workers in this process."""
    cluster = LocalCluster(
        n_workers=8, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=logging.CRITICAL
    )
    with dask.config.set(QUIET), cluster, Client(cluster) as client:
        yield client


class FragileCluster:
    """A cluster whose workers are killed and started again; another one, if Dask has not started one again."""

    def __init__(self) -> None:
        self._open: ExitStack | None = None
        self.client: Client

    def get(self, n_workers: int = 3) -> Client:
        """Return a client of the cluster, once all workers are there."""
        if self._open is not None:
            try:
                self.client.wait_for_workers(n_workers, timeout=15.0)
                return self.client
            except (TimeoutError, asyncio.TimeoutError):
                self.close()
        self._open = ExitStack()
        self._open.enter_context(dask.config.set(QUIET))
        cluster = self._open.enter_context(make_cluster(n_workers))
        self.client = self._open.enter_context(Client(cluster, set_as_default=False))
        self.client.wait_for_workers(n_workers, timeout=60.0)
        return self.client

    def pids(self) -> list[int]:
        """Return the process ids of the workers."""
        while True:
            try:
                return sorted(self.client.run(os.getpid).values())
            except OSError:  # one has died since the last question
                self.get()

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


@pytest.fixture(scope="package")
def fragile_cluster() -> Iterator[FragileCluster]:
    cluster = FragileCluster()
    yield cluster
    cluster.close()


@pytest.fixture
def fragile_client(fragile_cluster: FragileCluster) -> Client:
    """The client of a cluster of its own, whose workers are killed."""
    return fragile_cluster.get()
