"""Compare category encodings with each other: ``python -m bench.encodings [orders|crossings|ids|partition]``.

``orders``: the kinds of statistics on Amazon's nine columns, in 16 bins; the CatBoost paper finds ordered below holdout
and leave-one-out, and these below greedy. In fine bins leave-one-out would tell each row its own target by comparison
with others of its level, and be the worst. ``crossings``: the same table with columns crossed or not. ``ids``: a column
with a different text in each of a million rows, which tells nothing, beside numbers that do. ``partition``: sets of
levels on every table with categories, beside LightGBM's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bench.categories import LARGE, NAMES, THREADS, Rows, answers, read, sapwood, with_dtypes
from bench.data import UnavailableError
from bench.measures import held_out_loss
from sapwood.params.encodings import Greedy, Holdout, LeaveOneOut, Ordered

AMAZON = "amazon_employee"
TIMED = 3  # fits of every split, of which the fastest counts
KINDS = (Ordered, Holdout, LeaveOneOut, Greedy)
AS_CATBOOST = {"preset": "catboost", "n_estimators": 200, "max_combination": 1}


def mean_losses(settings: dict[str, dict[str, Any]], n_seeds: int) -> dict[str, np.ndarray]:
    """Return the test log loss on Amazon by name of the settings, for every split into training and test rows."""
    losses: dict[str, list[float]] = {name: [] for name in settings}
    for seed in range(n_seeds):
        rows = read(AMAZON, seed, None)
        for name, params in settings.items():
            found = sapwood(rows, random_state=seed, **params)
            losses[name].append(held_out_loss(rows.y_test, found, rows.task))
    return {name: np.array(line) for name, line in losses.items()}


def orders(n_seeds: int) -> None:
    """Print the mean loss of each kind of statistics."""
    _print(mean_losses({kind.__name__: AS_CATBOOST | {"category_encoding": kind(bins=16)} for kind in KINDS}, n_seeds))


def crossings(n_seeds: int) -> None:
    """Print the mean loss with combinations of one, two and three columns."""
    settings = {f"max_combination={k}": {"category_encoding": "ordered", "max_combination": k} for k in (1, 2, 3)}
    _print(mean_losses(settings, n_seeds))


def ids(n_rows: int = 1_000_000) -> None:
    """Print the test losses with and without a column of unique strings."""
    losses = id_losses(n_rows)
    print(f"{n_rows} rows: without ids {losses[0]:.5f}, with ids {losses[1]:.5f}, {losses[1] / losses[0] - 1.0:+.2%}")


def id_losses(n_rows: int) -> tuple[float, float]:
    """Return the mean squared errors on as many new rows, without and with a column of unique strings."""
    import pandas as pd

    from sapwood import SapwoodRegressor

    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(2 * n_rows, 4)), columns=list("abcd"))
    y = X["a"] + X["b"] * X["c"] + random.normal(size=2 * n_rows)
    with_ids = X.assign(id=[f"row {k}" for k in range(2 * n_rows)])
    found = []
    for table in (X, with_ids):
        model = SapwoodRegressor(n_estimators=50).fit(table[:n_rows], y[:n_rows])
        found.append(float(np.mean((model.predict(table[n_rows:]) - y[n_rows:]) ** 2)))
    return found[0], found[1]


def partition(n_seeds: int, only: Sequence[str] = ()) -> None:
    """Print a line per table: mean losses over splits, and the seconds that fits and predictions take at best."""
    print("| Table | LightGBM's loss | Sapwood's | | fit, s | | predict, s | |\n" + "| --- " * 8 + "|")
    for name in only or NAMES + LARGE:
        losses, seconds = np.empty((2, n_seeds)), np.full((2, 2), np.inf)
        for seed in range(n_seeds):
            rows = with_dtypes(read(name, seed, None))
            for who, make in enumerate(_dividers(rows.task)):
                for _ in range(TIMED if len(rows.y) < 500_000 else 1):
                    found, spent = _timed(make(), rows)
                    seconds[who] = np.minimum(seconds[who], spent)
                losses[who, seed] = held_out_loss(rows.y_test, found, rows.task)
        mean, (lightgbm, own) = losses.mean(axis=1), seconds
        print(
            f"| {name} | {mean[0]:.5g} | {mean[1]:.5g} | {mean[1] / mean[0] - 1.0:+.1%} | {lightgbm[0]:.2f} "
            f"| {own[0]:.2f} | {lightgbm[1]:.3f} | {own[1]:.3f} |", flush=True,
        )  # fmt: skip


def _dividers(task: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return LightGBM and Sapwood's preset for it, both with splits on sets of categories."""
    import lightgbm

    from sapwood import SapwoodClassifier, SapwoodRegressor

    peer, kind = lightgbm.LGBMRegressor, SapwoodRegressor
    if task == "binary":
        peer, kind = lightgbm.LGBMClassifier, SapwoodClassifier
    return (
        lambda: peer(n_estimators=100, verbose=-1, n_jobs=THREADS),
        lambda: kind(preset="lightgbm", n_estimators=100, category_encoding="partition", n_jobs=THREADS),
    )


def _timed(model: Any, rows: Rows) -> tuple[np.ndarray, tuple[float, float]]:
    """Return the predictions of a model, and the seconds of fit and prediction."""
    began = time.perf_counter()
    model.fit(rows.X, rows.y)
    fitted = time.perf_counter()
    found = answers(model, rows)
    return found, (fitted - began, time.perf_counter() - fitted)


def _print(losses: dict[str, np.ndarray]) -> None:
    for name, line in losses.items():
        print(f"{name:<20}{line.mean():.5f}   {' '.join(f'{loss:.5f}' for loss in line)}", flush=True)


PARTS: dict[str, Callable[[int], None]] = {
    "orders": orders,
    "crossings": crossings,
    "ids": lambda _: ids(),
    "partition": partition,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser("python -m bench.encodings", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all if none is named")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args(argv)
    for name in args.parts or PARTS:
        try:
            PARTS[name](args.seeds)
        except (UnavailableError, ImportError) as reason:
            print(f"{name}: skipped, {reason}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
