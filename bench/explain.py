"""Time Shapley values beside other libraries, interleaved: ``python -m bench.explain``.

Each library explains rows with trees of its own, trained on the same table with the same number of leaves. The best of
several runs is reported, and the factor by which Sapwood is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.machine import warn_if_busy

Explain = Callable[[], Any]
FEATURES, TRAINING_ROWS = 20, 20_000


def make_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 * X[:, 4] + rng.normal(size=n) * 0.5
    return X, y


def sapwood(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, threads: int, pairs: bool = False, **params: Any
) -> Explain:
    from sapwood import SapwoodRegressor

    model = SapwoodRegressor(n_jobs=threads, learning_rate=0.1, **params).fit(X, y).model_
    if pairs:
        return lambda: model.shap_interaction_values(rows, n_jobs=threads)
    return lambda: model.shap_values(rows, n_jobs=threads)


def lightgbm(X: np.ndarray, y: np.ndarray, rows: np.ndarray, threads: int, **params: Any) -> Explain:
    import lightgbm

    n_rounds = params.pop("n_estimators")
    options = {"verbose": -1, "num_threads": threads, **params}
    model = lightgbm.train(options, lightgbm.Dataset(X, y), n_rounds)
    return lambda: model.predict(rows, pred_contrib=True, num_threads=threads)


def xgboost(
    X: np.ndarray, y: np.ndarray, rows: np.ndarray, threads: int, pairs: bool = False, **params: Any
) -> Explain:
    import xgboost

    n_rounds = params.pop("n_estimators")
    model = xgboost.train({"nthread": threads, "eta": 0.1, **params}, xgboost.DMatrix(X, y, nthread=threads), n_rounds)
    table = xgboost.DMatrix(rows, nthread=threads)
    return lambda: model.predict(table, pred_contribs=not pairs, pred_interactions=pairs)


def hessboost(X: np.ndarray, y: np.ndarray, rows: np.ndarray, threads: int, **params: Any) -> Explain:
    import hessboost

    n_rounds = params.pop("n_estimators")
    options = {"nthread": threads, "eta": 0.1, **params}
    model = hessboost.train(options, hessboost.DMatrix(X, y), n_rounds, verbose_eval=False)
    table = hessboost.DMatrix(rows)
    return lambda: model.predict(table, pred_contribs=True)


def catboost(X: np.ndarray, y: np.ndarray, rows: np.ndarray, threads: int, **params: Any) -> Explain:
    import catboost

    model = catboost.CatBoostRegressor(
        learning_rate=0.1, verbose=False, allow_writing_files=False, thread_count=threads, **params
    ).fit(X, y)
    pool = catboost.Pool(rows)
    return lambda: model.get_feature_importance(pool, type="ShapValues", thread_count=threads)


def cases(n_rows: int) -> dict[str, tuple[int, dict[str, tuple[Callable[..., Explain], dict[str, Any]]]]]:
    """Return by name the number of rows, and for each library the function and its parameters."""
    leaves = {"n_estimators": 100, "max_leaves": 31}
    lossguide = {"n_estimators": 100, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}
    deep = {"n_estimators": 20, "max_leaves": 1024, "max_depth": 12}
    return {
        "100 trees of 31 leaves": (
            n_rows,
            {
                "sapwood": (sapwood, leaves),
                "lightgbm": (lightgbm, {"n_estimators": 100, "num_leaves": 31}),
                "xgboost": (xgboost, lossguide),
                "hessboost": (hessboost, lossguide),
            },
        ),
        "100 symmetric trees of depth 6": (
            n_rows,
            {
                "sapwood": (sapwood, {"n_estimators": 100, "growth": "symmetric", "max_depth": 6}),
                "catboost": (catboost, {"iterations": 100, "depth": 6}),
            },
        ),
        "20 trees of depth 12": (
            n_rows // 10,
            {
                "sapwood": (sapwood, deep),
                "lightgbm": (lightgbm, {"n_estimators": 20, "num_leaves": 1024, "max_depth": 12}),
                "xgboost": (xgboost, {**deep, "grow_policy": "lossguide"}),
            },
        ),
        "interactions, 100 trees of 31 leaves": (
            n_rows // 20,
            {"sapwood": (sapwood, {**leaves, "pairs": True}), "xgboost": (xgboost, {**lossguide, "pairs": True})},
        ),
    }


def measure(runs: dict[str, Explain], repeats: int) -> dict[str, float]:
    """Return the best time of each, taking turns."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table per case."""
    parser = argparse.ArgumentParser("python -m bench.explain", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--case", help="part of the name of a case")
    given = parser.parse_args(argv)
    warn_if_busy(given.threads)
    X, y = make_rows(TRAINING_ROWS)
    for title, (n_rows, libraries) in cases(given.rows).items():
        if given.case and given.case not in title:
            continue
        rows, _ = make_rows(n_rows)
        runs = {}
        for name, (function, params) in libraries.items():
            try:
                runs[name] = function(X, y, rows, given.threads, **params)
            except ImportError:
                print(f"{name} is not installed")
        best = measure(runs, given.repeats)
        print(f"\n{title}, {n_rows} rows, {given.threads} threads, best of {given.repeats}")
        for name, seconds in best.items():
            print(f"  {name:10s} {seconds:8.3f} s   {seconds / best['sapwood']:6.1f} x")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
