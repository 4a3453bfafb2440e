"""Predictions of Dask collections, computed lazily, partition by partition."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

from sapwood.estimators.base import SapwoodEstimator


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask collection, or a list of delayed partitions."""
    if isinstance(X, list | tuple):
        return bool(X) and all(dask.is_dask_collection(one) for one in X)
    return dask.is_dask_collection(X)


def predict_lazily(estimator: SapwoodEstimator, X: Any, method: str, **more: Any) -> Any:
    """Return the predictions of a method: a series or data frame with the index of X, an array, or delayed objects."""
    if isinstance(X, list | tuple):
        return [predict_lazily(estimator, one, method, **more) for one in X]
    sent = dask.delayed(estimator, pure=True, traverse=False)  # sent once per worker, not with every partition
    if isinstance(X, Delayed):
        return dask.delayed(_predict)(X, sent, method, more)
    if isinstance(X, da.Array):
        return _predict_array(estimator, sent, X, method, more)
    sample = _predict_frame(X._meta_nonempty, estimator, method, more)
    return X.map_partitions(_predict_frame, sent, method, more, meta=sample.iloc[:0])


def _predict_array(
    estimator: SapwoodEstimator, sent: Delayed, X: da.Array, method: str, more: dict[str, Any]
) -> da.Array:
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
