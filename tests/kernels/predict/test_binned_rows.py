from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels.predict import binned_rows as predict_bins
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
    bound = predict_bins.add_scores_binned.bind(
        np.zeros(64, np.int64), tiles, tree.feature, bins, tree.missing_left, tree.left, tree.value, first, out, 11, 190
    )
    for member in range(members):
        bound(member, members)
    np.testing.assert_array_equal(out, expected)
