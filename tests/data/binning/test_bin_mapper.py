"""Bin mappers: fitted once, then applied to any table of the same columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.tables.table import read_table
from sapwood.errors import ParameterError, SchemaError
from sapwood.native.runtime.kernel import run_serial
from sapwood.native.threads.team import Team


@pytest.fixture
def X() -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(3000, 5))
    X[::7, 1] = np.nan
    return X


def test_other_rows_are_put_into_the_bins_of_the_fit(X):
    bin_mapper = BinMapper.fit(read_table(X), max_bins=20)
    _, columns = bin_mapper.encode(read_table(X))
    _, part = bin_mapper.encode(read_table(X[100:200]))
    np.testing.assert_array_equal(part, columns[:, 100:200])


def test_columns_are_found_by_name(X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    bin_mapper = BinMapper.fit(read_table(frame), max_bins=20)
    expected = bin_mapper.encode(read_table(frame))
    found = bin_mapper.encode(read_table(frame[list("ecabd")]))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_a_table_of_other_columns_is_refused(X):
    with pytest.raises(SchemaError, match="X has 4 features"):
        BinMapper.fit(read_table(X)).encode(read_table(X[:, :4]))


def test_columns_are_optional(X):
    bin_mapper = BinMapper.fit(read_table(X))
    tiles, columns = bin_mapper.encode(read_table(X), with_columns=False)
    assert columns.shape == (0, 3000)
    np.testing.assert_array_equal(tiles, bin_mapper.encode(read_table(X))[0])


@pytest.mark.parametrize(("max_bins", "dtype"), [(255, np.uint8), (256, np.uint16)])
def test_more_than_255_bins_take_two_bytes(X, max_bins, dtype):
    bin_mapper = BinMapper.fit(read_table(X), max_bins=max_bins)
    assert bin_mapper.dtype == dtype
    assert bin_mapper.n_bins.tolist() == [max_bins] * 5


def test_many_bins_that_no_column_needs_take_one_byte(X):
    assert BinMapper.fit(read_table(np.round(X)), max_bins=1000).dtype == np.uint8


@pytest.mark.parametrize("max_bins", [1, 0, -3, 65_536])
def test_a_number_of_bins_out_of_range_is_refused(X, max_bins):
    with pytest.raises(ParameterError, match="max_bins must be between 2 and 65535"):
        BinMapper.fit(read_table(X), max_bins=max_bins)


def test_all_distinct_values_have_a_bin_where_two_bytes_allow():
    X = np.random.default_rng(0).permutation(6_000).astype(np.float64)[:, None]
    bin_mapper = BinMapper.fit(read_table(X), max_bins=65_535)
    _, columns = bin_mapper.encode(read_table(X))
    np.testing.assert_array_equal(columns[0], X[:, 0] + 1)


@pytest.mark.parametrize("size", [2, 3])
def test_a_team_finds_the_same_edges_and_bins(X, size):
    alone = BinMapper.fit(read_table(X), max_bins=50)
    team = BinMapper.fit(read_table(X), max_bins=50, run=Team(size).run)
    for a, b in zip(alone.edges, team.edges, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(alone.encode(read_table(X)), team.encode(read_table(X), Team(size).run), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("max_bins", [20, 300])
@pytest.mark.parametrize("known", [[0], [1, 2], [0, 1, 2]])
def test_columns_whose_bins_are_known_are_not_read(max_bins, known):
    X = np.random.default_rng(2).normal(size=(5000, 3))
    mapper = BinMapper.fit(read_table(X), max_bins=max_bins)
    tiles, columns = mapper.encode(read_table(X))
    unread = X.copy()
    unread[:, known] = np.nan
    for team in (run_serial, Team(3).run):
        again = mapper.encode(read_table(unread), team, known={f: columns[f].copy() for f in known})
        np.testing.assert_array_equal(again[0], tiles)
        np.testing.assert_array_equal(again[1], columns)
