"""Values of every type that stands for numbers, converted to floats."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sapwood.data.tables.table import read_table


def floats_of(X) -> np.ndarray:
    """All of a table in one matrix."""
    return np.concatenate([matrix for _, matrix in read_table(X).contiguous_blocks()])


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g"])
def test_numbers_of_every_type_keep_their_values(dtype):
    X = np.array([[0, 1], [1, 0]], dtype=dtype)
    table = read_table(X)
    assert table.dtype == (np.float32 if np.can_cast(dtype, np.float32) else np.float64)
    np.testing.assert_array_equal(floats_of(X), X.astype(float))


def test_integers_beyond_float64_become_the_nearest():
    assert floats_of(np.array([[2**53 + 1, 2**63 - 1]]))[0].tolist() == [2.0**53, 2.0**63]
    assert floats_of(pl.DataFrame({"a": [2**53 + 1, None]}))[0, 0] == 2.0**53
    assert floats_of(pa.table({"a": [2**53 + 1, None]}))[0, 0] == 2.0**53


def test_infinities_are_values_and_stay():
    assert floats_of([[np.inf, -np.inf]]).tolist() == [[np.inf, -np.inf]]


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "s", "ms", "us", "ns"])
def test_dates_count_microseconds_in_every_unit(unit):
    dates = np.array([["1970-01-01", "NaT"], ["2001-01-01", "1960-01-01"]], dtype=f"M8[{unit}]")
    found = floats_of(dates)
    day = 86_400e6
    np.testing.assert_array_equal(found, [[0, np.nan], [11323 * day, -3653 * day]])


def test_nanoseconds_keep_whole_microseconds_exact():
    assert floats_of(np.array([[1_600_000_000_123_456_500]], dtype="M8[ns]"))[0, 0] == 1_600_000_000_123_456.5


NOON = datetime.datetime(2020, 5, 17, 12, 30)


NOON_FLOAT = (NOON - datetime.datetime(1970, 1, 1)).total_seconds() * 1e6


PARIS = NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([NOON, None]), NOON_FLOAT),
        (pd.Series([NOON, None]).astype("M8[ns]"), NOON_FLOAT),
        (pd.Series([NOON, None]).dt.tz_localize("Europe/Paris"), NOON_FLOAT - 7200e6),
        (pd.Series([NOON, None], dtype=object), NOON_FLOAT),
        (pd.Series([PARIS, None], dtype=object), NOON_FLOAT - 7200e6),
        (pd.Series([NOON.date(), None], dtype=object), NOON_FLOAT - 45_000e6),
        (pd.Series([datetime.timedelta(seconds=3), None]), 3e6),
        (pd.Series([True, None], dtype="boolean"), 1.0),
        (pd.Series([7, None], dtype="Int8"), 7.0),
        (pd.Series([7, None], dtype="int64[pyarrow]"), 7.0),
        (pd.Series([decimal.Decimal("1.5"), None], dtype=object), 1.5),
        (pd.Series([np.bool_(True), pd.NA], dtype=object), 1.0),
        (pl.Series([NOON, None]), NOON_FLOAT),
        (pl.Series([NOON, None]).dt.replace_time_zone("Europe/Paris"), NOON_FLOAT - 7200e6),
        (pl.Series([NOON.date(), None]), NOON_FLOAT - 45_000e6),
        (pl.Series([NOON.time(), None]), 45_000e6),
        (pl.Series([datetime.timedelta(seconds=3), None]), 3e6),
        (pl.Series([True, None]), 1.0),
        (pl.Series([7, None], dtype=pl.UInt8), 7.0),
        (pl.Series([7, None], dtype=pl.Int128), 7.0),
        (pl.Series([decimal.Decimal("1.5"), None]), 1.5),
        (pl.Series([float("nan"), None]), np.nan),
        (pl.Series([None, None]), np.nan),
    ],
    ids=lambda value: f"{type(value).__module__.split('.')[0]} {value.dtype}" if hasattr(value, "dtype") else "",
)
def test_columns_of_every_type_become_floats_and_what_is_not_there_is_missing(column, expected):
    frame = column.to_frame("a")
    np.testing.assert_array_equal(floats_of(frame), [[expected], [np.nan]])
    if isinstance(frame, pl.DataFrame) and column.dtype != pl.Int128:
        np.testing.assert_array_equal(floats_of(frame.to_arrow()), [[expected], [np.nan]])


def test_a_masked_entry_is_missing_whatever_lies_beneath():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(floats_of(X), [[1, np.nan], [3, 4]])
    objects = np.ma.array([[1, "text"]], dtype=object, mask=[[False, True]])
    np.testing.assert_array_equal(floats_of(objects), [[1, np.nan]])
