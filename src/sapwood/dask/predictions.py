"""Predictions of Dask collections, computed lazily, partition by partition."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from distributed import Future
from sklearn.utils.validation import check_is_fitted

from sapwood.errors import InputError
from sapwood.estimators.base import SapwoodEstimator

EXPLAIN = "explain"


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


def lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an estimator that takes collections too, whose rows it does not compute at once."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self: Any, X: Any, *args: Any, **more: Any) -> Any:
        if not is_collection(X) or not more.keys() <= signature.parameters.keys():
            return method(self, X, *args, **more)
        _, _, *others = signature.bind(self, X, *args, **more).arguments.items()
        return predict_lazily(self.to_local(), X, method.__name__, **dict(others))

    first, rest = (method.__doc__ or "").split("\n", 1)
    call.__doc__ = f"{first.removesuffix('.')}; lazily for a Dask collection.\n{rest}"
    return call


def predict_lazily(estimator: SapwoodEstimator, X: Any, method: str, **more: Any) -> Any:
    """Return the predictions of a method: a series or data frame with the index of X, an array, or delayed objects.

    Predictions of three or more dimensions are arrays, and explanations delayed objects, one for each partition.
    """
    if isinstance(X, list | tuple):
        return [predict_lazily(estimator, one, method, **more) for one in X]
    check_is_fitted(estimator)
    sent = dask.delayed(estimator, pure=True, traverse=False)  # sent once per worker, not with every partition
    if isinstance(X, Delayed | Future):
        return dask.delayed(_predict)(X, sent, method, more)
    if isinstance(X, da.Array):
        X = _with_all_columns(X)
    if method == EXPLAIN:
        return [dask.delayed(_predict)(part, sent, method, more) for part in np.ravel(X.to_delayed())]
    if isinstance(X, da.Array):
        return _predict_array(estimator, sent, X, method, more)
    sample = _predict(X._meta_nonempty, estimator, method, more)
    if sample.ndim > 2:
        blocks = zip(X.to_delayed(), [np.nan] * X.npartitions, strict=True)
        return _join_blocks(blocks, sent, sample, method, more)
    meta = _predict_frame(X._meta_nonempty, estimator, method, more).iloc[:0]
    return X.map_partitions(_predict_frame, sent, method, more, meta=meta)


def _with_all_columns(X: da.Array) -> da.Array:
    """Return an array whose chunks have all columns."""
    if X.ndim != 2:
        raise InputError(f"X is an array of {X.ndim} dimension(s): pass one of 2")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def _predict_array(
    estimator: SapwoodEstimator, sent: Delayed, X: da.Array, method: str, more: dict[str, Any]
) -> da.Array:
    sample = _predict(np.zeros((1, X.shape[1]), X.dtype), estimator, method, more)
    return _join_blocks(zip(X.to_delayed().reshape(-1), X.chunks[0], strict=True), sent, sample, method, more)


def _join_blocks(
    blocks: Iterable[tuple[Delayed, float]], sent: Delayed, sample: np.ndarray, method: str, more: dict[str, Any]
) -> da.Array:
    """Return an array of the predictions of partitions with their numbers of rows, NaN if unknown."""
    predicted = [
        da.from_delayed(dask.delayed(_predict)(block, sent, method, more), (n_rows, *sample.shape[1:]), sample.dtype)
        for block, n_rows in blocks
    ]
    return da.concatenate(predicted, allow_unknown_chunksizes=True)


def _predict(X: Any, estimator: SapwoodEstimator, method: str, more: dict[str, Any]) -> Any:
    return getattr(estimator, method)(X, **more)


def _predict_frame(frame: Any, estimator: SapwoodEstimator, method: str, more: dict[str, Any]) -> Any:
    import pandas as pd

    values = _predict(frame, estimator, method, more)
    if values.ndim == 1:
        return pd.Series(values, index=frame.index, name="prediction")
    return pd.DataFrame(values, index=frame.index, columns=_column_names(estimator, method, values.shape[1]))


def _column_names(estimator: SapwoodEstimator, method: str, n_columns: int) -> list[str]:
    """Return the names of the columns of predictions: features, classes, bounds, or numbers of outputs or trees."""
    if method == "shap_values":
        return estimator.model_.feature_names
    if method == "predict_interval":
        return ["lower", "upper"]
    classes = getattr(estimator, "classes_", ()) if method != "apply" else ()
    return [str(one) for one in (classes if len(classes) == n_columns else range(n_columns))]
