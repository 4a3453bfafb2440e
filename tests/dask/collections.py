"""Tables in partitions on chosen workers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Future, wait

NAMES = ["a", "b", "c", "d", "e"]


def make_table(n: int = 600, task: str = "regression", seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Rows sorted by target, with missing values in one half only, so that partitions differ in all respects."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(NAMES)))
    X[:, -1] = np.round(X[:, -1])
    y = 2.0 * X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n)
    if task == "classes":
        y = np.array(["a", "b", "c"])[np.digitize(y, [0.0, 2.0])]
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    X[: n // 2][rng.random((n // 2, len(NAMES))) < 0.2] = np.nan
    return X, y


PARTITIONINGS = {
    "one partition": [600],
    "many small ones": [25] * 24,
    "unequal ones": [1, 420, 9, 100, 70],
    "empty ones": [0, 200, 0, 0, 250, 150, 0],
}


def slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum([0, *sizes])
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]


def put(client: Client, values: Any, sizes: Sequence[int], addresses: Sequence[str]) -> list[Future]:
    """Partitions of some rows each, in turn on the given workers, which can be computed again."""
    futures = [
        client.submit(
            _take, values, part, workers=[addresses[k % len(addresses)]], allow_other_workers=True, pure=False
        )
        for k, part in enumerate(slices(sizes))
    ]
    wait(futures)
    return futures


def _take(values: Any, part: slice) -> Any:
    return values[part]


def as_frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=NAMES[: X.shape[1]])


def dask_frame(X: np.ndarray, y: np.ndarray, sizes: Sequence[int]) -> tuple[dd.DataFrame, dd.Series]:
    """A data frame and a series with these partitions."""
    frame = as_frame(X).assign(y=y)
    made = dd.from_map(_take_frame, slices(sizes), frame=frame, meta=frame.iloc[:0])
    return made[NAMES], made["y"]


def _take_frame(part: slice, frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[part]


def dask_array(values: np.ndarray, sizes: Sequence[int]) -> da.Array:
    chunks = (tuple(sizes), *((n,) for n in values.shape[1:]))
    return da.from_array(values, chunks=chunks)
