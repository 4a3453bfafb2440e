"""Partitions of Dask collections, computed where they lie."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Future, get_worker

from sapwood.distributed.partitions import (
    Partition,
    PartitionFacts,
    check_divided_alike,
    describe_partition,
    make_partition,
)
from sapwood.errors import InputError, InputTypeError

COLLECTIONS = "a dask.dataframe, a dask.array, or a list of delayed objects or futures"


def split_rows(
    X: Any, y: Any, sample_weight: Any = None, init_score: Any = None, groups: Any = None, name: str = ""
) -> list[Delayed]:  # fmt: skip
    """Return the rows of collections as delayed partitions; ``name`` is that of a validation set, for errors."""
    where = f"eval_set {name!r}: " if name else ""
    if y is None:
        raise InputError(f"{where}y is None: pass the target of each row")
    given = {"X": X, "y": y, "sample_weight": sample_weight, "init_score": init_score, "groups": groups}
    given = {argument: _align_chunks(values, X, where + argument) for argument, values in given.items()}
    columns = {argument: _partitions(one, where + argument) for argument, one in given.items() if one is not None}
    check_divided_alike(columns, where)
    make = dask.delayed(make_partition, pure=False)
    return [make(k, where, {argument: columns[argument][k] for argument in columns}) for k in range(len(columns["X"]))]


def describe_on_worker(partition: Partition) -> PartitionFacts:
    """Return the facts of a partition, on the Dask worker that has it."""
    return describe_partition(partition, get_worker().address)


def _align_chunks(values: Any, X: Any, name: str) -> Any:
    """Return an array in chunks of the rows of X, if the sizes of all chunks are known; anything else unchanged."""
    if not isinstance(values, da.Array):
        return values
    if values.ndim not in (1, 2):
        raise InputError(f"{name} is an array of {values.ndim} dimensions: pass one of 1 or 2")
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: -1})
    if not isinstance(X, da.Array) or values.chunks[0] == X.chunks[0]:
        return values
    n_rows, n_rows_of_X = sum(values.chunks[0]), sum(X.chunks[0])
    if np.isnan(n_rows) or np.isnan(n_rows_of_X):
        return values  # the number of chunks is compared later, the rows of each by the workers
    if n_rows != n_rows_of_X:
        raise InputError(f"{name} has {n_rows} rows, but X has {n_rows_of_X}: give every row of X one")
    return values.rechunk({0: X.chunks[0]})


def _partitions(values: Any, name: str) -> list[Any]:
    """Return the partitions of a collection as delayed objects or futures."""
    if isinstance(values, da.Array):
        return list(values.to_delayed().reshape(-1))
    if hasattr(values, "to_delayed"):
        return list(values.to_delayed())
    if isinstance(values, Delayed | Future):
        return [values]
    if isinstance(values, list | tuple) and values and all(isinstance(one, Delayed | Future) for one in values):
        return list(values)
    raise InputTypeError(
        f"{name} is a {type(values).__module__.partition('.')[0]} {type(values).__name__}, which is not a Dask "
        f"collection: pass {COLLECTIONS}; for rows in memory use SapwoodClassifier or SapwoodRegressor"
    )
