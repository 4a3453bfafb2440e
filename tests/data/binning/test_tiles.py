"""Width and alignment of tiles."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.binning.tiles import CACHE_LINE, aligned_zeros, tile_width


@pytest.mark.parametrize(
    ("n_columns", "dtype", "width"),
    [
        (1, np.uint8, 8),
        (8, np.uint8, 8),
        (9, np.uint8, 16),
        (17, np.uint8, 32),
        (33, np.uint8, 32),
        (4, np.uint16, 4),
        (5, np.uint16, 8),
        (9, np.uint16, 16),
        (100, np.uint16, 16),
    ],
)
def test_tiles_are_as_narrow_as_their_columns_allow(n_columns, dtype, width):
    assert tile_width(n_columns, np.dtype(dtype)) == width


@pytest.mark.parametrize("shape", [(2, 5, 8), (1, 3, 32), (3, 1, 16)])
def test_tiles_start_at_a_cache_line(shape):
    for _ in range(5):
        tiles = aligned_zeros(shape, np.dtype(np.uint16))
        assert tiles.shape == shape and not tiles.any()
        assert tiles.ctypes.data % CACHE_LINE == 0
