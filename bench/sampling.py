"""Compare row samplers at equal size, and DART with LightGBM's: ``python -m bench.sampling [--only NAME]``.

Every sampler draws three tenths of the rows in every round. Dropouts meet those of LightGBM at equal settings. With
``--large`` the table is one of 1,000,000 rows, where GOSS uses all rows at first, as LightGBM's does, and the best of
several interleaved rounds counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.categories import THREADS, Rows, read
from bench.data import Synthetic, UnavailableError
from bench.measures import held_out_loss

NAMES = ("adult", "bank_marketing", "credit_default", "california_housing", "bike_sharing", "diamonds")
SHARE = 0.3
SEEDS = 2
LARGE = 1_000_000


def numbers(rows: Rows) -> Rows:
    """Return the rows without categorical columns, which are not compared here."""
    kept = [column for column in rows.X.columns if column not in rows.categories]
    X, X_test = (frame[kept].to_numpy(np.float32) for frame in (rows.X, rows.X_test))
    return Rows(X, rows.y, X_test, rows.y_test, [], rows.task)


def sapwood(rows: Rows, **params: Any) -> np.ndarray:
    """Predictions of Sapwood at the settings of LightGBM."""
    from sapwood import SapwoodClassifier, SapwoodRegressor

    kind = SapwoodClassifier if rows.task == "binary" else SapwoodRegressor
    model = kind(preset="lightgbm", n_jobs=THREADS, **params).fit(rows.X, rows.y)
    return model.predict_proba(rows.X_test)[:, 1] if rows.task == "binary" else model.predict(rows.X_test)


def lightgbm(rows: Rows, **params: Any) -> np.ndarray:
    """Predictions of LightGBM."""
    import lightgbm

    kind = lightgbm.LGBMClassifier if rows.task == "binary" else lightgbm.LGBMRegressor
    model = kind(n_jobs=THREADS, verbose=-1, **params).fit(rows.X, rows.y)
    found = model._Booster.predict(rows.X_test)
    return np.asarray(found)


def contestants(n_trees: int, seed: int) -> dict[str, Callable[[Rows], np.ndarray]]:
    """Return the libraries and settings to compare, by name."""
    from sapwood import Goss

    ours = {"n_estimators": n_trees, "random_state": seed}
    theirs = {"n_estimators": n_trees, "random_state": seed}
    goss = {"data_sample_strategy": "goss", "top_rate": 0.2, "other_rate": 0.1}
    return {
        "all rows": lambda rows: sapwood(rows, **ours),
        "uniform": lambda rows: sapwood(rows, sampling="uniform", subsample=SHARE, **ours),
        "goss": lambda rows: sapwood(rows, sampling=Goss(0.2, 0.1, full_rounds=0), **ours),
        "mvs": lambda rows: sapwood(rows, sampling="mvs", subsample=SHARE, **ours),
        "LightGBM's goss": lambda rows: lightgbm(rows, **goss, **theirs),
        "dart": lambda rows: sapwood(rows, boosting="dart", **ours),
        "LightGBM's dart": lambda rows: lightgbm(rows, boosting_type="dart", drop_seed=seed, **theirs),
    }


def run(predictions: Callable[[Rows], np.ndarray], rows: Rows) -> tuple[float, float] | None:
    """Return the seconds and the test loss of a method, None if its library is not installed."""
    try:
        began = time.perf_counter()
        found = predictions(rows)
    except ImportError:
        return None
    return time.perf_counter() - began, held_out_loss(rows.y_test, found, rows.task)


def large_contestants(n_trees: int) -> dict[str, Callable[[Rows], np.ndarray]]:
    """Return the methods to compare on a large table, by name."""
    from sapwood import Goss

    goss = {"data_sample_strategy": "goss", "top_rate": 0.2, "other_rate": 0.1}
    return {
        "all rows": lambda rows: sapwood(rows, n_estimators=n_trees),
        "goss": lambda rows: sapwood(rows, n_estimators=n_trees, sampling=Goss(0.2, 0.1)),
        "uniform, 0.2": lambda rows: sapwood(rows, n_estimators=n_trees, subsample=0.2),
        "mvs, 0.3": lambda rows: sapwood(rows, n_estimators=n_trees, sampling="mvs", subsample=0.3),
        "LightGBM's goss": lambda rows: lightgbm(rows, n_estimators=n_trees, **goss),
    }


def measure_large(args: argparse.Namespace) -> None:
    """Print seconds (best, median) and test losses on a large table, methods interleaved."""
    split = Synthetic(args.rows or LARGE).load()
    rows = Rows(split.X, split.y, split.X_test, split.y_test, [], "binary")
    ways = large_contestants(args.trees)
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    losses: dict[str, float] = {}
    for _ in range(args.seeds):
        for way, predictions in ways.items():
            if (measured := run(predictions, rows)) is not None:
                seconds[way].append(measured[0])
                losses[way] = measured[1]
    print("| rows drawn | best, s | median, s | all rows / this, best | test loss |\n|" + " --- |" * 5)
    full = min(seconds["all rows"])
    for way in losses:
        best, middle = min(seconds[way]), float(np.median(seconds[way]))
        print(f"| {way} | {best:.2f} | {middle:.2f} | {full / best:.2f} | {losses[way]:.4f} |")


def main(argv: Sequence[str] | None = None) -> int:
    """Fit every method on every table; print a line of mean test losses and one of seconds for each."""
    parser = argparse.ArgumentParser("python -m bench.sampling", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="tables whose name contains NAME")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=None, help="rows of a table at most")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--large", action="store_true", help="one table of many rows, as many rounds as --seeds says")
    args = parser.parse_args(argv)
    if args.large:
        measure_large(args)
        return 0
    ways = list(contestants(args.trees, 0))
    print("| table | rows | " + " | ".join(ways) + " |\n|" + " --- |" * (len(ways) + 2))
    for name in NAMES:
        if args.only and not any(text in name for text in args.only):
            continue
        try:
            cells, n_rows = measure(name, ways, args)
        except UnavailableError as reason:
            print(f"{name}: skipped, {reason}")
            continue
        print(f"| {name} | {n_rows:,} | " + " | ".join(cells) + " |", flush=True)
    return 0


def measure(name: str, ways: list[str], args: argparse.Namespace) -> tuple[list[str], int]:
    """Return the mean test loss and the median seconds of every method on a table, and its number of training rows."""
    losses: dict[str, list[float]] = {way: [] for way in ways}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    n_rows = 0
    for seed in range(args.seeds):
        rows = numbers(read(name, seed, args.rows))
        n_rows = len(rows.y)
        sapwood(Rows(rows.X[:300], rows.y[:300], rows.X_test, rows.y_test, [], rows.task), n_estimators=2)
        for way, predictions in contestants(args.trees, seed).items():
            if (measured := run(predictions, rows)) is not None:
                seconds[way].append(measured[0])
                losses[way].append(measured[1])
    return [f"{np.mean(losses[w]):.4g}, {np.median(seconds[w]):.2f} s" if losses[w] else "" for w in ways], n_rows


if __name__ == "__main__":
    raise SystemExit(main())
