"""Lazy and streamed tables, collected into data frames in memory: LazyFrames, Arrow streams and datasets, relations.

Training and prediction read rows more than once, which a stream does not allow.
"""

from __future__ import annotations

import importlib
from typing import Any

from sapwood.errors import InputTypeError
from sapwood.log import logger

# Calls that return a table in memory, by library and class.
_COLLECT = {
    ("polars", "LazyFrame"): "collect",
    ("narwhals", "LazyFrame"): "collect",
    ("duckdb", "DuckDBPyRelation"): "to_arrow_table",
    ("pyarrow", "RecordBatchReader"): "read_all",
    ("pyarrow", "Scanner"): "to_table",
}
ARROW_STREAM, INTERCHANGE = "__arrow_c_stream__", "__dataframe__"
# Libraries that read a stream or an object of the interchange protocol, and the functions that do.
_READERS = {
    ARROW_STREAM: (("pyarrow", "table"), ("polars", "DataFrame")),
    INTERCHANGE: (
        ("pyarrow.interchange", "from_dataframe"), ("polars", "from_dataframe"),
        ("pandas.api.interchange", "from_dataframe"),
    ),
}  # fmt: skip


def collect_table(X: Any) -> Any:
    """Return a lazy or streamed table as a data frame in memory, anything else unchanged."""
    kind = type(X)
    library, is_frame = kind.__module__.partition(".")[0], hasattr(kind, "columns")
    method = _COLLECT.get((library.lstrip("_"), kind.__name__))
    if method is None and library == "pyarrow" and hasattr(kind, "to_table"):
        method = "to_table"  # of a dataset
    if method is not None:
        collected = getattr(X, method if hasattr(X, method) else "arrow")()
    elif is_frame or kind.__name__ == "Series" or hasattr(kind, "__array__"):
        return X
    elif hasattr(kind, ARROW_STREAM):
        collected = _read(X, ARROW_STREAM)
    elif hasattr(kind, INTERCHANGE):
        collected = _read(X, INTERCHANGE)
    else:
        return X
    logger.info("X is a %s %s: collected into memory", library, kind.__name__)
    return collected


def _read(X: Any, protocol: str) -> Any:
    """Read an object by a protocol with the first installed library that can."""
    for module, function in _READERS[protocol]:
        try:
            read = getattr(importlib.import_module(module), function)
        except ImportError:
            continue
        return read(X)
    raise InputTypeError(
        f"X is a {type(X).__name__} with {protocol}, which needs pyarrow or polars: install one of them, or pass a "
        "NumPy array or a data frame"
    )
