"""Train on a local cluster of two workers, kill one on the way, and compare the model with that of one process.

Run it with ``python -m sapwood.dask.demo``, or ``make demo-cluster``.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, Future, LocalCluster, wait

from sapwood.boost.progress import Progress
from sapwood.dask.estimators import DaskSapwoodClassifier
from sapwood.data.tables.row_selection import select_rows
from sapwood.datasets import load_adult
from sapwood.estimators.classifier import SapwoodClassifier

N_WORKERS, N_PARTITIONS, FATAL_ROUND = 2, 6, 30
PARAMS: dict[str, Any] = {"effort": "fast", "n_estimators": 100, "random_state": 0}


class KillWorker:
    """A callback that kills a process after a round, once: the file ``mark`` says that it has done so."""

    def __init__(self, pid: int, mark: Path) -> None:
        self._pid, self._mark = pid, str(mark)

    def __call__(self, progress: Progress) -> None:
        """Kill the process if it is time to."""
        if progress.round >= FATAL_ROUND and not os.path.exists(self._mark):
            Path(self._mark).touch()
            os.kill(self._pid, signal.SIGKILL)


def main() -> None:
    """Run the demo."""
    logging.basicConfig(format="  %(message)s")
    logging.getLogger("sapwood.dask").setLevel(logging.INFO)
    X, y = load_adult().train
    start = time.perf_counter()
    alone = SapwoodClassifier(**PARAMS).fit(X, y)
    print(f"One process: {len(y):,} rows, {alone.n_iter_} rounds in {time.perf_counter() - start:.1f} s")
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, host="127.0.0.1", **quiet) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        pids: dict[str, int] = client.run(os.getpid)
        addresses = sorted(pids)
        print(f"\nA Dask cluster of {N_WORKERS} workers, {N_PARTITIONS} partitions")
        model = _fit(client, [put(client, one, addresses) for one in (X, y)])
        print(f"\nAgain, and worker {addresses[-1]} is killed (kill -9) after round {FATAL_ROUND}")
        killer = KillWorker(pids[addresses[-1]], Path(folder) / "killed")
        survived = _fit(client, [put(client, one, addresses) for one in (X, y)], killer)
    prints = [one.model_.fingerprint() for one in (alone, model, survived)]
    for name, fingerprint in zip(("one process", "two workers", "one of two killed"), prints, strict=True):
        print(f"{name:>18}: fingerprint {fingerprint[:32]}")
    if len(set(prints)) > 1:
        raise SystemExit("the models differ")
    print("All three models are the same, bit for bit.")


def _fit(client: Client, parts: list[list[Future]], killer: KillWorker | None = None) -> DaskSapwoodClassifier:
    """Train on partitions and print what the workers exchanged."""
    start = time.perf_counter()
    model = DaskSapwoodClassifier(**PARAMS, client=client, callbacks=[] if killer is None else [killer])
    model.fit(*parts)
    report = model.fit_report_
    workers = report["workers"]
    n_bytes = sum(sum(worker["bytes_sent"].values()) for worker in workers)
    n_exchanges, seconds = sum(workers[0]["exchanges"].values()), time.perf_counter() - start
    print(f"  {report['attempts']} attempt(s), {len(workers)} worker(s) at the end, {seconds:.1f} s")
    print(f"  {workers[0]['rounds_replayed']} rounds replayed, {n_exchanges} exchanges, {n_bytes / 1e6:.1f} MB sent")
    return model


def put(client: Client, values: Any, addresses: list[str]) -> list[Future]:
    """Return partitions of rows, in turn on the workers; Dask can compute each again."""
    rows = np.array_split(np.arange(len(values)), N_PARTITIONS)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        futures = [
            client.submit(
                select_rows, values, one, workers=[addresses[k % len(addresses)]], allow_other_workers=True, pure=False
            )
            for k, one in enumerate(rows)
        ]
    wait(futures)
    return futures


if __name__ == "__main__":
    main()
