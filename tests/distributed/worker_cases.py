"""Trainings that workers do together, as functions that processes can be sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood import SapwoodClassifier, SapwoodRegressor, distributed
from sapwood.data.binning import bin_edges
from sapwood.distributed import Reducer

Data = dict[str, np.ndarray]
ESTIMATORS = {"regression": SapwoodRegressor, "classes": SapwoodClassifier}
FEW = {"n_estimators": 3, "max_leaves": 8, "random_state": 3, "min_child_samples": 5}


def make_data(n: int = 700, task: str = "regression", n_features: int = 5, weighted: bool = False) -> Data:
    """Rows with missing values, few and many distinct ones, sorted so that workers see different targets."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, n_features))
    X[:, -1] = np.round(X[:, -1])
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = np.nan_to_num(X)
    y = 2.0 * filled[:, 0] + filled[:, 1] ** 2 + rng.normal(size=n)
    if task == "classes":
        y = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 2.0])]
    data = {"X": X, "y": y}
    if weighted:
        data["sample_weight"] = np.where(rng.random(n) < 0.1, 0.0, rng.uniform(0.5, 2.0, n))
    order = np.argsort(y, kind="stable")
    return {name: values[order] for name, values in data.items()}


def fit_alone(task: str, data: Data, params: dict[str, Any], eval_data: Data | None = None) -> Any:
    """The estimator that one process trains."""
    more = {name: values for name, values in data.items() if name not in ("X", "y")}
    if eval_data is not None:
        more["eval_set"] = [(eval_data["X"], eval_data["y"])]
    return ESTIMATORS[task](**FEW | params).fit(data["X"], data["y"], **more)


def places_of(n: int, reducer: Reducer, dealt: bool) -> np.ndarray:
    """The rows of a worker: a range of them, or every so-many-th."""
    if dealt:
        return np.arange(reducer.rank, n, reducer.size)
    return np.arange(n * reducer.rank // reducer.size, n * (reducer.rank + 1) // reducer.size)


def fit_rows(
    reducer: Reducer,
    task: str,
    data: Data,
    params: dict[str, Any],
    eval_data: Data | None = None,
    dealt: bool = False,
) -> tuple[str, dict[str, Any], dict[str, int]]:
    """Train on the worker's rows; return the fingerprint, the history and the bytes sent."""
    rows = places_of(len(data["y"]), reducer, dealt)
    more: dict[str, Any] = {name: values[rows] for name, values in data.items() if name not in ("X", "y")}
    if eval_data is not None:
        of_set = places_of(len(eval_data["y"]), reducer, dealt)
        more["eval_set"] = [(eval_data["X"][of_set], eval_data["y"][of_set])]
    if dealt:
        more["row_numbers"] = rows
    made = ESTIMATORS[task](**FEW | params)
    distributed.fit(made, data["X"][rows], data["y"][rows], reducer, **more)
    return made.model_.fingerprint(), made.evals_result_, reducer.sent


def fit_features(reducer: Reducer, task: str, data: Data, params: dict[str, Any]) -> tuple[str, Any, dict[str, int]]:
    """Train on all rows, searching the worker's features."""
    made = ESTIMATORS[task](**FEW | params)
    more = {name: values for name, values in data.items() if name not in ("X", "y")}
    distributed.fit(made, data["X"], data["y"], reducer, by="features", **more)
    return made.model_.fingerprint(), made.evals_result_, reducer.sent


def fit_sampled_edges(reducer: Reducer, data: Data) -> str:
    """Train on the worker's rows with edges from a sample of 100 of them."""
    bin_edges.SAMPLE_ROWS = 100
    try:
        return fit_rows(reducer, "regression", data, {"max_bins": 30})[0]
    finally:
        bin_edges.SAMPLE_ROWS = 200_000


def fit_uneven(reducer: Reducer, data: Data, params: dict[str, Any]) -> tuple[str, Any, dict[str, int]]:
    """Train where the first worker has all rows but two for each of the others."""
    first = len(data["y"]) - 2 * (reducer.size - 1)
    begin = 0 if reducer.rank == 0 else first + 2 * (reducer.rank - 1)
    end = first + 2 * reducer.rank
    here = {name: values[begin:end] for name, values in data.items()}
    made = SapwoodRegressor(**FEW | params)
    distributed.fit(made, here.pop("X"), here.pop("y"), reducer, **here)
    return made.model_.fingerprint(), made.evals_result_, reducer.sent


def fit_unlike(reducer: Reducer, data: Data, params: list[dict[str, Any]], by: str = "rows") -> None:
    """Train with other parameters at each worker; ``"y"`` among them is added to the target."""
    given = dict(params[reducer.rank])
    data = data | {"y": data["y"] + given.pop("y", 0.0)}
    (fit_rows if by == "rows" else fit_features)(reducer, "regression", data, given)
