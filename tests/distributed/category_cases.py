"""Tables with categorical columns, and fits of them by one worker and by several."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood import SapwoodClassifier, SapwoodRegressor, distributed
from sapwood.distributed import Communicator
from tests.distributed.worker_threads import run_workers

N = 600
FEW = {"n_estimators": 4, "max_leaves": 8, "random_state": 3, "min_child_samples": 5, "n_jobs": 1}
ESTIMATORS = {"regression": SapwoodRegressor, "classes": SapwoodClassifier, "binary": SapwoodClassifier}
Data = dict[str, Any]


def make_data(task: str = "regression", weighted: bool = False, empty: bool = False) -> Data:
    """Two numeric columns and three of strings: few, some and many categories, rare ones at some workers only.

    With ``empty``, the first rows weigh nothing, so that the first worker of several has none to train on.
    """
    rng = np.random.default_rng(5)
    numbers = np.round(rng.normal(size=(N, 2)), 2)
    few, some, many = (rng.zipf(a, N) % k for a, k in ((1.5, 3), (1.3, 12), (1.2, 60)))
    effect = rng.normal(size=60)
    y = numbers[:, 0] + few + effect[some] + effect[many] * (few == 1) + rng.normal(size=N) * 0.5
    X = np.empty((N, 5), dtype=object)
    X[:, :2] = numbers
    for column, (letter, codes) in enumerate((("f", few), ("s", some), ("m", many)), start=2):
        X[:, column] = [f"{letter}{code}" for code in codes]
    X[rng.random((N, 5)) < 0.05] = None
    if task != "regression":
        y = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 2.0] if task == "classes" else [1.0])]
    data: Data = {"X": X, "y": y}
    if weighted or empty:
        data["sample_weight"] = rng.uniform(0.5, 2.0, N) if weighted else np.ones(N)
    order = np.argsort(y, kind="stable")
    data = {name: values[order] for name, values in data.items()}
    if empty:
        data["sample_weight"][: N // 2] = 0.0
    return data


def rows_of(rank: int, size: int, parts: str) -> np.ndarray:
    """Return the rows of a worker: a range, all but a few for the first worker, or shuffled ones."""
    if parts == "ranges":
        return np.arange(N * rank // size, N * (rank + 1) // size)
    if parts == "uneven":
        return np.arange(N - 3 * (size - 1)) if rank == 0 else N - 3 * (size - rank) + np.arange(3)
    return np.random.default_rng(1).permutation(N)[rank::size]


def fit_alone(task: str, data: Data, params: dict[str, Any], **more: Any) -> Any:
    """Return the estimator that one worker trains."""
    given = {name: values for name, values in data.items() if name not in ("X", "y")}
    return ESTIMATORS[task](**FEW | params).fit(data["X"], data["y"], **given, **more)


def fit_rows(
    task: str, data: Data, params: dict[str, Any], rows: np.ndarray | None, communicator: Communicator, **more: Any
) -> Any:
    """Return the estimator of a worker that has some of the rows, or all of them."""
    given = data | more
    if rows is not None:
        given = {name: values[rows] for name, values in data.items()} | {"row_numbers": rows} | more
    return distributed.fit(ESTIMATORS[task](**FEW | params), given.pop("X"), given.pop("y"), communicator, **given)


def fit_together(task: str, data: Data, params: dict[str, Any], size: int, parts: str, **more: Any) -> list[Any]:
    """Return the estimators of the workers that train together."""

    return run_workers(
        size,
        lambda communicator: fit_rows(
            task, data, params, rows_of(communicator.rank, size, parts), communicator, **more
        ),
    )


def assert_one_model(task: str, data: Data, params: dict[str, Any], layouts: Any = None, **more: Any) -> None:
    """Assert that the workers of each layout get the model of one worker."""
    alone = fit_alone(task, data, params, **more)
    assert alone.model_.ensemble.n_nodes > 2 * FEW["n_estimators"]  # trees have splits
    for size, parts in layouts or ((2, "shuffled"), (3, "uneven"), (4, "ranges")):
        for fitted in fit_together(task, data, params, size, parts, **more):
            assert fitted.model_.fingerprint() == alone.model_.fingerprint(), (size, parts)
