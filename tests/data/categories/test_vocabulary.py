"""Categories are identified by strings, the same in every container."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sapwood.data.categories.vocabulary import Vocabulary, category_name, factorize_array
from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, InputTypeError

STRINGS = ["b", None, "a", "é", "b", "", "a"]
FORMS = {
    "object array": lambda: np.array(STRINGS, dtype=object)[:, None],
    "list": lambda: [[text] for text in STRINGS],
    "pandas": lambda: pd.DataFrame({"c": STRINGS}),
    "pandas object": lambda: pd.DataFrame({"c": np.array(STRINGS, dtype=object)}, dtype=object),
    "pandas category": lambda: pd.DataFrame({"c": pd.Categorical(STRINGS)}),
    "pandas string": lambda: pd.DataFrame({"c": pd.array(STRINGS, dtype="string")}),
    "polars": lambda: pl.DataFrame({"c": STRINGS}),
    "polars categorical": lambda: pl.DataFrame({"c": pl.Series(STRINGS, dtype=pl.Categorical)}),
    "polars enum": lambda: pl.DataFrame({"c": pl.Series(STRINGS, dtype=pl.Enum(["é", "", "z", "b", "a"]))}),
    "arrow": lambda: pa.table({"c": STRINGS}),
    "arrow dictionary": lambda: pa.table({"c": pa.array(STRINGS).dictionary_encode()}),
    "arrow chunks": lambda: pa.table({"c": pa.chunked_array([pa.array(STRINGS[:3]), pa.array(STRINGS[3:])])}),
    "arrow dictionary chunks": lambda: pa.table(
        {"c": pa.chunked_array([pa.array(part).dictionary_encode() for part in (STRINGS[:3], STRINGS[3:])])}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_equal_strings_have_equal_codes_in_every_kind_of_table(form):
    table = read_table(FORMS[form]())
    assert table.string_columns == (0,)
    column = table.categorical_column(0)
    vocabulary = Vocabulary.of(column.observed)
    assert vocabulary.categories == ("", "a", "b", "é")
    assert vocabulary.encode(column).tolist() == [3, 0, 2, 4, 3, 1, 2]


NUMBERS = {
    "integers": lambda: np.array([[3], [-1], [3]]),
    "floats": lambda: np.array([[3.0], [-1.0], [3.0]]),
    "objects": lambda: np.array([[3], [-1.0], [decimal.Decimal(3)]], dtype=object),
    "pandas": lambda: pd.DataFrame({"c": [3, -1, 3]}),
    "polars": lambda: pl.DataFrame({"c": [3, -1, 3]}),
    "arrow": lambda: pa.table({"c": pa.array([3, -1, 3], pa.int8())}),
    "texts": lambda: [["3"], ["-1"], ["3"]],
}


@pytest.mark.parametrize("form", NUMBERS)
def test_integers_are_categories_by_their_digits(form):
    column = read_table(NUMBERS[form]()).categorical_column(0)
    assert [column.categories[k] for k in column.codes] == ["3", "-1", "3"]


HUGE = 2**62 + 1
WITH_NULLS = {
    "pandas": lambda: pd.DataFrame({"c": pd.array([HUGE, None], dtype="Int64")}),
    "polars": lambda: pl.DataFrame({"c": [HUGE, None]}),
    "arrow": lambda: pa.table({"c": [HUGE, None]}),
}


@pytest.mark.parametrize("form", WITH_NULLS)
def test_large_integers_beside_nulls_stay_exact(form):
    column = read_table(WITH_NULLS[form]()).categorical_column(0)
    assert (column.categories[column.codes[0]], column.codes[1]) == (str(HUGE), -1)


def test_booleans_are_not_the_integers_they_equal():
    column = factorize_array(np.array([True, 1, 0, False, 1.0], dtype=object), "column 0")
    assert [column.categories[k] for k in column.codes] == ["True", "1", "0", "False", "1"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_booleans_may_be_named_a_category(frame):
    column = read_table(frame({"c": [True, False, None]})).categorical_column(0)
    assert [None if k < 0 else column.categories[k] for k in column.codes] == ["True", "False", None]


NOTHING = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), decimal.Decimal("nan")]


@pytest.mark.parametrize("missing", NOTHING)
def test_whatever_stands_for_no_value_is_missing(missing):
    assert category_name(missing, "column 0") is None


def test_masked_entries_are_missing():
    X = np.ma.array([["a"], ["b"]], dtype=object, mask=[[False], [True]])
    column = read_table(X).categorical_column(0)
    assert column.observed == ["a"]
    assert column.codes[1] == -1


def test_a_string_beneath_a_mask_makes_no_category():
    X = np.ma.array([[1, "a"], [2, 3]], dtype=object, mask=[[False, True], [False, False]])
    assert read_table(X).string_columns == ()


def test_unknown_categories_share_the_last_code():
    vocabulary = Vocabulary(("a", "b"))
    column = factorize_array(np.array(["b", "new", None, "other"], dtype=object), "column 0")
    assert vocabulary.encode(column).tolist() == [2, 3, 0, 3]
    assert [vocabulary.code_of(value, "c") for value in ("b", "new", None)] == [2, 3, 0]


def test_a_vocabulary_goes_on_from_a_known_one():
    column = factorize_array(np.array(["z", "a", "c", "b"], dtype=object), "column 0")
    assert Vocabulary.of(column.observed, Vocabulary(("b", "z"))).categories == ("b", "z", "a", "c")


REFUSED = [
    (np.array([[1.0], [2.5]]), InputError, "column 0 holds 2.5 in row 1, which is not an integer"),
    (np.array([[np.inf]]), InputError, "column 0 holds inf in row 0"),
    (np.array([["a"], [2.5]], dtype=object), InputError, "column 0 holds 2.5, which is not an integer"),
    (np.array([["a"], [b"b"]], dtype=object), InputTypeError, "column 0 holds b'b', and bytes are neither numbers nor"),
    (np.array([["a"], [{}]], dtype=object), InputTypeError, "column 0 holds {}"),
    (np.array([["2020-01-01"]], dtype="M8[D]"), InputTypeError, r"column 0 is of type datetime64\[D\]"),
    (pd.DataFrame({"c": [0.5]}), InputError, "column 'c' holds 0.5 in row 0"),
]


@pytest.mark.parametrize(("X", "error", "message"), REFUSED)
def test_what_cannot_be_a_category_is_refused_by_name(X, error, message):
    with pytest.raises(error, match=message):
        read_table(X).categorical_column(0)
