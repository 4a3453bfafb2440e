"""What distributed training costs: ``python -m bench.scale``, ``python -m bench.scale --workers 1 2 4 8``.

Without arguments, 64 workers that are threads of this process train one model. Bytes, messages and exchanges are
counted by purpose and compared with the estimate, and the fingerprint with that of a fit on one machine.
``--simulate 16`` is another number of workers.

``--workers 1 2 4 8`` trains on local Dask clusters of so many processes of one thread, and prints what a worker needs
per tree: CPU seconds, seconds in exchanges, bytes. On a machine with fewer cores than workers, seconds in exchanges are
mostly those of waiting for workers that have no core; CPU seconds are not affected.

``--memory 500000 2000000`` prints what fits of these numbers of rows add to the memory of one worker.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from tests.distributed.worker_threads import run_workers

from bench.child import forget_peak, peak_mb
from sapwood import SapwoodClassifier
from sapwood.distributed import Communicator, estimate_cost, fit
from sapwood.distributed.cost import Collectives, Histogram, Traffic, level_traffic
from sapwood.grow.histogram_exchange import HistogramExchange
from sapwood.kernels import layout

N_FEATURES = 28
HISTOGRAM = Histogram(N_FEATURES * layout.FEATURE_STRIDE, n_planes=1)
PARAMS: dict[str, Any] = {"effort": "fast", "max_leaves": 31, "random_state": 0, "precision": "packed"}


def table(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0


def by_purpose(counts: dict[str, Any]) -> dict[str, Any]:
    """Add up the levels of trees."""
    levels = sum(count for purpose, count in counts.items() if purpose.startswith("level "))
    return {purpose: count for purpose, count in counts.items() if not purpose.startswith("level ")} | {
        "levels": levels
    }


class CountedBatches:
    """Counts the histograms that all workers build, and the batches in which they do, while the block runs."""

    def __enter__(self) -> CountedBatches:
        self.batches: list[int] = []  # appending is safe in threads
        self._build = build = HistogramExchange.build

        def counted(exchange: HistogramExchange, built: np.ndarray, *args: Any) -> Any:
            self.batches.append(len(built))
            return build(exchange, built, *args)

        HistogramExchange.build = counted
        return self

    def __exit__(self, *_: object) -> None:
        HistogramExchange.build = self._build


class Simulation(NamedTuple):
    """Whether the model is that of one machine, histograms and batches per tree, and traffic beside its estimate.

    ``traffic`` is that of the average worker per tree, but for "edges"; ``formula`` that of the levels by the
    histograms that were built.
    """

    is_same: bool
    n_histograms: float
    n_batches: float
    traffic: dict[str, tuple[Traffic, Traffic]]
    formula: Traffic


def simulate(n_workers: int, n_rows: int, n_trees: int) -> Simulation:
    """Train with threads as workers, and count."""
    X, y = table(n_rows)
    params = PARAMS | {"n_estimators": n_trees, "n_jobs": 1}
    alone = SapwoodClassifier(**params).fit(X, y).model_.fingerprint()

    def work(communicator: Communicator) -> tuple[str, Communicator]:
        rows = slice(n_rows * communicator.rank // n_workers, n_rows * (communicator.rank + 1) // n_workers)
        model = fit(SapwoodClassifier(**params), X[rows], y[rows], communicator)
        return model.model_.fingerprint(), communicator

    with CountedBatches() as counted:
        fingerprints, communicators = zip(*run_workers(n_workers, work), strict=True)
    n_built, n_batches = (n / (n_workers * n_trees) for n in (sum(counted.batches), len(counted.batches)))
    cost = estimate_cost(SapwoodClassifier(**params), n_rows, N_FEATURES, n_workers)
    traffic = {
        purpose: (mean_traffic(communicators, purpose, 1 if purpose == "edges" else n_trees), estimate)
        for purpose, estimate in (cost.per_tree | {"edges": cost.once}).items()
    }
    formula = level_traffic(Collectives(n_workers), HISTOGRAM, n_built, n_batches)
    return Simulation(set(fingerprints) == {alone}, n_built, n_batches, traffic, formula)


def mean_traffic(communicators: Sequence[Communicator], purpose: str, n: int) -> Traffic:
    """Return what the average worker has sent for a purpose, divided by n."""
    names = ("sent", "exchanges", "messages")
    counts = [np.mean([by_purpose(getattr(one, name)).get(purpose, 0) for one in communicators]) / n for name in names]
    return Traffic(*map(float, counts))


def print_simulation(n_workers: int, n_rows: int, n_trees: int) -> None:
    start = time.perf_counter()
    found = simulate(n_workers, n_rows, n_trees)
    print(f"{n_workers} workers (threads), {n_rows:,} rows, {N_FEATURES} features, {n_trees} trees of 31 leaves:")
    print("the model of one machine" if found.is_same else "ANOTHER MODEL than that of one machine")
    heads = ("bytes", "estimate", "exchanges", "estimate", "messages", "estimate")
    print(f"{'per worker and tree':>20}" + "".join(f"{head:>12}" for head in heads))
    for purpose, (counted, estimate) in found.traffic.items():
        name = "edges (once)" if purpose == "edges" else purpose
        numbers = (counted.n_bytes, estimate.n_bytes, counted.exchanges, estimate.exchanges)
        numbers += (counted.messages, estimate.messages)
        print(f"{name:>20}" + "".join(f"{number:12,.0f}" for number in numbers))
    print(
        f"{found.n_histograms:.1f} histograms in {found.n_batches:.1f} batches per tree, by which the formula of the "
        f"levels gives {found.formula.n_bytes:,.0f} bytes; {time.perf_counter() - start:.1f} s"
    )


def measure(n_workers: int, n_rows: int, n_trees: int) -> dict[str, float]:
    """Train on a Dask cluster of processes; return what the average worker needs per tree, without the first trees.

    A fit of one tree is subtracted from one of ``n_trees`` more.
    """
    from distributed import Client, LocalCluster, wait

    from sapwood.dask import DaskSapwoodClassifier

    X, y = table(n_rows)
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "memory_limit": 0}
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", **quiet) as cluster,
        Client(cluster) as client,
    ):
        addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
        bounds = np.arange(n_workers + 1) * n_rows // n_workers
        parts = [
            [
                client.scatter(values[bounds[k] : bounds[k + 1]], workers=[one], hash=False)
                for k, one in enumerate(addresses)
            ]
            for values in (X, y)
        ]
        wait([*parts[0], *parts[1]])
        totals = []
        for n in (1, 1, 1 + n_trees):  # the first fit loads libraries
            before, start = client.run(time.process_time), time.perf_counter()
            model = DaskSapwoodClassifier(**PARAMS, n_estimators=n, client=client).fit(*parts)
            wall, after = time.perf_counter() - start, client.run(time.process_time)
            reports = model.fit_report_["workers"]
            sums = {
                name: float(np.mean([sum(one[name].values()) for one in reports]))
                for name in ("bytes_sent", "exchanges", "messages", "seconds")
            }
            totals.append(sums | {"cpu": float(np.mean([after[one] - before[one] for one in addresses])), "wall": wall})
    return {name: (totals[2][name] - totals[1][name]) / n_trees for name in totals[0]}


class Alone(Communicator):
    """The only worker of a fit."""

    def exchange(self, parts: Sequence[bytes]) -> Sequence[bytes]:
        """Return the only part."""
        return parts


def added_megabytes(n_rows: int) -> float:
    """Return what a fit adds to the peak memory of a process that holds the rows."""
    X, y = table(n_rows)
    fit(SapwoodClassifier(**PARAMS, n_estimators=1), X[:1000], y[:1000], Alone(0, 1))  # loads libraries
    forget_peak()
    held = peak_mb()
    fit(SapwoodClassifier(**PARAMS, n_estimators=3), X, y, Alone(0, 1))
    return peak_mb() - held


def print_memory(sizes: Sequence[int]) -> None:
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        added = list(pool.map(added_megabytes, sizes))
    for n_rows, megabytes in zip(sizes, added, strict=True):
        print(f"{n_rows:,} rows of {N_FEATURES} features at one worker: a fit adds {megabytes:.0f} MB to the rows")
    per_row = (added[-1] - added[0]) * 2**20 / (sizes[-1] - sizes[0])
    print(f"{per_row:.0f} bytes per row")


def print_measurements(workers: list[int], n_rows: int, n_trees: int) -> None:
    print(f"{n_rows:,} rows, {N_FEATURES} features, {PARAMS['max_leaves']} leaves, per worker and tree")
    heads = ("workers", "bytes", "exchanges", "messages", "CPU ms", "exchange ms", "wall ms")
    print("".join(f"{head:>12}" for head in heads))
    for n_workers in workers:
        found = measure(n_workers, n_rows, n_trees)
        numbers = [found[name] for name in ("bytes_sent", "exchanges", "messages")]
        numbers += [1e3 * found[name] for name in ("cpu", "seconds", "wall")]
        print(f"{n_workers:12}" + "".join(f"{number:12,.1f}" for number in numbers), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", type=int, default=64, metavar="R", help="number of workers that are threads")
    parser.add_argument("--workers", type=int, nargs="+", help="numbers of Dask workers to measure instead")
    parser.add_argument("--rows", type=int, help="rows of all workers; 64,000, or 200,000 with --workers")
    parser.add_argument("--trees", type=int, help="trees; 2, or 20 with --workers")
    parser.add_argument(
        "--memory", type=int, nargs="+", metavar="ROWS", help="measure the memory of fits of these sizes"
    )
    given = parser.parse_args()
    if given.memory:
        print_memory(given.memory)
        return
    if given.workers:
        print_measurements(given.workers, given.rows or 200_000, given.trees or 20)
    else:
        print_simulation(given.simulate, given.rows or 64_000, given.trees or 2)


if __name__ == "__main__":
    main()
