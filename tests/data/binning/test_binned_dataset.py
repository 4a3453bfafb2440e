"""A table in bins."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table


def slow_bins(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bins of a column, by the definition."""
    bins = [0 if np.isnan(x) else 1 + sum(edge < x for edge in edges) for x in values.astype(np.float64)]
    return np.array(bins)


@pytest.fixture
def X() -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(500, 35))
    X[::7, 1] = np.nan
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = 1.0
    X[:, 4] = np.nan
    return X


@pytest.mark.parametrize("max_bins", [2, 16, 255, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_are_those_of_the_definition_in_tiles_and_columns(X, max_bins, dtype):
    dataset = BinnedDataset.build(read_table(X.astype(dtype)), max_bins=max_bins)
    width = dataset.tiles.shape[2]
    assert width == (32 if max_bins <= 255 else 16)
    for f in range(X.shape[1]):
        expected = slow_bins(X[:, f].astype(dtype), dataset.bin_mapper.edges[f])
        np.testing.assert_array_equal(dataset.columns[f], expected)
        np.testing.assert_array_equal(dataset.tiles[f // width, :, f % width], expected)
        assert dataset.columns[f].max() <= dataset.n_bins[f] <= max_bins


def test_padding_of_the_last_tile_is_zero(X):
    tiles = BinnedDataset.build(read_table(X)).tiles
    assert tiles.shape == (2, 500, 32)
    assert not tiles[1, :, 3:].any()


def test_tiles_start_at_a_cache_line(X):
    assert BinnedDataset.build(read_table(X)).tiles.ctypes.data % 64 == 0


def test_rows_of_zero_weight_are_left_out_and_influence_nothing(X):
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(np.float64)
    kept = np.flatnonzero(weight)
    whole = BinnedDataset.build(read_table(X), weight, max_bins=16)
    part = BinnedDataset.build(read_table(X[kept]), weight[kept], max_bins=16)
    np.testing.assert_array_equal(whole.row_ids, kept)
    np.testing.assert_array_equal(whole.tiles, part.tiles)
    np.testing.assert_array_equal(whole.columns, part.columns)


def test_taken_rows_keep_their_bins_and_numbers(X):
    dataset = BinnedDataset.build(read_table(X))
    rows = np.array([5, 3, 499])
    taken = dataset.take(rows)
    np.testing.assert_array_equal(taken.tiles, dataset.tiles[:, rows])
    np.testing.assert_array_equal(taken.columns, dataset.columns[:, rows])
    np.testing.assert_array_equal(taken.row_ids, rows)
    assert taken.n_rows == 3
    assert taken.nbytes == taken.tiles.nbytes + taken.columns.nbytes + taken.kept_row_ids.nbytes
