"""Data frames of pandas, polars and Arrow with numeric columns, and columns that cannot be numbers."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.inputs.input_cells import Cell, N, X, Y, fine, regressor, same_as_plain, type_error, value_error

FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
HALF = N // 2
NOT_NUMBERS = ("is not numeric", "drop it")


def with_column(values: Any) -> pd.DataFrame:
    """The frame with another column b."""
    return FRAME.assign(b=values)


def with_object(value: Any) -> pd.DataFrame:
    """The frame with an object column b that has this value in row 3."""
    values = list(FRAME["b"])
    values[3] = value
    return with_column(pd.Series(values, dtype=object))


def arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.table({name: frame[name].to_numpy() for name in frame})


def fit(table: Any) -> np.ndarray:
    return regressor().fit(table, Y).predict(table)


SAME = {
    "pandas": FRAME,
    "pandas float32": FRAME.astype(np.float32),
    "pandas Float64": FRAME.astype("Float64"),
    "pandas double[pyarrow]": FRAME.astype("double[pyarrow]"),
    "pandas objects": FRAME.astype(object),
    "pandas sparse": FRAME.astype(pd.SparseDtype(float, 0.0)),
    "pandas of several blocks": with_column(FRAME["b"].to_numpy().copy()),
    "pandas with an index of its own": FRAME.set_index(pd.Index(range(N, 0, -1))),
    "names that are numbers": pd.DataFrame(X),
    "names of several kinds": pd.DataFrame(X, columns=["a", 1, ("b", 2)]),
    "names of two levels": pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])),
    "names with odd signs": pd.DataFrame(X, columns=["", "[b] <\n", "ü"]),
    "polars": pl.from_pandas(FRAME),
    "polars decimals": pl.from_pandas(FRAME).cast(pl.Decimal(20, 2)),
    "Arrow": arrow(FRAME),
    "an Arrow batch": pa.record_batch({name: FRAME[name].to_numpy() for name in FRAME}),
    "Arrow in chunks": pa.concat_tables([arrow(FRAME[:9]), arrow(FRAME[9:])]),
}
RESULTS = {
    "Int64 with gaps": with_column(pd.Series([1, None] * HALF, dtype="Int64")),
    "boolean with gaps": with_column(pd.Series([True, None] * HALF, dtype="boolean")),
    "int64[pyarrow] with gaps": with_column(pd.Series([1, None] * HALF, dtype="int64[pyarrow]")),
    "dates with a time zone": with_column(pd.date_range("2020", periods=N, tz="UTC")),
    "durations": with_column(pd.to_timedelta(np.arange(N), "D")),
    "decimals": with_column([decimal.Decimal(1)] * N),
    "an object column with a gap": with_object(None),
    "polars integers of 128 bits": pl.DataFrame({"a": pl.Series(range(N), dtype=pl.Int128)}),
    "polars nulls alone": pl.DataFrame({"a": [None] * N}),
    "polars booleans with gaps": pl.DataFrame({"a": [True, None] * HALF}),
    "Arrow nulls alone": pa.table({"a": pa.nulls(N)}),
    "Arrow half floats": pa.table({"a": pa.array(Y.astype(np.float16))}),
}
REFUSED = {
    "two columns of one name": (FRAME.set_axis(["a", "b", "b"], axis=1), value_error("'b'", "rename or drop")),
    "names alike as texts": (FRAME.set_axis(["1", 1, "c"], axis=1), value_error("'1'", "rename or drop")),
    "Arrow, two columns of one name": (pa.Table.from_arrays([Y, Y], names=["a", "a"]), value_error("'a'", "rename")),
    "a frame without rows": (FRAME[:0], value_error("0 sample(s)")),
    "a frame without columns": (FRAME[[]], value_error("0 feature(s)")),
    "a lazy frame": (pl.DataFrame({"a": Y}).lazy(), fine),
    "polars lists": (pl.DataFrame({"a": [[1]] * N}), type_error("column 'a'", "List", *NOT_NUMBERS)),
    "polars structs": (pl.DataFrame({"a": [{"x": 1}] * N}), type_error("column 'a'", "Struct", *NOT_NUMBERS)),
    "polars bytes": (pl.DataFrame({"a": [b"1"] * N}), type_error("column 'a'", "Binary", *NOT_NUMBERS)),
    "Arrow lists": (pa.table({"a": [[1]] * N}), type_error("column 'a'", "List", *NOT_NUMBERS)),
    "pandas lists of Arrow": (
        with_column(pd.Series([[1], None] * HALF, dtype=pd.ArrowDtype(pa.list_(pa.int64())))),
        type_error("column 'b'", "List", *NOT_NUMBERS),
    ),
}
IN_A_VALUE = {
    "complex": (with_column(Y + 1j), value_error("column 'b'", "complex128", "real and imaginary parts")),
    "a dict in a column": (with_object({}), type_error("column 'b', row 3", "{}", "must be a number or None")),
    "a list in a column": (with_object([1]), type_error("column 'b', row 3", "[1]", "must be a number or None")),
    "intervals": (with_column(pd.interval_range(0, periods=N)), type_error("column 'b', row 0", "Interval(0, 1")),
    "periods": (with_column(pd.period_range("2020", periods=N)), fine),
    "polars objects": (
        pl.DataFrame({"a": pl.Series([{1}] * N, dtype=pl.Object)}),
        type_error("column 'a', row 0", "{1}", "must be a number or None"),
    ),
}

CELLS = [
    *(Cell(f"frame: {name}", lambda table=table: fit(table), same_as_plain) for name, table in SAME.items()),
    *(Cell(f"frame: {name}", lambda table=table: fit(table), fine) for name, table in RESULTS.items()),
    *(Cell(f"frame: {name}", lambda table=table: fit(table), error) for name, (table, error) in REFUSED.items()),
    *(Cell(f"frame: {name}", lambda table=t: fit(table), error, True) for name, (t, error) in IN_A_VALUE.items()),
]
