"""Tables: arrays of all types and layouts, and what is no table."""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from tests.inputs.input_cells import (
    Cell,
    N,
    X,
    Y,
    constant,
    fine,
    regressor,
    same_as_plain,
    type_error,
    value_error,
    with_value,
)

SHAPE = ("Expected 2D array", "reshape")
NOT_2D = ("Expected 2D array", "an array, a list of rows or a data frame")
DTYPE_F = np.finfo(np.float64)


def fit(table: Any) -> np.ndarray:
    return regressor().fit(table, Y).predict(table)


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"x" + array.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(array.shape)


def middle_missing(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array[:, 1] = np.nan
    return array


SAME = {
    "a list of lists": X.tolist(),
    "a tuple of tuples": tuple(map(tuple, X)),
    "a memory view": memoryview(X),
    "float32": X.astype(np.float32),
    "long double": X.astype(np.longdouble),
    "objects that are floats": X.astype(object),
    "decimals": np.array([[decimal.Decimal(str(v)) for v in row] for row in X]),
    "big-endian": X.astype(">f8"),
    "Fortran order": np.asfortranarray(X),
    "read-only": read_only(X),
    "negative strides": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "every second row": np.repeat(X, 2, axis=0)[::2],
    "unaligned": unaligned(X),
    "masked, nothing hidden": np.ma.array(X),
    "multiples of 1e300": X * 1e300,
    "multiples of 1e-300": X * 1e-300,
    "subnormal": X * 1e-300 * 1e-18,
    "subnormal float32": (X * 1e-38).astype(np.float32) * np.float32(0.1),
    "integers": (X * 100).round().astype(np.int16),
    "integers beyond 2**53": (X * 100).round().astype(np.int64) * 2**40,
    "unsigned beyond 2**63": ((X * 100).round().astype(np.int64) * 2**40).astype(np.uint64) + np.uint64(2**63),
    "durations": (X * 100).round().astype("m8[D]"),
    "dates": (X * 100).round().astype("M8[D]"),
    "a sparse matrix": scipy.sparse.csr_matrix(X),
    "a sparse array by columns": scipy.sparse.csc_array(X),
}
RESULTS = {
    "one column": (X[:, :1], fine),
    "10,000 columns": (np.tile(X, (1, 3334))[:, :10_000], fine),
    "float16": (X.astype(np.float16), fine),
    "booleans": (X > 0, fine),
    "masked entries are missing": (np.ma.array(X, mask=X > 1), fine),
    "a long double beyond float64 is infinite": (X.astype(np.longdouble) * np.longdouble("1e4000"), fine),
    "an integer beyond float64 is infinite": (with_value(10**400), fine),
    "None is missing": (with_value(None), fine),
    "pandas NA is missing": (with_value(pd.NA), fine),
    "NaT is missing": (with_value(np.datetime64("NaT")), fine),
    "a signalling Decimal is missing": (with_value(decimal.Decimal("sNaN")), fine),
    "a fraction": (with_value(fractions.Fraction(1, 3)), fine),
    "a truth value among numbers": (with_value(True), fine),
    "a date among numbers": (with_value(datetime.date(2020, 1, 1)), fine),
    "infinities": (np.where(X > 1, np.inf, X), fine),
    "both infinities alone": (np.where(X > 0, np.inf, -np.inf), fine),
    "the largest floats": (np.where(X > 0, DTYPE_F.max, DTYPE_F.min), fine),
    "a column all missing": (middle_missing(X), fine),
    "all missing": (np.full((N, 3), np.nan), constant),
    "all infinite": (np.full((N, 3), np.inf), constant),
    "all the same": (np.ones((N, 3)), constant),
    "two zeros are one": (np.where(X > 0, 0.0, -0.0), constant),
    "one row repeated by strides": (np.broadcast_to(X[:1], (N, 3)), constant),
    "NaT alone": (np.full((N, 1), "NaT", dtype="M8[s]"), constant),
}
REFUSED = {
    "no rows": (np.empty((0, 3)), value_error("0 sample(s)", "a minimum of 1")),
    "no columns": (np.empty((N, 0)), value_error("0 feature(s)", "a minimum of 1")),
    "one dimension": (X[:, 0], value_error(*SHAPE)),
    "three dimensions": (X[:, :, None], value_error(*SHAPE)),
    "a number": (3.0, value_error(*SHAPE)),
    "a pandas column": (pd.Series(X[:, 0]), value_error(*SHAPE)),
    "nothing": (None, value_error("got NoneType", *NOT_2D)),
    "a text": ("table.csv", value_error("got str", *NOT_2D)),
    "a dict": ({"a": Y}, value_error("got dict", *NOT_2D)),
    "a set": ({1.0, 2.0}, value_error("got set", *NOT_2D)),
    "a generator": ((row for row in X), value_error("got generator", *NOT_2D)),
    "rows of different lengths": ([[1.0, 2.0], [3.0]], value_error("rows must be of one length")),
    "complex": (X + 1j, value_error("Complex data not supported", "complex128", "real and imaginary parts")),
    "records": (np.zeros((N, 1), dtype=[("a", float)]), type_error("is not numeric", "pass floats")),
    "raw bytes": (np.zeros((N, 2), dtype="V4"), type_error("V4", "pass floats")),
}
IN_A_VALUE = {
    "a dict among numbers": (with_value({}), type_error("column 1, row 3", "{}", "must be a number or None")),
    "a list among numbers": (with_value(...), type_error("column 1, row 3", "Ellipsis", "must be a number or None")),
    "a complex number among numbers": (with_value(1j), value_error("column 1, row 3", "1j", "real and imaginary")),
}

CELLS = [
    *(Cell(f"X: {name}", lambda table=table: fit(table), same_as_plain) for name, table in SAME.items()),
    *(Cell(f"X: {name}", lambda table=table: fit(table), test) for name, (table, test) in RESULTS.items()),
    *(Cell(f"X: {name}", lambda table=table: fit(table), error) for name, (table, error) in REFUSED.items()),
    *(Cell(f"X: {name}", lambda table=table: fit(table), error, True) for name, (table, error) in IN_A_VALUE.items()),
    Cell("X: one row", lambda: regressor().fit(X[:1], Y[:1]).predict(X[:1]), lambda found: found == Y[0]),
    Cell("X: two rows", lambda: regressor().fit(X[:2], Y[:2]).predict(X[:2]), constant),
]
