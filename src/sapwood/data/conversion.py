"""Turn values of any type that stands for numbers into floats."""

from __future__ import annotations

import decimal
import numbers
from typing import Any

import numpy as np

from sapwood.errors import InputError, InputTypeError

# Microseconds in each unit of NumPy's dates; finer units are divided.
MICROSECONDS = {"W": 604_800e6, "D": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
NUMBERS = (numbers.Real, decimal.Decimal, np.bool_)
FINER = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}  # units in a microsecond


def check_type(dtype: np.dtype, what: str) -> None:
    """Refuse element types that are not numbers; ``what`` is the array or column in words."""
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {what} is of type {dtype}. Pass real and imaginary parts apart.")
    if dtype.kind in "US":
        raise InputTypeError(
            f"{what} holds strings (type {dtype}), and category columns are not supported yet by this version: "
            "encode them as numbers (for example with sklearn.preprocessing.OrdinalEncoder) or drop them"
        )
    if dtype.kind not in "biufmMO":
        raise InputTypeError(f"{what} is of type {dtype}, which does not stand for numbers: pass floats or integers")


def float_type(dtype: np.dtype) -> np.dtype:
    """The smaller of float32 and float64 that holds every value of the type, float64 if neither does."""
    exact = dtype.kind in "biuf" and np.can_cast(dtype, np.float32)
    return np.dtype(np.float32 if exact else np.float64)


def to_floats(values: np.ndarray, first_row: int = 0, first_column: int = 0, name: str | None = None) -> np.ndarray:
    """Convert an array of a type that ``check_type`` lets pass; masked entries become NaN.

    The numbers of its first row and column (or its column's name) are for messages.
    """
    mask = np.ma.getmask(values)
    values = np.ma.getdata(values)
    target = float_type(values.dtype)
    if values.dtype.kind == "O":
        floats = _objects_to_floats(values, mask, first_row, first_column, name)
    elif values.dtype.kind in "mM":
        floats = _microseconds(values)
    else:
        with np.errstate(over="ignore"):  # a longdouble beyond float64 is an infinity
            floats = values.astype(target)
    if mask is not np.ma.nomask:
        floats[mask] = np.nan
    return floats


def _microseconds(values: np.ndarray) -> np.ndarray:
    unit, count = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        values = values.astype(values.dtype.str.split("[")[0] + "[D]")
        unit, count = "D", 1
    whole = values.astype(np.int64)
    if unit in MICROSECONDS:
        floats = whole.astype(np.float64) * (count * MICROSECONDS[unit])
    elif unit in FINER:
        # Whole microseconds are kept exact; only the fraction is rounded.
        microseconds, rest = np.divmod(whole, FINER[unit])
        floats = (microseconds.astype(np.float64) + rest.astype(np.float64) / FINER[unit]) * count
    else:
        floats = whole.astype(np.float64)
    floats[np.isnat(values)] = np.nan
    return floats


def _objects_to_floats(
    values: np.ndarray, mask: Any, first_row: int, first_column: int, name: str | None
) -> np.ndarray:
    floats = np.empty(values.shape, dtype=np.float64)
    for index, value in np.ndenumerate(values):
        if mask is not np.ma.nomask and mask[index]:
            continue
        if type(value) is float:
            floats[index] = value
        elif is_missing(value):
            floats[index] = np.nan
        elif isinstance(value, np.datetime64 | np.timedelta64):
            floats[index] = _microseconds(np.array([value]))[0]
        elif isinstance(value, NUMBERS):
            floats[index] = _number_to_float(value)
        else:
            column = repr(name) if name is not None else first_column + (index[1] if len(index) > 1 else 0)
            raise _not_a_number(value, column, first_row + index[0])
    return floats


def _number_to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def is_missing(value: Any) -> bool:
    """Tell whether an object stands for no value: None, NaN of any type, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _not_a_number(value: Any, column: Any, row: int) -> Exception:
    where = f"column {column}, row {row}"
    if isinstance(value, complex | np.complexfloating):
        return InputError(f"Complex data not supported: {value!r} in {where}. Pass real and imaginary parts apart.")
    if isinstance(value, str | bytes):
        return InputTypeError(
            f"{where} holds {value!r}, and category columns are not supported yet by this version: "
            "encode it as numbers (for example with sklearn.preprocessing.OrdinalEncoder) or drop it"
        )
    return InputTypeError(
        f"{where} holds {value!r} of type {type(value).__name__}: every value argument must be a number or None, "
        "not a string or another object that is not a number"
    )
