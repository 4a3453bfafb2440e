from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.predict import binned_rows
from tests.guarded import Guards
from tests.kernels.histogram.test_sparse_bins import N, Table
from tests.model.forests import random_ensemble


def binned_tree(rng, n_features, n_bins, width):
    ensemble = random_ensemble(rng, 1, n_features, n_outputs=width, width=width, leaves=(1, 20))
    bins = rng.integers(1, n_bins, ensemble.n_nodes).astype(np.int32)
    return ensemble[0], bins


def slow_leaf_of_bins(tree, bins, row):
    node = 0
    while tree.feature[node] >= 0:
        b = int(row[tree.feature[node]])
        goes_left = bool(tree.missing_left[node]) if b == 0 else b <= bins[node]
        node = int(tree.left[node]) + (not goes_left)
    return node


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize(("dtype", "tile_width"), [(np.uint8, 32), (np.uint16, 16)])
def test_binned_scores_equal_those_of_a_walk_row_by_row(dtype, tile_width, width, members):
    rng = np.random.default_rng(10)
    n, n_features, n_bins = 203, 40, 5
    tree, bins = binned_tree(rng, n_features, n_bins, width)
    rows = rng.integers(0, n_bins + 1, (n, n_features))
    tiles = np.zeros((-(-n_features // tile_width), n, tile_width), dtype=dtype)
    for f in range(n_features):
        tiles[f // tile_width, :, f % tile_width] = rows[:, f]
    out = np.full((width + 1, n), 0.5)
    expected = out.copy()
    first = 1 if width == 1 else 0
    for i in range(11, 190):
        expected[first : first + width, i] += tree.value[slow_leaf_of_bins(tree, bins, rows[i])]
    bound = binned_rows.add_scores_binned.bind(
        np.zeros(64, np.int64), tiles, tree.feature, bins, tree.missing_left, tree.left, tree.value, first, out, 11, 190
    )
    for member in range(members):
        bound(member, members)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("seed", range(6))
def test_rows_of_sparse_features_are_predicted_like_rows_in_full(seed, dtype):
    """Three splits, the first on the column in tiles, missing values left at one and right at the others."""
    table = Table(seed)
    tiles = np.zeros((1, N, 32 // np.dtype(dtype).itemsize), dtype=dtype)
    tiles[0, :, 0] = table.bins[0]
    feature = np.array([0, 2, 4, -1, -1, -1, -1], dtype=np.int32)
    bins = np.array([1, int(table.default_bin[2]), int(table.default_bin[4]), 0, 0, 0, 0], dtype=np.int32)
    missing_left = np.array([1, 0, 0, 0, 0, 0, 0], dtype=np.uint8)
    left = np.array([1, 3, 5, 0, 0, 0, 0], dtype=np.int32)
    value = np.arange(7.0)[:, None]
    guards = Guards()
    out = guards.copy(np.ones((2, N)))
    binned_rows.add_scores_sparse(
        tiles,
        table.sparse.table,
        table.sparse.start,
        table.sparse.entries,
        feature,
        bins,
        missing_left,
        left,
        value,
        1,
        out,
    )
    guards.check()
    for row in range(N):
        node = 0
        while feature[node] >= 0:
            b = table.bins[feature[node], row]
            goes_left = b <= bins[node] if b > 0 else bool(missing_left[node])
            node = left[node] + (0 if goes_left else 1)
        assert out[:, row].tolist() == [1.0, 1.0 + node]


def test_rows_find_their_leaves_by_sets_and_by_bins():
    tiles = np.zeros((1, 6, 32), dtype=np.uint8)
    tiles[0, :, 0] = [0, 1, 2, 70, 200, 255]
    tiles[0, :, 1] = [3, 0, 5, 3, 4, 9]
    feature = np.array([0, 1, -1, -1, -1], dtype=np.int32)
    bins = np.array([layout.BITSET_SPLIT, 3, 0, 0, 0], dtype=np.int32)
    left = np.array([1, 3, 0, 0, 0], dtype=np.int32)
    sets = np.zeros((5, layout.BITSET_WORDS), dtype=np.int64)
    for b in (0, 1, 70, 255):
        sets[0].view(np.uint64)[b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    out = np.full(6, 77, dtype=np.int32)
    binned_rows.find_binned_leaves(tiles, feature, bins, np.array([0, 0, 0, 0, 0], dtype=np.uint8), left, sets, out)
    assert out.tolist() == [3, 4, 2, 3, 2, 4]
