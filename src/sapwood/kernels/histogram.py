"""Sum gradient pairs into histograms, one cell per plane, feature and bin.

Tiles come as words of 64 bits, each of which holds the bins of eight features, or of four with more than 255 bins.
Loop counters are unsigned: an index that may be negative costs a test at every access.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import STRIDE
from sapwood.native.intrinsics import prefetch
from sapwood.native.kernel import kernel

# Rows ahead of the one being added; hides the time a row takes to come from memory.
AHEAD = np.uint64(24)
BYTE = np.uint64(0xFF)


@kernel()
def clear(cells, start, stop):
    """Set a range of cells to zero."""
    for j in range(np.uint64(start), np.uint64(stop)):
        cells[j] = 0


@kernel()
def is_regular(offset, from_word, to_word):
    """Tell whether the cells of all features in some words of eight lie ``STRIDE`` apart."""
    for j in range(8 * from_word, 8 * to_word - 1):
        if offset[j + 1] - offset[j] != STRIDE:
            return False
    return True


@kernel()
def add_regular(word, value, at, cells):
    """Add a value to one cell of each of eight features, ``STRIDE`` apart from ``at`` on; their bins are in a word."""
    cells[at + (word & BYTE)] += value
    cells[at + np.uint64(STRIDE) + ((word >> np.uint64(8)) & BYTE)] += value
    cells[at + np.uint64(2 * STRIDE) + ((word >> np.uint64(16)) & BYTE)] += value
    cells[at + np.uint64(3 * STRIDE) + ((word >> np.uint64(24)) & BYTE)] += value
    cells[at + np.uint64(4 * STRIDE) + ((word >> np.uint64(32)) & BYTE)] += value
    cells[at + np.uint64(5 * STRIDE) + ((word >> np.uint64(40)) & BYTE)] += value
    cells[at + np.uint64(6 * STRIDE) + ((word >> np.uint64(48)) & BYTE)] += value
    cells[at + np.uint64(7 * STRIDE) + (word >> np.uint64(56))] += value


@kernel()
def add_irregular(word, value, offset, j, cells):
    """The same where the cells of feature j and the seven after it begin anywhere."""
    cells[np.uint64(offset[j]) + (word & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(3)]) + ((word >> np.uint64(24)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(4)]) + ((word >> np.uint64(32)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(5)]) + ((word >> np.uint64(40)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(6)]) + ((word >> np.uint64(48)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(7)]) + (word >> np.uint64(56))] += value


@kernel()
def add_half(word, value, offset, j, cells):
    """The same for feature j and the three after it, whose bins are the lower half of a word."""
    cells[np.uint64(offset[j]) + (word & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE)] += value
    cells[np.uint64(offset[j + np.uint64(3)]) + ((word >> np.uint64(24)) & BYTE)] += value


@kernel()
def add_lanes(row, value, begin, end, bits, offset, cells):
    """The same for some features of a row one by one; a bin takes 2^bits bits of a word."""
    lane_bits = np.uint64(6) - bits
    mask = (np.uint64(1) << (np.uint64(1) << bits)) - np.uint64(1)
    for j in range(begin, end):
        word = row[j >> lane_bits]
        shift = (j & ((np.uint64(1) << lane_bits) - np.uint64(1))) << bits
        cells[np.uint64(offset[j]) + ((word >> shift) & mask)] += value


@kernel(apart=True)
def add_rows(tile, order, values, first, last, begin, end, bits, offset, cells):
    """Add the values at positions ``first`` to ``last`` to the cells of features ``begin`` to ``end`` of a tile.

    A row of a tile is 32 bytes: half a cache line is read per row, and its cells lie in different features, so that no
    addition waits for the one before. Bytes are taken eight at a time.
    """
    head = begin
    tail = begin
    if bits == 3 and end // 8 > (begin + 7) // 8:
        head = 8 * ((begin + 7) // 8)
        tail = 8 * (end // 8)
    rest = tail
    if bits == 3 and tail % 8 == 0 and end - tail >= 4:
        rest = tail + 4
    from_word = np.uint64(head // 8)
    to_word = np.uint64(tail // 8)
    regular = is_regular(offset, head // 8, tail // 8)
    start = np.uint64(offset[head])
    stop = np.uint64(last)
    n_bits = np.uint64(bits)
    for k in range(np.uint64(first), stop):
        if k + AHEAD < stop:
            prefetch(tile, order[k + AHEAD])
        row = tile[order[k]]
        value = values[k]
        if begin < head:
            add_lanes(row, value, np.uint64(begin), np.uint64(head), n_bits, offset, cells)
        if regular:
            at = start
            for w in range(from_word, to_word):
                add_regular(row[w], value, at, cells)
                at += np.uint64(8 * STRIDE)
        else:
            for w in range(from_word, to_word):
                add_irregular(row[w], value, offset, w << np.uint64(3), cells)
        if tail < rest:
            add_half(row[to_word], value, offset, np.uint64(tail), cells)
        if rest < end:
            add_lanes(row, value, np.uint64(rest), np.uint64(end), n_bits, offset, cells)


@kernel()
def add_planes(tiles, order, pairs, first, last, from_feature, to_feature, bits, start, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to a histogram."""
    n_cells = start[start.shape[0] - 1]
    width = np.int64(256) >> bits
    for p in range(pairs.shape[0]):
        plane = out[p * n_cells : (p + 1) * n_cells]
        for t in range(from_feature // width, (to_feature + width - 1) // width):
            begin = max(from_feature - t * width, 0)
            end = min(to_feature - t * width, width)
            add_rows(tiles[t], order, pairs[p], first, last, begin, end, bits, start[t * width :], plane)


@kernel()
def merge(work, parts, out, from_feature, to_feature, start, n_planes):
    """Add the members' parts into ``out``, for some features."""
    n_cells = start[start.shape[0] - 1]
    for p in range(n_planes):
        begin = np.uint64(p * n_cells + start[from_feature])
        end = np.uint64(p * n_cells + start[to_feature])
        first = work[0]
        for j in range(begin, end):
            out[j] = first[j]
        for t in range(1, parts):
            part = work[t]
            for j in range(begin, end):
                out[j] += part[j]


@kernel()
def subtract(small, large, from_feature, to_feature, start, n_planes):
    """Leave parent − small in ``large``, which holds the parent, for some features."""
    n_cells = start[start.shape[0] - 1]
    for p in range(n_planes):
        for j in range(np.uint64(p * n_cells + start[from_feature]), np.uint64(p * n_cells + start[to_feature])):
            large[j] -= small[j]
