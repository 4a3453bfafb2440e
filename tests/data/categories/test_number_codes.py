"""Numbers as levels between cuts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood.data.categories.number_codes import codes_of_columns, codes_of_numbers
from sapwood.data.tables.table import read_table

CUTS = np.array([-1.0, 0.5, 3.0])


def code_by_hand(value: float) -> int:
    return 0 if value != value else 1 + sum(cut < value for cut in CUTS)


def test_a_level_is_one_more_than_the_cuts_below_and_missing_is_none():
    values = np.array([-np.inf, -1.0, np.nextafter(-1.0, 0.0), 0.5, 2.0, 3.0, 3.1, np.inf, np.nan, -0.0])
    codes = codes_of_numbers(values, CUTS)
    assert codes.tolist() == [code_by_hand(value) for value in values]
    assert codes.dtype == np.int32


@pytest.mark.parametrize("n_rows", [1, 70_000])
def test_columns_are_read_chunk_by_chunk(n_rows):
    values = np.linspace(-2.0, 4.0, n_rows)
    frame = pd.DataFrame({"a": values, "b": ["x"] * n_rows, "c": pd.array(np.arange(n_rows) % 5, dtype="Int64")})
    codes = codes_of_columns(read_table(frame), {0: CUTS, 2: CUTS})
    np.testing.assert_array_equal(codes[0], codes_of_numbers(values, CUTS))
    np.testing.assert_array_equal(codes[2], codes_of_numbers((np.arange(n_rows) % 5).astype(float), CUTS))


def test_without_cuts_nothing_is_read():
    assert codes_of_columns(read_table(np.zeros((2, 1))), {}) == {}
