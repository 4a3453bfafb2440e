"""Compare the training loss of leaf-wise and level-wise trees of equally many leaves: ``python -m bench.growth``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bench.data import Synthetic, Table, UnavailableError

ROUNDS, LEAVES, RATE = 50, 31, 0.1
GROWTHS = ("leafwise", "levelwise")

Rows = tuple[np.ndarray, np.ndarray]


def generated() -> Iterator[tuple[str, str, Callable[[], Rows]]]:
    """Return tables that need no files: name, task, and a function that makes the rows."""
    from sklearn import datasets

    yield "friedman1", "regression", lambda: datasets.make_friedman1(5000, noise=1.0, random_state=0)
    yield "friedman2", "regression", lambda: datasets.make_friedman2(5000, noise=10.0, random_state=0)
    yield "friedman3", "regression", lambda: datasets.make_friedman3(5000, noise=0.1, random_state=0)
    yield "diabetes", "regression", lambda: datasets.load_diabetes(return_X_y=True)
    yield "breast cancer", "binary", lambda: datasets.load_breast_cancer(return_X_y=True)
    yield (
        "classification",
        "binary",
        lambda: datasets.make_classification(5000, 20, n_informative=8, flip_y=0.1, random_state=0),
    )
    yield "hastie", "binary", lambda: datasets.make_hastie_10_2(5000, random_state=0)
    for task in ("binary", "regression"):
        yield f"waves, {task}", task, lambda task=task: _training_rows(Synthetic(10_000, task=task))  # type: ignore[misc]
    yield "california_housing", "regression", lambda: _training_rows(Table("california_housing"))
    yield "bike_sharing", "regression", lambda: _training_rows(Table("bike_sharing"))
    yield "credit_default", "binary", lambda: _training_rows(Table("credit_default", positive=1))


def _training_rows(source: Synthetic | Table) -> Rows:
    split = source.load()
    return split.X, split.y


def training_loss(X: np.ndarray, y: np.ndarray, task: str, **params: Any) -> float:
    """Return the mean training loss: squared error or log loss."""
    from sapwood import SapwoodClassifier, SapwoodRegressor

    estimator = SapwoodClassifier if task == "binary" else SapwoodRegressor
    model = estimator(n_estimators=ROUNDS, max_leaves=LEAVES, learning_rate=RATE, **params).fit(X, y)
    if task == "regression":
        return float(np.mean((model.predict(X) - y) ** 2))
    chosen = np.searchsorted(model.classes_, y)
    return float(-np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), chosen])))


def main(argv: Sequence[str] | None = None) -> int:
    """Print both losses for every table, and on how many leaf-wise growth has the lower one."""
    argparse.ArgumentParser("python -m bench.growth", description=__doc__).parse_args(argv)
    print(f"{'':<20}" + "".join(f"{growth:>14}" for growth in GROWTHS) + f"{'difference':>14}")
    lower = total = 0
    for name, task, rows in generated():
        try:
            X, y = rows()
        except UnavailableError as reason:
            print(f"{name} is skipped: {reason}")
            continue
        leafwise, levelwise = (training_loss(X, y, task, growth=growth) for growth in GROWTHS)
        print(f"{name:<20}{leafwise:>14.6g}{levelwise:>14.6g}{100 * (leafwise / levelwise - 1):>+13.2f}%", flush=True)
        lower, total = lower + (leafwise < levelwise), total + 1
    print(f"leaf-wise growth has the lower training loss on {lower} of {total} tables")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
