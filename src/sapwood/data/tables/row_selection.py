"""Select rows of a table or vector in the container the user passed."""

from __future__ import annotations

from typing import Any

import numpy as np


def select_rows(X: Any, rows: np.ndarray) -> Any:
    """Return the rows of ``X`` at integer positions ``rows``, in the order given and repeated where they repeat.

    NumPy arrays, pandas, polars, Arrow and other data frames and series keep their type; a sparse matrix becomes CSR,
    since not every format can be indexed; other sequences become lists.
    """
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if hasattr(X, "iloc") or type(X).__module__.split(".")[0] in ("pandas", "pyarrow"):
        return X.take(rows)  # a copy even in pandas, where assignments to the result of iloc may warn
    if hasattr(type(X), "columns") or hasattr(type(X), "to_frame"):
        return _select_frame_rows(X, rows)
    if hasattr(X, "shape"):
        return X[rows]
    return [X[row] for row in rows.tolist()]


def _select_frame_rows(X: Any, rows: np.ndarray) -> Any:
    """Select rows of a polars data frame or series, or of another that narwhals can read."""
    import narwhals as nw  # loaded for data frames only

    frame = nw.from_native(X, eager_only=True, allow_series=True)
    selected = frame[rows]
    return selected if frame is X else selected.to_native()
