"""Tiles: the bins of a row in as many columns as fit 8, 16 or 32 bytes, stored row by row."""

from __future__ import annotations

import numpy as np

TILE_BYTES = (8, 16, 32)  # bytes of a row in a tile; these divide a cache line, so that no row lies across two
CACHE_LINE = 64


def tile_width(n_columns: int, dtype: np.dtype) -> int:
    """How many columns of bins a tile holds: all of them if that is possible, and few to spare."""
    needed = n_columns * dtype.itemsize
    return min((size for size in TILE_BYTES if size >= needed), default=TILE_BYTES[-1]) // dtype.itemsize


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros that start at a cache line, so that a row of a tile never lies across two."""
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    buffer = np.zeros(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + n_bytes].view(dtype).reshape(shape)
