"""Predictions of Dask collections, computed lazily, partition by partition."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Future

from sapwood.errors import InputError
from sapwood.estimators.base import SapwoodEstimator


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask collection, a future, or a list of delayed partitions or futures."""
    if isinstance(X, list | tuple):
        return bool(X) and all(_is_lazy(one) for one in X)
    return _is_lazy(X)


def compute_together(*values: Any) -> list[Any]:
    """Return the rows of collections in memory, computed at once; values in memory, and None, as they are."""
    lazy = [one if is_collection(one) else None for one in values]
    delayed = [[_delay(part) for part in one] if isinstance(one, list | tuple) else _delay(one) for one in lazy]
    return [
        value if one is None
        else np.concatenate([np.asarray(part) for part in computed]) if isinstance(one, list | tuple)
        else computed
        for value, one, computed in zip(values, lazy, dask.compute(*delayed), strict=True)
    ]  # fmt: skip


def _is_lazy(one: Any) -> bool:
    return isinstance(one, Future) or dask.is_dask_collection(one)


def _delay(one: Any) -> Any:
    return dask.delayed(one) if isinstance(one, Future) else one


def predict_lazily(estimator: SapwoodEstimator, X: Any, method: str, **more: Any) -> Any:
    """Return the predictions of a method: a series or data frame with the index of X, an array, or delayed objects."""
    if isinstance(X, list | tuple):
        return [predict_lazily(estimator, one, method, **more) for one in X]
    sent = dask.delayed(estimator, pure=True, traverse=False)  # sent once per worker, not with every partition
    if isinstance(X, Delayed | Future):
        return dask.delayed(_predict)(X, sent, method, more)
    if isinstance(X, da.Array):
        return _predict_array(estimator, sent, X, method, more)
    sample = _predict_frame(X._meta_nonempty, estimator, method, more)
    return X.map_partitions(_predict_frame, sent, method, more, meta=sample.iloc[:0])


def _predict_array(
    estimator: SapwoodEstimator, sent: Delayed, X: da.Array, method: str, more: dict[str, Any]
) -> da.Array:
    if X.ndim != 2:
        raise InputError(f"X is an array of {X.ndim} dimension(s): pass one of 2")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    sample = _predict(np.zeros((1, X.shape[1]), X.dtype), estimator, method, more)
    blocks = [
        da.from_delayed(dask.delayed(_predict)(block, sent, method, more), (n_rows, *sample.shape[1:]), sample.dtype)
        for block, n_rows in zip(X.to_delayed().reshape(-1), X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _predict(X: Any, estimator: SapwoodEstimator, method: str, more: dict[str, Any]) -> np.ndarray:
    predictions: np.ndarray = getattr(estimator, method)(X, **more)
    return predictions


def _predict_frame(frame: Any, estimator: SapwoodEstimator, method: str, more: dict[str, Any]) -> Any:
    import pandas as pd

    values = _predict(frame, estimator, method, more)
    if values.ndim == 1:
        return pd.Series(values, index=frame.index, name="prediction")
    names = [str(label) for label in getattr(estimator, "classes_", range(values.shape[1]))]
    return pd.DataFrame(values, index=frame.index, columns=names)
