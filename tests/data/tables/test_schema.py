"""The columns of training, found again at prediction."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import read_table
from sapwood.errors import ModelFileError, SchemaError


def values(table) -> list:
    return np.concatenate([matrix for _, matrix in table.contiguous_blocks()]).tolist()


FRAME = pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]})
NAMED = Schema.of(read_table(FRAME))
UNNAMED = Schema.of(read_table(FRAME.to_numpy()))


def test_reordered_columns_are_found_by_name():
    assert values(NAMED.align(read_table(FRAME[["c", "a", "b"]]))) == [[1.0, 2.0, 3.0]]


def test_an_array_is_taken_by_position_after_a_frame():
    assert values(NAMED.align(read_table([[3.0, 1.0, 2.0]]))) == [[3.0, 1.0, 2.0]]


def test_a_frame_is_taken_by_position_after_an_array():
    assert values(UNNAMED.align(read_table(FRAME[["c", "a", "b"]]))) == [[3.0, 1.0, 2.0]]


def test_missing_and_unexpected_names_are_listed():
    frame = FRAME.rename(columns={"b": "x", "c": "y"})
    expected = (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n- x\n- y\n"
        "Feature names seen at fit time, yet now missing:\n- b\n- c\n"
        "Pass a table with the columns of training, in any order."
    )
    with pytest.raises(SchemaError) as caught:
        NAMED.align(read_table(frame))
    assert str(caught.value) == expected


def test_an_extra_column_is_an_error():
    with pytest.raises(SchemaError, match=r"unseen at fit time:\n- z\nPass a table"):
        NAMED.align(read_table(FRAME.assign(z=1.0)))


def test_long_lists_of_names_are_truncated():
    frame = pd.DataFrame(np.zeros((1, 9)))
    with pytest.raises(SchemaError, match=r"- 4\n- \.\.\.\n"):
        NAMED.align(read_table(frame))


@pytest.mark.parametrize("schema", [NAMED, UNNAMED])
def test_a_wrong_number_of_columns_is_told_with_who_expects_what(schema):
    with pytest.raises(SchemaError, match="X has 2 features, but this model is expecting 3 features as input"):
        schema.align(read_table(np.zeros((1, 2))))
    with pytest.raises(SchemaError, match="X has 4 features, but Someone is expecting 3 features as input"):
        schema.align(read_table(np.zeros((1, 4))), owner="Someone")


@pytest.mark.parametrize("schema", [NAMED, UNNAMED])
def test_a_schema_survives_json(schema):
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_schema_with_kinds_of_another_version_is_refused():
    with pytest.raises(ModelFileError, match="columns of kind odour"):
        Schema.from_dict({"n_features": 1, "names": None, "kinds": ["odour"]})


def test_columns_without_names_are_called_by_number():
    assert (NAMED.name_of(1), UNNAMED.name_of(1)) == ("b", "f1")
