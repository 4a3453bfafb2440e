from __future__ import annotations

from collections import namedtuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sapwood.data.tables.rows import RowReader
from sapwood.data.tables.schema import Schema
from sapwood.errors import InputError, SchemaError

NAMED = RowReader(Schema(3, ("a", "b", "c"), (1,)))
NUMERIC = RowReader(Schema(2, ("a", "b")))
UNNAMED = RowReader(Schema(2))
Point = namedtuple("Point", ["c", "a", "b"])


@pytest.mark.parametrize(
    "row",
    [
        {"a": 1, "b": "x", "c": 2.5}, {"c": 2.5, "b": "x", "a": 1}, Point(2.5, 1, "x"), [1, "x", 2.5], (1, "x", 2.5),
        pd.Series({"b": "x", "a": 1, "c": 2.5}), np.array([1, "x", 2.5], dtype=object),
    ],
    ids=lambda row: type(row).__name__,
)  # fmt: skip
def test_a_row_is_read_in_the_order_of_training(row):
    assert list(NAMED.read(row)) == [1, "x", 2.5]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1, "c": 2}, r"no value for 'b': add it, with None"),
        ({"a": 1, "b": 1, "c": 2, "z": 3}, r"has 'z', which is no column of the model: leave it out"),
        ({"aa": 1, "b": 1, "c": 2}, r"no value for 'a'.*has 'aa'.*did you mean 'a'"),
        (namedtuple("Pandas", ["Index", "a", "b", "c"])(0, 1, 2, 3), r"itertuples\(index=False\)"),
        ([1.0], r"the row has 1 values.*3 features"),
        (pd.Series([1.0, 2.0, 3.0]), r"a Series is one row, whose index must be the column names 'a', 'b', 'c'"),
    ],
    ids=str,
)
def test_a_row_with_other_columns_is_refused(row, message):
    with pytest.raises(SchemaError, match=message):
        NAMED.read(row)


def test_something_that_is_no_row_is_refused():
    with pytest.raises(InputError, match=r"the row must be a dict of column names.*got float"):
        NAMED.read(3.0)


def test_without_names_of_training_the_keys_are_f0_f1_and_so_on():
    assert UNNAMED.read({"f1": 2.0, "f0": 1.0}) == [1.0, 2.0]
    assert list(UNNAMED.read(pd.Series([1.0, 2.0]))) == [1.0, 2.0]
    with pytest.raises(SchemaError, match=r"trained without column names: its columns are 'f0', 'f1'"):
        UNNAMED.read({"a": 1.0, "b": 2.0})


def test_names_that_are_not_strings_are_matched_as_strings():
    assert RowReader(Schema(2, ("0", "1"))).read({1: 5.0, 0: 4.0}) == [4.0, 5.0]
    assert RowReader(Schema(2, ("0", "1"))).read(pd.Series([4.0, 5.0])) == [4.0, 5.0]


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_frame_of_one_row_is_read_in_the_order_of_training(library):
    frame = library.DataFrame({"c": [2.5], "a": [1], "b": ["x"]})
    assert list(NAMED.read_single(frame)) == [1, "x", 2.5]
    assert list(NUMERIC.read_single(library.DataFrame({"b": [2.5], "a": [1]}))) == [1, 2.5]


def test_other_frames_are_left_to_be_read_as_tables():
    assert NUMERIC.read_single(pd.DataFrame({"a": [1, 2], "b": [1, 2]})) is None
    assert NUMERIC.read_single(pd.DataFrame({"a": [1], "z": [1]})) is None
    assert UNNAMED.read_single(pd.DataFrame({"f0": [1], "f1": [1]})) is None
    assert NUMERIC.read_single([[1.0, 2.0]]) is None
