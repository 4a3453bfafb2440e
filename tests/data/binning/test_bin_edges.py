"""Edges from a sample of weighted rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.binning import bin_edges
from sapwood.data.binning.bin_edges import find_edges, fixed_point_weights, midpoints, pad_edges, sample_rows
from sapwood.data.tables.table import read_table


def edges_of(X, weight=None, max_bins=255, seed=0, row_ids=None):
    row_ids = np.arange(len(X), dtype=np.uint64) if row_ids is None else row_ids
    return find_edges(read_table(X), weight, max_bins, seed, row_ids)


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(bin_edges, "SAMPLE_ROWS", 100)


# --- the sample -------------------------------------------------------------------------------------------------------


def test_few_rows_are_all_looked_at(small_sample):
    np.testing.assert_array_equal(sample_rows(np.arange(100, dtype=np.uint64), 0), np.arange(100))


def test_the_sample_has_exactly_its_size_and_is_ascending(small_sample):
    rows = sample_rows(np.arange(1000, dtype=np.uint64), 0)
    assert len(rows) == 100
    assert (np.diff(rows) > 0).all()


def test_the_sample_depends_on_the_seed_and_on_original_row_numbers_alone(small_sample):
    ids = np.arange(1000, dtype=np.uint64)
    shuffled = np.random.default_rng(0).permutation(ids)
    expected = set(ids[sample_rows(ids, 3)])
    assert set(shuffled[sample_rows(shuffled, 3)]) == expected
    assert set(ids[sample_rows(ids, 4)]) != expected


def test_edges_do_not_depend_on_how_rows_are_arranged(small_sample):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    order = np.random.default_rng(1).permutation(1000)
    for a, b in zip(edges_of(X), edges_of(X[order], row_ids=order.astype(np.uint64)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_edges_are_those_of_the_sampled_rows(small_sample):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    rows = sample_rows(np.arange(1000, dtype=np.uint64), 7)
    weight = np.random.default_rng(1).random(1000) + 0.1
    for a, b in zip(edges_of(X, weight, 20, 7), edges_of(X[rows], weight[rows], 20), strict=True):
        np.testing.assert_array_equal(a, b)


def test_columns_gathered_in_groups_give_the_same_edges(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 7))
    expected = edges_of(X)
    monkeypatch.setattr(bin_edges, "GATHERED_VALUES", 100)
    for a, b in zip(edges_of(X), expected, strict=True):
        np.testing.assert_array_equal(a, b)


# --- weights ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(), st.integers(1, 9)), min_size=1, max_size=50), st.integers(2, 9))
def test_a_row_of_weight_k_is_the_same_as_k_rows(rows, max_bins):
    values = np.array([value for value, _ in rows])
    counts = np.array([count for _, count in rows])
    weighted = edges_of(values[:, None], counts.astype(np.float64), max_bins)
    copied = edges_of(np.repeat(values, counts)[:, None], None, max_bins)
    np.testing.assert_array_equal(weighted[0], copied[0])


@pytest.mark.parametrize("scale", [1e-300, 2.0**-1060, 1e-3, 0.3, 1e6, 1e300])
def test_the_scale_of_equal_weights_does_not_matter(scale):
    X = np.random.default_rng(0).normal(size=(500, 1))
    np.testing.assert_array_equal(edges_of(X, np.full(500, scale), 10)[0], edges_of(X, None, 10)[0])


@given(st.lists(st.integers(1, 2**20), min_size=1, max_size=30))
def test_whole_weights_are_kept_exactly(weights):
    units = fixed_point_weights(np.array(weights, dtype=np.float64))
    assert (units * weights[0] == units[0] * np.array(weights)).all()
    assert units.sum() <= 2**bin_edges.WEIGHT_BITS


def test_weights_pull_the_edges():
    X = np.arange(1000.0)[:, None]
    [edges] = edges_of(X, np.where(X[:, 0] < 100, 9.0, 1.0), 4)
    np.testing.assert_allclose(edges, [50, 100, 550], atol=1)


# --- edges ------------------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_the_middle_lies_between_its_neighbours(a, b):
    low, high = min(a, b), max(a, b)
    if low < high:
        [found] = midpoints(np.array([low]), np.array([high]))
        assert low <= found < high


def test_the_middle_of_plain_numbers_is_halfway():
    assert midpoints(np.array([1.0, -3.0]), np.array([2.0, 1.0])).tolist() == [1.5, -1.0]


@given(st.lists(st.floats(allow_nan=False, max_value=1.7e308), max_size=20))
def test_the_edge_table_holds_edges_then_infinity_up_to_a_power_of_two(edges):
    line = np.unique(np.array(edges, dtype=np.float64))
    padded, starts = pad_edges((line, line), np.dtype(np.float64))
    size = starts[1]
    assert size > len(line)
    assert size & (size - 1) == 0
    assert padded[size : size + len(line)].tolist() == line.tolist()
    assert (padded[len(line) : size] == np.inf).all()
