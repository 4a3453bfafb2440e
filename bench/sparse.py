"""Compare with LightGBM and XGBoost on sparse tables, and a column with its one-hot: ``python -m bench.sparse``.

Every fit has a process of its own, whose memory is measured above that of the rows; the rounds are interleaved and the
best counts. A leaf has ``--leaf-rows`` rows at least; XGBoost, which does not count rows, has a smallest hessian of
1e-3.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.categories import THREADS
from bench.child import forget_peak, peak_mb
from bench.data import ROOT, TABLES, UnavailableError
from bench.measures import held_out_loss

NAMES = {"news20_sparse": 20, "agaricus_sparse": 100}  # rounds of each table
LEVELS, ONE_HOT_ROWS = 200, 200_000


@dataclass(frozen=True)
class Rows:
    """Training and test rows of a table in CSR, and their classes from 0."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def task(self) -> str:
        """Return the task."""
        return "binary" if self.y.max() < 2 else "multiclass"


def read(name: str) -> Rows:
    """Read a table that is split already."""
    try:
        from scipy.sparse import csr_matrix

        parts = np.load(TABLES / f"{name}.npz")
        X = csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    except (OSError, ImportError) as error:
        raise UnavailableError(f"table {name!r} cannot be read from {TABLES}: {error}") from error
    is_first = parts["split"] == parts["split"][0]
    y = np.unique(parts["y"], return_inverse=True)[1]
    X = X.astype(np.float32)
    return Rows(X[is_first], y[is_first], X[~is_first], y[~is_first])


def sapwood(rounds: int, leaf_rows: int) -> Any:
    """A classifier at the settings of LightGBM."""
    from sapwood import SapwoodClassifier

    return SapwoodClassifier(
        preset="lightgbm", n_estimators=rounds, min_child_samples=leaf_rows, n_jobs=THREADS, random_state=0
    )


def lightgbm(rounds: int, leaf_rows: int) -> Any:
    """LightGBM's classifier."""
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=rounds, min_child_samples=leaf_rows, n_jobs=THREADS, verbose=-1)


def xgboost(rounds: int, leaf_rows: int) -> Any:
    """XGBoost's classifier with leaf-wise growth."""
    import xgboost

    return xgboost.XGBClassifier(
        n_estimators=rounds, tree_method="hist", grow_policy="lossguide", max_leaves=31, max_depth=0, learning_rate=0.1,
        min_child_weight=1e-3, reg_lambda=0.0, n_jobs=THREADS,
    )  # fmt: skip


CONTESTANTS: dict[str, Callable[[int, int], Any]] = {"sapwood": sapwood, "lightgbm": lightgbm, "xgboost": xgboost}


def fit_once(name: str, contestant: str, rounds: int, leaf_rows: int) -> dict[str, float]:
    """Seconds of a fit, the loss on test rows, and the peak of memory above the rows, in this process."""
    rows = read(name)
    small = np.concatenate([np.flatnonzero(rows.y == k)[:20] for k in range(rows.y.max() + 1)])
    CONTESTANTS[contestant](1, leaf_rows).fit(rows.X[small], rows.y[small])
    forget_peak()
    before, began = peak_mb(), time.perf_counter()
    model = CONTESTANTS[contestant](rounds, leaf_rows).fit(rows.X, rows.y)
    seconds, peak = time.perf_counter() - began, peak_mb()
    found = model.predict_proba(rows.X_test)
    loss = held_out_loss(rows.y_test, found[:, 1] if rows.task == "binary" else found, rows.task)
    return {"seconds": seconds, "loss": loss, "mb": peak - before}


def in_a_process(name: str, contestant: str, rounds: int, leaf_rows: int) -> dict[str, float] | None:
    """Return the same, measured in a new process; None if the library is not installed."""
    command = [sys.executable, "-m", "bench.sparse", "--one", name, contestant, str(rounds), str(leaf_rows)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if "ModuleNotFoundError" in done.stderr:
        return None
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(name: str, rounds: int, args: argparse.Namespace) -> list[str]:
    """Return the settings of a table for every library."""
    runs: dict[str, list[dict[str, float]]] = {who: [] for who in CONTESTANTS}
    for _ in range(args.repeat):
        for who in CONTESTANTS:
            found = in_a_process(name, who, rounds, args.leaf_rows)
            runs[who] += [found] if found is not None else []
    return [
        f"{min(run['seconds'] for run in done):.2f} s, {done[0]['loss']:.4f}, {min(run['mb'] for run in done):.0f} MB"
        if done
        else ""
        for done in runs.values()
    ]


def one_hot(repeat: int) -> list[str]:
    """Return seconds of fits on a column of category codes, and on its one-hot in CSR and dense, without binning."""
    from scipy.sparse import csr_matrix

    from sapwood import Dataset, SapwoodRegressor

    rng = np.random.default_rng(0)
    level = rng.integers(0, LEVELS, ONE_HOT_ROWS)
    y = rng.standard_normal(LEVELS)[level] + rng.standard_normal(ONE_HOT_ROWS)
    ones = csr_matrix((np.ones(len(level), np.float32), (np.arange(len(level)), level)))
    tables = [Dataset(X, n_jobs=THREADS) for X in (level[:, None].astype(np.float32), ones, ones.toarray())]
    best = [np.inf] * len(tables)
    for _ in range(repeat + 1):
        for k, table in enumerate(tables):
            began = time.perf_counter()
            SapwoodRegressor(n_estimators=100, n_jobs=THREADS).fit(table, y)
            best[k] = min(best[k], time.perf_counter() - began)
    return [f"{seconds:.3f} s ({seconds / best[0]:.2f})" for seconds in best]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for every table, and one for the column."""
    parser = argparse.ArgumentParser("python -m bench.sparse", description=__doc__)
    parser.add_argument("--rounds", type=int, default=None, help="instead of each table's own number")
    parser.add_argument("--leaf-rows", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", nargs=4, metavar=("TABLE", "CONTESTANT", "ROUNDS", "LEAF_ROWS"), help="a single fit")
    args = parser.parse_args(argv)
    if args.one:
        name, contestant, rounds, leaf_rows = args.one
        print(json.dumps(fit_once(name, contestant, int(rounds), int(leaf_rows))))
        return 0
    print("| table | rounds | " + " | ".join(CONTESTANTS) + " |\n|" + " --- |" * (len(CONTESTANTS) + 2))
    for name, own in NAMES.items():
        try:
            read(name)
        except UnavailableError as reason:
            print(f"{name}: skipped, {reason}")
            continue
        rounds = args.rounds or own
        print(f"| {name} | {rounds} | " + " | ".join(measure(name, rounds, args)) + " |", flush=True)
    print(f"\n{ONE_HOT_ROWS:,} rows of {LEVELS} levels, 100 rounds: as numbers, one-hot in CSR, one-hot in full")
    print("| " + " | ".join(one_hot(args.repeat)) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
