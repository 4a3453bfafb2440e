"""Fits on a local Dask cluster: ``python -m bench.clusters``.

Sapwood, XGBoost and LightGBM train on the same workers, processes of one thread, and Sapwood in one process with as
many threads as there are workers. Repetitions are interleaved, the best one counts. All have the same trees, leaves,
bins, learning rate and L2 penalty, and the same rows, one partition in the memory of each worker.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import dask.array
import numpy as np
from distributed import Client, LocalCluster, wait

from bench.machine import warn_if_busy
from bench.scale import N_FEATURES, table
from sapwood import SapwoodClassifier
from sapwood.dask import DaskSapwoodClassifier

RATE, N_LEAVES, N_BINS = 0.1, 31, 255
ALONE = "sapwood, one process"


def log_loss(y: np.ndarray, p: np.ndarray) -> float:
    """Return the mean log loss of probabilities of the second class."""
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.mean(np.where(y, np.log(p), np.log1p(-p))))


def contestants(client: Client, n_workers: int, n_trees: int) -> dict[str, Callable[[Any, Any], Any]]:
    """Return functions that fit a library's model to Dask arrays and return it."""
    import lightgbm
    import xgboost.dask

    ours = {"effort": "fast", "max_leaves": N_LEAVES, "learning_rate": RATE, "reg_lambda": 1.0}

    def fit_sapwood(X: Any, y: Any) -> Any:
        return DaskSapwoodClassifier(**ours, n_estimators=n_trees, client=client).fit(X, y).to_local()

    def fit_xgboost(X: Any, y: Any) -> Any:
        model = xgboost.dask.DaskXGBClassifier(
            n_estimators=n_trees, learning_rate=RATE, tree_method="hist", grow_policy="lossguide", max_depth=0,
            max_leaves=N_LEAVES, max_bin=N_BINS, reg_lambda=1.0, n_jobs=1,
        )  # fmt: skip
        model.client = client
        return model.fit(X, y)

    def fit_lightgbm(X: Any, y: Any) -> Any:
        model = lightgbm.DaskLGBMClassifier(
            client=client, n_estimators=n_trees, learning_rate=RATE, num_leaves=N_LEAVES, max_bin=N_BINS,
            reg_lambda=1.0, tree_learner="data", n_jobs=1, verbose=-1,
        )  # fmt: skip
        return model.fit(X, y).to_local()

    def fit_alone(X: np.ndarray, y: np.ndarray) -> Any:
        return SapwoodClassifier(**ours, n_estimators=n_trees, n_jobs=n_workers).fit(X, y)

    return {
        ALONE: fit_alone,
        "sapwood.dask": fit_sapwood,
        "xgboost.dask": fit_xgboost,
        "lightgbm.dask": fit_lightgbm,
    }


def measure(n_workers: int, n_rows: int, n_trees: int, repeat: int) -> dict[str, tuple[float, float]]:
    """Return the best seconds of each library, and the log loss of its model on other rows."""
    X, y = table(n_rows + 50_000)
    X, y = X.astype(np.float32), y.astype(np.int64)
    train, test = (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:])
    quiet = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "memory_limit": 0}
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", **quiet) as cluster,
        Client(cluster) as client,
    ):
        chunk = -(-n_rows // n_workers)
        held = client.persist([dask.array.from_array(one, chunks=(chunk, *one.shape[1:])) for one in train])
        wait(held)
        client.rebalance(held)
        small = [one[:300].rechunk((-(-300 // n_workers), *one.shape[1:])) for one in held]
        found: dict[str, list[float]] = {}
        losses = {}
        functions = contestants(client, n_workers, n_trees)
        for name, function in functions.items():
            function(*(train if name == ALONE else small))  # loads libraries
        for _ in range(repeat):
            for name, function in functions.items():
                rows = train if name == ALONE else held
                start = time.perf_counter()
                model = function(*rows)
                found.setdefault(name, []).append(time.perf_counter() - start)
                if name not in losses:
                    losses[name] = log_loss(test[1] > 0, np.asarray(predict(name, model, test[0]))[:, 1])
    return {name: (min(seconds), losses[name]) for name, seconds in found.items()}


def predict(name: str, model: Any, X: np.ndarray) -> Any:
    """Return the probabilities of a fitted model."""
    if name != "xgboost.dask":
        return model.predict_proba(X)
    import xgboost

    p = model.get_booster().predict(xgboost.DMatrix(X))
    return np.column_stack([1 - p, p])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    warn_if_busy(options.workers)
    warnings.simplefilter("ignore")
    found = measure(options.workers, options.rows, options.trees, options.repeat)
    ours = found["sapwood.dask"][0]
    print(
        f"{options.rows:,} rows, {N_FEATURES} features, {options.trees} trees of {N_LEAVES} leaves, "
        f"{options.workers} workers of one thread, best of {options.repeat}"
    )
    print(f"{'':>22}{'seconds':>10}{'ratio':>8}{'log loss':>10}")
    for name, (seconds, loss) in found.items():
        print(f"{name:>22}{seconds:10.2f}{seconds / ours:8.2f}{loss:10.4f}")


if __name__ == "__main__":
    main()
