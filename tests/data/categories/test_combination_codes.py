"""Codes of numbers between cuts, and keys of combined codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood.data.categories.combination_codes import (
    combination_keys,
    combine_columns,
    encode_number_columns,
    encode_numbers,
    find_keys,
)
from sapwood.data.tables.table import read_table
from sapwood.native.runtime.kernel import run_serial

CUTS = np.array([-1.0, 0.5, 3.0])


def code_by_hand(value: float) -> int:
    return 0 if value != value else 1 + sum(cut < value for cut in CUTS)


def test_a_category_is_one_more_than_the_cuts_below_and_missing_is_none():
    values = np.array([-np.inf, -1.0, np.nextafter(-1.0, 0.0), 0.5, 2.0, 3.0, 3.1, np.inf, np.nan, -0.0])
    codes = encode_numbers(values, CUTS)
    assert codes.tolist() == [code_by_hand(value) for value in values]
    assert codes.dtype == np.int32


@pytest.mark.parametrize("n_rows", [1, 70_000])
def test_columns_are_read_chunk_by_chunk(n_rows):
    values = np.linspace(-2.0, 4.0, n_rows)
    frame = pd.DataFrame({"a": values, "b": ["x"] * n_rows, "c": pd.array(np.arange(n_rows) % 5, dtype="Int64")})
    codes = encode_number_columns(read_table(frame), {0: CUTS, 2: CUTS})
    np.testing.assert_array_equal(codes[0], encode_numbers(values, CUTS))
    np.testing.assert_array_equal(codes[2], encode_numbers((np.arange(n_rows) % 5).astype(float), CUTS))


def test_without_cuts_nothing_is_read():
    assert encode_number_columns(read_table(np.zeros((2, 1))), {}) == {}


def test_different_codes_have_different_keys():
    source = np.random.default_rng(2)
    codes = [source.integers(0, 300, 50_000).astype(np.int32) for _ in range(3)]
    keys = combination_keys(codes)
    assert len(np.unique(keys)) == len(np.unique(np.array(codes), axis=1).T)
    assert not np.array_equal(keys, combination_keys(codes[::-1]))


def test_a_key_that_is_not_there_is_found_behind_the_last():
    keys = np.array([3, 5, 9], dtype=np.uint64)
    assert find_keys(keys, np.array([5, 4, 9, 10, 3], dtype=np.uint64)).tolist() == [1, 3, 2, 3, 0]
    assert find_keys(keys[:0], np.array([5], dtype=np.uint64)).tolist() == [0]


@pytest.mark.parametrize("sizes", [(4, 5), (3000, 4000), (2, 3, 4), (5, 4, 3, 2)])
def test_categories_are_numbered_as_they_appear_and_known_by_their_keys(sizes):
    random = np.random.default_rng(0)
    codes = {f: random.integers(0, size, 400).astype(np.int32) for f, size in enumerate(sizes)}
    every = tuple(codes)
    for sources, (places, keys) in zip(
        [every, every[:2]], combine_columns([every, every[:2]], codes, run_serial), strict=True
    ):
        rows = combination_keys([codes[f] for f in sources])
        assert np.array_equal(keys[places], rows)
        assert keys.tolist() == list(dict.fromkeys(rows.tolist()))
        assert places.dtype == np.int32
