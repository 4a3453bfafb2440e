"""Tiles: the bins of up to 8, 16 or 32 bytes of each row, row by row, so that a row lies in one cache line."""

from __future__ import annotations

import numpy as np

TILE_BYTES = (8, 16, 32)  # bytes of a row in a tile; they divide a cache line, so that no row lies across two
CACHE_LINE = 64


def tile_width(n_columns: int, dtype: np.dtype) -> int:
    """Return the number of columns of bins in a tile: the smallest size that holds all of them, else the largest."""
    needed = n_columns * dtype.itemsize
    return min((size for size in TILE_BYTES if size >= needed), default=TILE_BYTES[-1]) // dtype.itemsize


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return zeros that start at a cache line, so that no row of a tile lies across two."""
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    buffer = np.zeros(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + n_bytes].view(dtype).reshape(shape)
