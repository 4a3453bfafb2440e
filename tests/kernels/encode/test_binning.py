"""Assigning values to bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.data.binning.bin_edges import pad_edges
from sapwood.kernels.encode import binning
from tests.kernels.encode.test_bin_edges import ODD, ODD32, run_members


def slow_bin(x, edges):
    return 0 if np.isnan(x) else 1 + sum(float(edge) < float(x) for edge in edges)


def encode(X, edges, dtype=np.uint8, members=1, with_columns=True):
    """Assign a C-order matrix to bins in buffers full of garbage."""
    n, p = X.shape
    width = 32 // np.dtype(dtype).itemsize
    tiles = np.full((-(-p // width), n, width), 77, dtype)
    columns = np.full((p if with_columns else 0, n), 77, dtype)
    padded, starts = pad_edges(tuple(edges), X.dtype)
    values = X.reshape(-1)
    run_members(members, binning.assign_bins, values, p, 1, 0, n, 0, p, padded, starts, tiles, columns)
    return tiles, columns


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 7, 8, 254])
def test_every_value_gets_the_bin_of_the_definition(dtype, kind, n_edges):
    rng = np.random.default_rng(n_edges)
    edges = [np.unique(rng.normal(size=n_edges)) for _ in range(3)]
    X = rng.normal(size=(61, 3)).astype(kind)
    X[:10, 0] = (ODD32 if kind is np.float32 else ODD)[:10]
    if n_edges:
        X[20:30, 1] = edges[1][0]  # equal to an edge, or next to it in float32
    tiles, columns = encode(X, edges, dtype)
    expected = [[slow_bin(x, edges[f]) for x in X[:, f]] for f in range(3)]
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(tiles[0, :, :3].T, expected)


def test_columns_of_a_tile_that_hold_no_feature_are_not_written():
    tiles, _ = encode(np.zeros((9, 3)), [np.array([0.5])] * 3)
    assert (tiles[0, :, 3:] == 77).all()


def test_without_columns_only_tiles_are_written():
    X = np.random.default_rng(0).normal(size=(50, 2))
    edges = [np.array([-0.5, 0.5])] * 2
    tiles, columns = encode(X, edges, with_columns=False)
    assert columns.shape == (0, 50)
    np.testing.assert_array_equal(tiles, encode(X, edges)[0])


@pytest.mark.parametrize("members", [2, 3, 7, 100])
def test_bins_do_not_depend_on_the_number_of_members(members):
    X = np.random.default_rng(0).normal(size=(1001, 2))
    edges = [np.sort(np.random.default_rng(1).normal(size=100))] * 2
    for one, many in zip(encode(X, edges), encode(X, edges, members=members), strict=True):
        np.testing.assert_array_equal(one, many)


def test_a_block_lands_at_its_rows_and_features():
    X = np.random.default_rng(0).normal(size=(20, 5))
    edges = [np.array([f / 5 - 0.5, f / 5]) for f in range(5)]
    whole_tiles, whole_columns = encode(X, edges)
    tiles, columns = np.full_like(whole_tiles, 77), np.full_like(whole_columns, 77)
    padded, starts = pad_edges(tuple(edges), X.dtype)
    block = np.asfortranarray(X[4:11, 2:4])  # one column after the other
    binning.assign_bins(block.T.reshape(-1), 1, 7, 4, 7, 2, 2, padded, starts, tiles, columns)
    np.testing.assert_array_equal(columns[2:4, 4:11], whole_columns[2:4, 4:11])
    np.testing.assert_array_equal(tiles[0, 4:11, 2:4], whole_tiles[0, 4:11, 2:4])
    columns[2:4, 4:11] = tiles[0, 4:11, 2:4] = 77
    assert (columns == 77).all()
    assert (tiles == 77).all()


@given(st.lists(st.floats(width=32), min_size=1, max_size=20), st.lists(st.floats(allow_nan=False), max_size=20))
def test_float32_values_compare_with_edges_as_float64(values, edges):
    edges = np.unique(np.array([e for e in edges if e != np.inf], dtype=np.float64) + 0.0)
    X = np.array(values, dtype=np.float32)[:, None]
    _, columns = encode(X, [edges])
    assert columns[0].tolist() == [slow_bin(x, edges) for x in X[:, 0]]
