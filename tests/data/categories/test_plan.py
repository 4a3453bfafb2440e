"""Which columns are categorical."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood.data.categories.plan import find_categorical_columns
from sapwood.data.tables.table import read_table
from sapwood.errors import ParameterError

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
