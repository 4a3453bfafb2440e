"""Levels are known by their texts, wherever they come from."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sapwood.data.categories.plan import find_categorical_columns
from sapwood.data.categories.vocabulary import Vocabulary, category_name, factorize_array
from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, InputTypeError, ParameterError

TEXTS = ["b", None, "a", "é", "b", "", "a"]
FORMS = {
    "object array": lambda: np.array(TEXTS, dtype=object)[:, None],
    "list": lambda: [[text] for text in TEXTS],
    "pandas": lambda: pd.DataFrame({"c": TEXTS}),
    "pandas object": lambda: pd.DataFrame({"c": np.array(TEXTS, dtype=object)}, dtype=object),
    "pandas category": lambda: pd.DataFrame({"c": pd.Categorical(TEXTS)}),
    "pandas string": lambda: pd.DataFrame({"c": pd.array(TEXTS, dtype="string")}),
    "polars": lambda: pl.DataFrame({"c": TEXTS}),
    "polars categorical": lambda: pl.DataFrame({"c": pl.Series(TEXTS, dtype=pl.Categorical)}),
    "polars enum": lambda: pl.DataFrame({"c": pl.Series(TEXTS, dtype=pl.Enum(["é", "", "z", "b", "a"]))}),
    "arrow": lambda: pa.table({"c": TEXTS}),
    "arrow dictionary": lambda: pa.table({"c": pa.array(TEXTS).dictionary_encode()}),
    "arrow chunks": lambda: pa.table({"c": pa.chunked_array([pa.array(TEXTS[:3]), pa.array(TEXTS[3:])])}),
    "arrow dictionary chunks": lambda: pa.table(
        {"c": pa.chunked_array([pa.array(part).dictionary_encode() for part in (TEXTS[:3], TEXTS[3:])])}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_equal_texts_have_equal_codes_in_every_kind_of_table(form):
    table = read_table(FORMS[form]())
    assert table.string_columns == (0,)
    levels = table.categorical_column(0)
    vocabulary = Vocabulary.of(levels)
    assert vocabulary.categories == ("", "a", "b", "é")
    assert vocabulary.encode(levels).tolist() == [3, 0, 2, 4, 3, 1, 2]


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
def test_whole_numbers_are_levels_by_their_digits(form):
    levels = read_table(NUMBERS[form]()).categorical_column(0)
    assert [levels.categories[k] for k in levels.codes] == ["3", "-1", "3"]


HUGE = 2**62 + 1
WITH_NULLS = {
    "pandas": lambda: pd.DataFrame({"c": pd.array([HUGE, None], dtype="Int64")}),
    "polars": lambda: pl.DataFrame({"c": [HUGE, None]}),
    "arrow": lambda: pa.table({"c": [HUGE, None]}),
}


@pytest.mark.parametrize("form", WITH_NULLS)
def test_large_integers_beside_nulls_stay_exact(form):
    levels = read_table(WITH_NULLS[form]()).categorical_column(0)
    assert (levels.categories[levels.codes[0]], levels.codes[1]) == (str(HUGE), -1)


def test_truth_values_are_not_the_integers_they_equal():
    levels = factorize_array(np.array([True, 1, 0, False, 1.0], dtype=object), "column 0")
    assert [levels.categories[k] for k in levels.codes] == ["True", "1", "0", "False", "1"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_truth_values_may_be_named_a_category(frame):
    levels = read_table(frame({"c": [True, False, None]})).categorical_column(0)
    assert [None if k < 0 else levels.categories[k] for k in levels.codes] == ["True", "False", None]


NOTHING = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), decimal.Decimal("nan")]


@pytest.mark.parametrize("missing", NOTHING)
def test_whatever_stands_for_no_value_is_missing(missing):
    assert category_name(missing, "column 0") is None


def test_masked_entries_are_missing():
    X = np.ma.array([["a"], ["b"]], dtype=object, mask=[[False], [True]])
    levels = read_table(X).categorical_column(0)
    assert levels.observed == ["a"]
    assert levels.codes[1] == -1


def test_a_text_beneath_a_mask_makes_no_category():
    X = np.ma.array([[1, "a"], [2, 3]], dtype=object, mask=[[False, True], [False, False]])
    assert read_table(X).string_columns == ()


def test_unknown_levels_share_the_last_code():
    vocabulary = Vocabulary(("a", "b"))
    levels = factorize_array(np.array(["b", "new", None, "other"], dtype=object), "column 0")
    assert vocabulary.encode(levels).tolist() == [2, 3, 0, 3]
    assert [vocabulary.code_of(value, "c") for value in ("b", "new", None)] == [2, 3, 0]


def test_a_vocabulary_goes_on_from_a_known_one():
    levels = factorize_array(np.array(["z", "a", "c", "b"], dtype=object), "column 0")
    assert Vocabulary.of(levels, Vocabulary(("b", "z"))).categories == ("b", "z", "a", "c")


REFUSED = [
    (np.array([[1.0], [2.5]]), InputError, "column 0 holds 2.5 in row 1, which is not an integer"),
    (np.array([[np.inf]]), InputError, "column 0 holds inf in row 0"),
    (np.array([["a"], [2.5]], dtype=object), InputError, "column 0 holds 2.5, which is not an integer"),
    (np.array([["a"], [b"b"]], dtype=object), InputTypeError, "column 0 holds b'b' of type bytes"),
    (np.array([["a"], [{}]], dtype=object), InputTypeError, "column 0 holds {}"),
    (np.array([["2020-01-01"]], dtype="M8[D]"), InputTypeError, r"column 0 is of type datetime64\[D\]"),
    (pd.DataFrame({"c": [0.5]}), InputError, "column 'c' holds 0.5 in row 0"),
]


@pytest.mark.parametrize(("X", "error", "message"), REFUSED)
def test_what_cannot_be_a_level_is_refused_by_name(X, error, message):
    with pytest.raises(error, match=message):
        read_table(X).categorical_column(0)


FRAME = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [True, False]})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("auto", (0,)),
        (None, ()),
        (["b"], (1,)),
        ([2, "a"], (0, 2)),
        ([True, False, True], (0, 2)),
        (np.array([1]), (1,)),
    ],
)
def test_categories_are_found_by_type_name_number_or_truth(spec, expected):
    assert find_categorical_columns(spec, read_table(FRAME)) == expected


@pytest.mark.parametrize(("spec", "message"), [(["d"], "no column 'd'"), ([3], "3 is neither"), ([True], "1 booleans")])
def test_a_category_that_is_not_there_is_refused(spec, message):
    with pytest.raises(ParameterError, match=message):
        find_categorical_columns(spec, read_table(FRAME))
