"""Compare with CatBoost and LightGBM on tables with categorical columns: ``python -m bench.categories [--only NAME]``.

Each peer meets the preset that stands for it, at the same number of trees, that of CatBoost also with fewer of them.
Sapwood's own defaults run beside them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.data import TABLES, UnavailableError
from bench.measures import held_out_loss

NAMES = (
    "adult", "amazon_employee", "airline_100k", "bank_marketing", "telco_churn", "credit_default", "mushroom",
    "bike_sharing", "diamonds", "abalone", "wine_quality", "california_housing",
)  # fmt: skip
LARGE = ("nyc_flights", "flights_3m")  # only where they are asked for by name
THREADS = 2
FEW = 0.3  # of CatBoost's trees: about as many as its preset needs for CatBoost's loss


@dataclass(frozen=True)
class Rows:
    """Training and test rows of a table: a data frame whose categorical columns hold strings, targets, the task."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    categories: list[str]
    task: str


Fit = Callable[[Rows], np.ndarray]  # returns predictions for the test rows


def read(name: str, seed: int, max_rows: int | None) -> Rows:
    """Split a table at random, a fifth for the test."""
    try:
        import pandas as pd

        facts = json.loads((TABLES / "meta.json").read_text())[name]
        frame = pd.read_parquet(TABLES / facts["file"])
    except (OSError, KeyError, ImportError) as error:
        raise UnavailableError(f"table {name!r} cannot be read from {TABLES}: {error}") from error
    frame = frame[frame[facts["target"]].notna()]
    target, categories = frame[facts["target"]], list(facts["categorical"])
    aside = {facts["target"], facts["group"], facts["weight"], "split", *facts["drop"]}
    X = frame.drop(columns=[column for column in frame.columns if column in aside])
    for column in X.columns:
        if column in categories:
            X[column] = X[column].astype(str).where(X[column].notna(), "missing")
        else:
            X[column] = pd.to_numeric(X[column], errors="coerce")
    task = "binary" if facts["task"] == "binary" else "regression"
    y = (target == target.value_counts().index[-1]) if task == "binary" else target
    order = np.random.default_rng(seed).permutation(len(X))[:max_rows]
    test, train = np.split(order, [len(order) // 5])
    values = y.to_numpy(np.float64)
    return Rows(X.iloc[train], values[train], X.iloc[test], values[test], categories, task)


def sapwood(rows: Rows, **params: Any) -> np.ndarray:
    """Predictions of Sapwood."""
    from sapwood import SapwoodClassifier, SapwoodRegressor

    kind = SapwoodClassifier if rows.task == "binary" else SapwoodRegressor
    return answers(kind(categorical_features=rows.categories, n_jobs=THREADS, **params).fit(rows.X, rows.y), rows)


def lightgbm(rows: Rows, n_trees: int) -> np.ndarray:
    """Return predictions of LightGBM, which splits on sets of pandas categories."""
    import lightgbm

    kind = lightgbm.LGBMClassifier if rows.task == "binary" else lightgbm.LGBMRegressor
    rows = with_dtypes(rows)
    return answers(kind(n_estimators=n_trees, verbose=-1, n_jobs=THREADS).fit(rows.X, rows.y), rows)


def with_dtypes(rows: Rows) -> Rows:
    """Return the rows with pandas categories instead of strings."""
    import pandas as pd

    train, test = rows.X.copy(), rows.X_test.copy()
    for column in rows.categories:
        train[column] = train[column].astype("category")
        test[column] = pd.Categorical(test[column], categories=train[column].cat.categories)
    return replace(rows, X=train, X_test=test)


def answers(model: Any, rows: Rows) -> np.ndarray:
    """Return predictions for the test rows: probabilities of the second class, or numbers."""
    return model.predict_proba(rows.X_test)[:, 1] if rows.task == "binary" else model.predict(rows.X_test)


def catboost(rows: Rows, n_trees: int) -> np.ndarray:
    """Predictions of CatBoost by its defaults."""
    import catboost

    kind = catboost.CatBoostClassifier if rows.task == "binary" else catboost.CatBoostRegressor
    settings = {"verbose": 0, "thread_count": THREADS, "allow_writing_files": False, "cat_features": rows.categories}
    return answers(kind(iterations=n_trees, **settings).fit(rows.X, rows.y), rows)


def contestants(n_trees: int) -> dict[str, Fit]:
    """Return the libraries and settings to compare, by name."""
    partition = {"preset": "lightgbm", "category_encoding": "partition", "n_estimators": n_trees}
    few = max(1, round(FEW * n_trees))
    return {
        "LightGBM": lambda rows: lightgbm(rows, n_trees),
        "preset lightgbm, partition": lambda rows: sapwood(rows, **partition),
        "CatBoost": lambda rows: catboost(rows, n_trees),
        "preset catboost": lambda rows: sapwood(rows, preset="catboost", n_estimators=n_trees),
        f"preset catboost, {few} trees": lambda rows: sapwood(rows, preset="catboost", n_estimators=few),
        "Sapwood's defaults": lambda rows: sapwood(rows, n_estimators=n_trees),
    }


def compare(name: str, fits: Mapping[str, Fit], args: argparse.Namespace) -> None:
    """Fit every contestant on every split of a table, one after the other, and print the loss and the seconds of each.

    The time of a split is the best of its repetitions. A contestant that is not installed is left out.
    """
    losses: dict[str, list[float]] = {who: [] for who in fits}
    seconds: dict[str, list[float]] = {who: [] for who in fits}
    for seed in range(args.seeds):
        rows = read(name, seed, args.rows)
        times: dict[str, list[float]] = {who: [] for who in fits}
        for who in [who for _ in range(args.repeat) for who in fits]:
            try:
                began = time.perf_counter()
                found = fits[who](rows)
                times[who].append(time.perf_counter() - began)
            except ImportError as reason:
                print(f"{name}, {who}: skipped, {reason}")
                continue
            if len(times[who]) == 1:
                losses[who].append(held_out_loss(rows.y_test, found, rows.task))
        for who, found_times in times.items():
            seconds[who] += [min(found_times)] if found_times else []
    for who in fits:
        if losses[who]:
            text = f"loss {np.mean(losses[who]):.5f}   {np.median(seconds[who]):7.3f} s"
            print(f"{name:<18}{who:<28}{text}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Fit every library on every table and print test losses and seconds."""
    parser = argparse.ArgumentParser("python -m bench.categories", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="tables whose name contains NAME")
    parser.add_argument(
        "--who", action="append", default=[], metavar="NAME", help="contestants whose name contains NAME"
    )
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=None, help="rows of a table at most")
    parser.add_argument("--seeds", type=int, default=1, help="number of random splits")
    parser.add_argument(
        "--repeat", type=int, default=1, help="interleaved repetitions of a split; the best time counts"
    )
    args = parser.parse_args(argv)
    fits = {
        who: fit
        for who, fit in contestants(args.trees).items()
        if not args.who or any(text in who for text in args.who)
    }
    for name in NAMES + LARGE if args.only else NAMES:
        if not args.only or any(text in name for text in args.only):
            try:
                compare(name, fits, args)
            except UnavailableError as reason:
                print(f"{name}: skipped, {reason}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
