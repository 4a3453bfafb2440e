"""The model of one machine for any number of workers, any partitioning and every part of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from distributed import Client

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.dask import DaskSapwoodClassifier, DaskSapwoodRegressor
from sapwood.objectives import Huber, Quantile, Tweedie
from tests.dask.collections import PARTITIONINGS, as_frame, make_table, put
from tests.dask.test_fit import FEW, fingerprint

SHUFFLED = "shuffled by index"
LAYOUTS = [*PARTITIONINGS, SHUFFLED]
N_WORKERS = [1, 2, 3, 4, 8]
CLASSES = "classes"
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "leafwise": {"growth": "leafwise"},
    "levelwise": {"growth": "levelwise", "max_depth": 3},
    "symmetric": {"growth": "symmetric", "max_depth": 3},
    "classes": {"task": CLASSES},
    "classes, levelwise": {"task": CLASSES, "growth": "levelwise", "max_depth": 3, "class_weight": "balanced"},
    "subsample": {"subsample": 0.6, "colsample_bytree": 0.7, "colsample_bynode": 0.8},
    "goss": {"sampling": "goss"},
    "mvs": {"sampling": "mvs", "subsample": 0.7},
    "bayesian": {"sampling": "bayesian", "growth": "symmetric", "max_depth": 3},
    "one-hot": {"category_encoding": "one_hot"},
    "partition": {"category_encoding": "partition"},
    "ordered statistics": {"category_encoding": "ordered", "growth": "symmetric", "max_depth": 3},
    "greedy statistics": {"category_encoding": "greedy", "task": CLASSES},
    "holdout statistics": {"category_encoding": "holdout"},
    "leave-one-out statistics": {"category_encoding": "leave_one_out", "sampling": "goss"},
    "absolute error": {"objective": "absolute_error"},
    "quantile": {"objective": Quantile(0.9), "subsample": 0.8},
    "huber": {"objective": Huber(1.5), "growth": "levelwise", "max_depth": 3},
    "tweedie": {"objective": Tweedie(1.4), "positive": True},
    "poisson": {"objective": "poisson", "positive": True, "sampling": "mvs", "subsample": 0.7},
    "ordered boosting": {"boosting": "ordered", "growth": "symmetric", "max_depth": 3},
    "dart": {"boosting": "dart", "n_estimators": 6},
    "forest": {"boosting": "forest", "n_estimators": 3},
    "early stopping": {"n_estimators": 20, "early_stopping_rounds": 2, "learning_rate": 0.7, "refit": True},
    "linear leaves": {"leaf_model": "linear"},
    "monotone": {"monotone_constraints": {"a": 1}, "task": CLASSES, "binary": True},
}
ALL_CELLS = [
    (name, n_workers, LAYOUTS[(row + column) % len(LAYOUTS)])
    for row, name in enumerate(CONFIGURATIONS)
    for column, n_workers in enumerate(N_WORKERS)
]
FEW_CELLS = [ALL_CELLS[row * len(N_WORKERS) + 1 + row % 4] for row in range(len(CONFIGURATIONS))]


def make_frame(task: str, positive: bool, binary: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows in the order of their target: partitions have different classes, categories and missing values."""
    X, y = make_table(task=task)
    rank = np.arange(600)
    city = np.array(["x", "y", None, "z"], dtype=object)[rank // 150]
    frame = as_frame(X).assign(city=city, kind=[f"k{k % 20}" for k in rank])
    if binary:
        y = y == "c"
    return frame, np.exp(y / 3.0) if positive else y


def check_cell(client: Client, name: str, n_workers: int, layout: str) -> None:
    params = dict(FEW | CONFIGURATIONS[name])
    if params.get("growth") == "symmetric":
        del params["min_child_samples"]
    task = params.pop("task", "regression")
    X, y = make_frame(task, params.pop("positive", False), params.pop("binary", False))
    if layout == SHUFFLED:
        order = np.random.default_rng(5).permutation(len(y))
        X, y = X.iloc[order], y[order]
    addresses = sorted(client.nthreads())[:n_workers]
    parts = [put(client, values, PARTITIONINGS.get(layout, [90, 10, 300, 200]), addresses) for values in (X, y)]
    alone, model = {
        CLASSES: (SapwoodClassifier, DaskSapwoodClassifier), "regression": (SapwoodRegressor, DaskSapwoodRegressor)
    }[task]  # fmt: skip
    expected = fingerprint(alone(**params).fit(X, y))
    assert fingerprint(model(**params, client=client).fit(*parts)) == expected


@pytest.mark.parametrize(("name", "n_workers", "layout"), FEW_CELLS)
def test_a_cell_of_the_grid_gives_the_model_of_one_machine(
    threaded_client: Client, name: str, n_workers: int, layout: str
) -> None:  # fmt: skip
    check_cell(threaded_client, name, n_workers, layout)


@pytest.mark.cluster
@pytest.mark.parametrize(("name", "n_workers", "layout"), [cell for cell in ALL_CELLS if cell not in FEW_CELLS])
def test_every_cell_of_the_grid_gives_the_model_of_one_machine(
    threaded_client: Client, name: str, n_workers: int, layout: str
) -> None:  # fmt: skip
    check_cell(threaded_client, name, n_workers, layout)
