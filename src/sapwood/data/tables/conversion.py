"""Turn values of any type that stands for numbers into floats."""

from __future__ import annotations

import datetime
import decimal
import numbers
from typing import Any, NamedTuple

import numpy as np

from sapwood.errors import InputError, InputTypeError

NUMBERS = (numbers.Real, decimal.Decimal, np.bool_)
TIMES = (np.datetime64, np.timedelta64, datetime.date, datetime.timedelta, datetime.time)
# Microseconds in each unit of NumPy's dates; finer units are divided.
MICROSECONDS = {"W": 604_800e6, "D": 86_400e6, "h": 3_600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
FINER = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}  # units in a microsecond
REMEDY = "the column is read as numbers: name it in categorical_features (or leave that 'auto'), or drop it"


class Place(NamedTuple):
    """Where converted values stand in the user's data, for messages."""

    row: int = 0
    column: int = 0
    name: str | None = None

    def describe(self, index: tuple[int, ...]) -> str:
        """The place of one of the values in words."""
        column = repr(self.name) if self.name is not None else self.column + (index[1] if len(index) > 1 else 0)
        return f"column {column}, row {self.row + index[0]}"


def check_type(dtype: np.dtype, what: str) -> None:
    """Refuse element types that are not numbers; ``what`` is the array or column in words."""
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {what} is of type {dtype}. Pass real and imaginary parts apart.")
    if dtype.kind == "S":
        raise InputTypeError(f"{what} holds bytes (type {dtype}): decode them into texts, for example X.astype(str)")
    if dtype.kind not in "biufmMOUT":
        raise InputTypeError(f"{what} is of type {dtype}, which does not stand for numbers: pass floats or integers")


def float_type(dtype: np.dtype) -> np.dtype:
    """The smaller of float32 and float64 that holds every value of the type, float64 if neither does."""
    exact = dtype.kind in "biuf" and np.can_cast(dtype, np.float32)
    return np.dtype(np.float32 if exact else np.float64)


def to_floats(values: np.ndarray, place: Place | None = None) -> np.ndarray:
    """Convert an array of a type that ``check_type`` lets pass, masked entries to NaN; floats are not copied."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    values = np.ma.getdata(values)
    if values.dtype.kind == "O":
        floats = _objects_to_floats(values, mask, place or Place())
    elif values.dtype.kind in "mM":
        floats = _microseconds(values)
    else:
        with np.errstate(over="ignore"):  # a longdouble beyond float64 is an infinity
            floats = values.astype(float_type(values.dtype), copy=mask is not None)
    if mask is not None:
        floats[mask] = np.nan
    return floats


def is_missing(value: Any) -> bool:
    """Tell whether an object stands for no value: None, pandas' NA and NaT, NumPy's NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _microseconds(values: np.ndarray) -> np.ndarray:
    unit, count = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        values = values.astype(f"{values.dtype.kind}8[D]")
        unit, count = "D", 1
    whole = values.astype(np.int64)
    if unit in FINER:
        # Whole microseconds are kept exact; only the fraction is rounded.
        microseconds, rest = np.divmod(whole, FINER[unit])
        floats = (microseconds.astype(np.float64) + rest.astype(np.float64) / FINER[unit]) * count
    else:
        floats = whole.astype(np.float64) * (count * MICROSECONDS.get(unit, 1.0))
    floats[np.isnat(values)] = np.nan
    return floats


def _objects_to_floats(values: np.ndarray, mask: np.ndarray | None, place: Place) -> np.ndarray:
    floats = np.empty(values.shape, dtype=np.float64)
    for index, value in np.ndenumerate(values):
        if mask is not None and mask[index]:
            continue
        if type(value) is float:
            floats[index] = value
        elif is_missing(value):
            floats[index] = np.nan
        elif isinstance(value, TIMES):
            floats[index] = _time_to_float(value)
        elif isinstance(value, NUMBERS):
            floats[index] = _number_to_float(value)
        else:
            raise _not_a_number(value, place.describe(index))
    return floats


def _number_to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return np.inf if value > 0 else -np.inf
    except ValueError:  # a Decimal that signals
        return np.nan


def _time_to_float(value: Any) -> float:
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * 1e6 + value.microsecond
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    kind = "m" if isinstance(value, np.timedelta64 | datetime.timedelta) else "M"
    return float(_microseconds(np.array([value], dtype=f"{kind}8[us]"))[0])


def shown(value: Any, most: int = 60) -> str:
    """A value in a message, cut if it is long."""
    plain = float(value) if isinstance(value, np.longdouble) else value
    text = repr(plain.item() if isinstance(plain, np.generic) else plain)
    return text if len(text) <= most else text[: most - 3] + "..."


def _not_a_number(value: Any, where: str) -> Exception:
    if isinstance(value, complex | np.complexfloating):
        return InputError(f"Complex data not supported: {where} holds {value!r}. Pass real and imaginary parts apart.")
    if isinstance(value, str | bytes):
        return InputTypeError(f"{where} holds {value!r}, and {REMEDY}")
    return InputTypeError(
        f"{where} holds {shown(value)} of type {type(value).__name__}: every value argument must be a number or None, "
        "not a string or another object that is not a number"
    )
