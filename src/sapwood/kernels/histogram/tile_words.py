"""Add a value to one cell of each feature whose bins are in a word of a tile."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import FEATURE_STRIDE
from sapwood.native.runtime.kernel import kernel

BYTE_MASK = np.uint64(0xFF)


@kernel()
def add_four(word, value, cell, cells):
    """Add a value to one cell of each of four features, ``FEATURE_STRIDE`` apart from ``cell`` on.

    The bins of the features are the low bytes of ``word``.
    """
    cells[cell + (word & BYTE_MASK)] += value
    cells[cell + np.uint64(FEATURE_STRIDE) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    cells[cell + np.uint64(2 * FEATURE_STRIDE) + ((word >> np.uint64(16)) & BYTE_MASK)] += value
    cells[cell + np.uint64(3 * FEATURE_STRIDE) + ((word >> np.uint64(24)) & BYTE_MASK)] += value


@kernel()
def add_eight(word, value, cell, cells):
    """Add a value to one cell of each of eight features, ``FEATURE_STRIDE`` apart from ``cell`` on."""
    add_four(word, value, cell, cells)
    add_four(word >> np.uint64(32), value, cell + np.uint64(4 * FEATURE_STRIDE), cells)


@kernel()
def add_eight_at(word, value, offset, j, cells):
    """Add a value to one cell of each of feature j and the seven after it, whose bins are the bytes of a word."""
    cells[np.uint64(offset[j]) + (word & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(3)]) + ((word >> np.uint64(24)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(4)]) + ((word >> np.uint64(32)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(5)]) + ((word >> np.uint64(40)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(6)]) + ((word >> np.uint64(48)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(7)]) + (word >> np.uint64(56))] += value


@kernel()
def add_four_at(word, value, offset, j, cells):
    """Add a value to one cell of each of feature j and the three after it, whose bins are the low bytes of a word."""
    cells[np.uint64(offset[j]) + (word & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(3)]) + ((word >> np.uint64(24)) & BYTE_MASK)] += value


@kernel()
def add_few_at(word, value, offset, j, n, cells):
    """Add a value to one cell of each of one to three features from j on, whose bins are the low bytes of a word."""
    cells[np.uint64(offset[j]) + (word & BYTE_MASK)] += value
    if n > 1:
        cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    if n > 2:
        cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE_MASK)] += value


@kernel()
def add_one_by_one(tile_row, value, from_feature, to_feature, log2_bits, offset, cells):
    """Add a value to one cell of each of some features of a row; a bin takes 2^``log2_bits`` bits of a word."""
    log2_bins = np.uint64(6) - log2_bits
    mask = (np.uint64(1) << (np.uint64(1) << log2_bits)) - np.uint64(1)
    for j in range(from_feature, to_feature):
        word = tile_row[j >> log2_bins]
        shift = (j & ((np.uint64(1) << log2_bins) - np.uint64(1))) << log2_bits
        cells[np.uint64(offset[j]) + ((word >> shift) & mask)] += value
