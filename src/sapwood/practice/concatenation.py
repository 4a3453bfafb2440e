"""Concatenate tables of one kind, and select a column of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.errors import InputError


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame."""
    return hasattr(X, "columns") or hasattr(X, "column_names")


def concatenate(first: Any, second: Any) -> Any:
    """Return the rows of two tables as one: data frames of one library, sparse matrices, or arrays."""
    if is_frame(first) != is_frame(second):
        raise InputError(
            f"one table is a {type(first).__name__}, the other a {type(second).__name__}: pass two of one kind"
        )
    if is_frame(first):
        import narwhals as nw  # loaded for data frames only

        frames = [nw.from_native(table, eager_only=True) for table in (first, second)]
        if frames[0].columns != frames[1].columns:
            differing = sorted(set(frames[0].columns) ^ set(frames[1].columns)) or "their order"
            raise InputError(
                f"the tables have different columns: {differing}; select the same columns in the same order"
            )
        return nw.concat(frames, how="vertical").to_native()
    if first.shape[1] != second.shape[1]:
        raise InputError(f"the tables have {first.shape[1]} and {second.shape[1]} columns: pass the same columns")
    if hasattr(first, "tocsr"):
        from scipy.sparse import vstack

        return vstack([first, second]).tocsr()
    return np.concatenate([np.asarray(first), np.asarray(second)])


def select_column(X: Any, column: int) -> Any:
    """Return a table of one column."""
    if is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return frame.select(frame.columns[column]).to_native()
    return X[:, [column]]
