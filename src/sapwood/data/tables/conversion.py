"""Convert values of numeric types, dates and times to floats."""

from __future__ import annotations

import datetime
import numbers
import sys
from typing import Any, NamedTuple

import numpy as np

from sapwood.errors import InputError, InputTypeError

TIME_TYPES = (np.datetime64, np.timedelta64, datetime.date, datetime.timedelta, datetime.time)
# Microseconds in each unit of NumPy's dates and durations; finer units are in PER_MICROSECOND.
MICROSECONDS = {"W": 604_800e6, "D": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
PER_MICROSECOND = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}  # how many of the unit make a microsecond
REMEDY = "the column is read as numeric: name it in categorical_features (or leave that 'auto'), or drop it"


BYTES_REMEDY = "bytes are neither numbers nor categories: decode them, as in X[name].str.decode('utf-8')"


class Position(NamedTuple):
    """Position of converted values in the user's data, for error messages."""

    row: int = 0
    column: int = 0
    name: str | None = None
    names: tuple[str, ...] | None = None

    def describe(self, index: tuple[int, ...]) -> str:
        """Return the column and row of the value at ``index`` in words."""
        number = self.column + (index[1] if len(index) > 1 else 0)
        name = self.name if self.names is None else self.names[number]
        return f"column {number if name is None else repr(name)}, row {self.row + index[0]}"


def check_type(dtype: np.dtype, what: str) -> None:
    """Raise an error for element types that are not numeric; ``what`` names the array or column."""
    if dtype.kind == "c":
        raise InputError(
            f"Complex data not supported: {what} is of type {dtype}. Pass real and imaginary parts as separate columns."
        )
    if dtype.kind == "S":
        raise InputTypeError(f"{what} holds bytes (type {dtype}): decode them to strings, for example X.astype(str)")
    if dtype.kind not in "biufmMOUT":
        raise InputTypeError(f"{what} is of type {dtype}, which is not numeric: pass floats or integers")


def float_type(dtype: np.dtype) -> np.dtype:
    """Return float32 if it represents every value of ``dtype`` exactly, else float64."""
    exact = dtype.kind in "biuf" and np.can_cast(dtype, np.float32)
    return np.dtype(np.float32 if exact else np.float64)


def is_masked_array(values: Any) -> bool:
    """Return whether these are a masked array of NumPy, without importing ``numpy.ma`` if the program has not."""
    return type(values) is not np.ndarray and "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray)


def to_floats(values: np.ndarray, position: Position | None = None) -> np.ndarray:
    """Convert an array of a type that passes ``check_type`` to floats, masked entries to NaN; floats are not copied."""
    mask = None
    if is_masked_array(values):
        mask, values = np.ma.getmaskarray(values), np.ma.getdata(values)
    if values.dtype.kind == "O":
        floats = _objects_to_floats(values, mask, position or Position())
    elif values.dtype.kind in "mM":
        floats = _microseconds(values)
    else:
        with np.errstate(over="ignore"):  # a longdouble beyond the range of float64 becomes infinite
            floats = values.astype(float_type(values.dtype), copy=mask is not None)
    if mask is not None:
        floats[mask] = np.nan
    return floats


def is_missing(value: Any) -> bool:
    """Return whether an object is a missing value: None, pandas' NA and NaT, NumPy's NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _microseconds(values: np.ndarray) -> np.ndarray:
    unit, count = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        values = values.astype(f"{values.dtype.kind}8[D]")
        unit, count = "D", 1
    counts = values.astype(np.int64)
    if unit in PER_MICROSECOND:
        # Integer microseconds stay exact; only the fraction is rounded.
        microseconds, remainder = np.divmod(counts, PER_MICROSECOND[unit])
        floats = (microseconds.astype(np.float64) + remainder.astype(np.float64) / PER_MICROSECOND[unit]) * count
    else:
        floats = counts.astype(np.float64) * (count * MICROSECONDS.get(unit, 1.0))
    floats[np.isnat(values)] = np.nan
    return floats


def _objects_to_floats(values: np.ndarray, mask: np.ndarray | None, position: Position) -> np.ndarray:
    floats = np.empty(values.shape, dtype=np.float64)
    for index, value in np.ndenumerate(values):
        if mask is None or not mask[index]:
            floats[index] = object_to_float(value, position, index)
    return floats


def object_to_float(value: Any, position: Position, index: tuple[int, ...] = (0,)) -> float:
    """Return an object as a float, NaN if it is missing; errors name the ``position``, ``index`` from there."""
    if type(value) is float:
        return value
    if is_missing(value):
        return np.nan
    if isinstance(value, TIME_TYPES):
        return _time_to_float(value)
    if type(value).__name__ == "Period":
        return _time_to_float(value.start_time)
    if is_number(value):
        return _number_to_float(value)
    raise _not_a_number_error(value, position.describe(index))


def is_number(value: Any) -> bool:
    """Return whether an object is a real number: of Python, of NumPy or a decimal, which is no ``numbers.Real``."""
    return isinstance(value, numbers.Real | np.bool_) or (
        isinstance(value, numbers.Number) and not isinstance(value, numbers.Complex)
    )


def _number_to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of float64
        return np.inf if value > 0 else -np.inf
    except ValueError:  # a signaling NaN of Decimal
        return np.nan


def _time_to_float(value: Any) -> float:
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * 1e6 + value.microsecond
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    kind = "m" if isinstance(value, np.timedelta64 | datetime.timedelta) else "M"
    return float(_microseconds(np.array([value], dtype=f"{kind}8[us]"))[0])


def short_repr(value: Any, max_length: int = 60) -> str:
    """Return the repr of a value for an error message, truncated to ``max_length`` characters."""
    value = float(value) if isinstance(value, np.longdouble) else value
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= max_length else text[: max_length - 3] + "..."


def _not_a_number_error(value: Any, position: str) -> Exception:
    if isinstance(value, complex | np.complexfloating):
        return InputError(
            f"Complex data not supported: {position} holds {value!r}. Pass real and imaginary parts as separate "
            "columns."
        )
    if isinstance(value, str):
        return InputTypeError(f"{position} holds {value!r}, and {REMEDY}")
    if isinstance(value, bytes):
        return InputTypeError(f"{position} holds {value!r}, and {BYTES_REMEDY}")
    if type(value).__name__ == "Interval":
        return InputTypeError(
            f"{position} holds {value!r}, an interval: pass a bound or its middle as a number (.array.mid), "
            "or name the column in categorical_features"
        )
    return InputTypeError(
        f"{position} holds {short_repr(value)} of type {type(value).__name__}: every value argument must be a number "
        "or None, not a string or another object that is not a number"
    )
