"""Add rows of dense tiles to a histogram, one cell per plane, feature and bin.

A tile is an array of 64-bit words, each of which holds the bins of eight features, or of four with more than 255 bins.
Loop counters are unsigned: an index that may be negative costs a test at every access.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.histogram.tile_words import (
    BYTE_MASK,
    add_eight,
    add_eight_at,
    add_few_at,
    add_four,
    add_four_at,
    add_one_by_one,
)
from sapwood.kernels.layout import FEATURE_STRIDE
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

# Rows ahead of the one being added; hides the latency of memory.
PREFETCH_DISTANCE = np.uint64(24)
# Rows that stay in the cache while they are read twice.
BLOCK = 256


@kernel()
def clear_cells(cells, start, stop):
    """Set a range of cells to zero."""
    for j in range(np.uint64(start), np.uint64(stop)):
        cells[j] = 0


@kernel()
def prefetch_distance(rows, first, last):
    """Return how many rows ahead to prefetch: none (``last``) where rows are nearly contiguous."""
    if first < last and np.int64(rows[last - 1]) - np.int64(rows[first]) < 2 * (last - first):
        return np.uint64(last)
    return PREFETCH_DISTANCE


@kernel()
def count_strided_words(offset, from_word, to_word):
    """Return how many words from ``from_word`` on hold eight features whose cells all lie ``FEATURE_STRIDE`` apart."""
    n = from_word
    for j in range(8 * from_word, 8 * to_word):
        if j > 8 * from_word and offset[j] - offset[j - 1] != FEATURE_STRIDE:
            break
        if j % 8 == 7:
            n = j // 8 + 1
    return n - from_word


@kernel(noinline=True)
def add_strided(tile, rows, values, first, last, word, n_words, with_four, first_cell, cells):
    """Add the values at some positions to the cells of one to four words of features that lie ``FEATURE_STRIDE`` apart.

    With ``with_four`` four more features follow. All offsets but that of the first cell are constants.
    """
    cell = np.uint64(first_cell)
    w = np.uint64(word)
    stop = np.uint64(last)
    distance = prefetch_distance(rows, first, last)
    for k in range(np.uint64(first), stop):
        if k + distance < stop:
            prefetch(tile, rows[k + distance])
            prefetch(values, rows[k + distance])
        tile_row = tile[rows[k]]
        value = values[rows[k]]
        add_eight(tile_row[w], value, cell, cells)
        if n_words > 1:
            add_eight(tile_row[w + np.uint64(1)], value, cell + np.uint64(8 * FEATURE_STRIDE), cells)
        if n_words > 2:
            add_eight(tile_row[w + np.uint64(2)], value, cell + np.uint64(16 * FEATURE_STRIDE), cells)
        if n_words > 3:
            add_eight(tile_row[w + np.uint64(3)], value, cell + np.uint64(24 * FEATURE_STRIDE), cells)
        if with_four:
            n = np.uint64(n_words)
            add_four(tile_row[w + n], value, cell + (n << np.uint64(3)) * np.uint64(FEATURE_STRIDE), cells)


@kernel(noinline=True)
def add_at_offsets(tile, rows, values, first, last, from_feature, to_feature, log2_bits, offset, cells):
    """Add the values at some positions to the cells of some features of a tile, whose offsets are looked up.

    Bytes are taken eight or four at a time where they fill a word or half of it.
    """
    words_begin = from_feature
    words_end = from_feature
    if log2_bits == 3 and to_feature // 8 > (from_feature + 7) // 8:
        words_begin = 8 * ((from_feature + 7) // 8)
        words_end = 8 * (to_feature // 8)
    rest_begin = words_end
    if log2_bits == 3 and words_end % 8 == 0 and to_feature - words_end >= 4:
        rest_begin = words_end + 4
    n_rest = to_feature - rest_begin
    n_few = n_rest if log2_bits == 3 and n_rest <= 3 and rest_begin // 8 == (to_feature - 1) // 8 else 0
    last_word = np.uint64(rest_begin // 8)
    shift = np.uint64(8 * (rest_begin % 8))
    from_word = np.uint64(words_begin // 8)
    to_word = np.uint64(words_end // 8)
    stop = np.uint64(last)
    distance = prefetch_distance(rows, first, last)
    shift_bits = np.uint64(log2_bits)
    for k in range(np.uint64(first), stop):
        if k + distance < stop:
            prefetch(tile, rows[k + distance])
            prefetch(values, rows[k + distance])
        tile_row = tile[rows[k]]
        value = values[rows[k]]
        if from_feature < words_begin:
            add_one_by_one(tile_row, value, np.uint64(from_feature), np.uint64(words_begin), shift_bits, offset, cells)
        for w in range(from_word, to_word):
            add_eight_at(tile_row[w], value, offset, w << np.uint64(3), cells)
        if words_end < rest_begin:
            add_four_at(tile_row[to_word], value, offset, np.uint64(words_end), cells)
        if n_few > 0:
            add_few_at(tile_row[last_word] >> shift, value, offset, np.uint64(rest_begin), n_few, cells)
        elif rest_begin < to_feature:
            add_one_by_one(tile_row, value, np.uint64(rest_begin), np.uint64(to_feature), shift_bits, offset, cells)


@kernel()
def feature_cell(offset, first, j, n):
    """Return the first cell of feature ``first + j``; beyond the last of n features, that of the last."""
    return np.uint64(offset[first + min(j, n - 1)])


@kernel(noinline=True)
def add_one_word(tile, rows, values, first, last, first_feature, n, offset, cells):
    """Do ``add_at_offsets`` for one to eight features that share a word, looking their offsets up once."""
    w = np.uint64(first_feature // 8)
    shift = np.uint64(8 * (first_feature % 8))
    cell_0 = feature_cell(offset, first_feature, 0, n)
    cell_1 = feature_cell(offset, first_feature, 1, n)
    cell_2 = feature_cell(offset, first_feature, 2, n)
    cell_3 = feature_cell(offset, first_feature, 3, n)
    cell_4 = feature_cell(offset, first_feature, 4, n)
    cell_5 = feature_cell(offset, first_feature, 5, n)
    cell_6 = feature_cell(offset, first_feature, 6, n)
    cell_7 = feature_cell(offset, first_feature, 7, n)
    stop = np.uint64(last)
    distance = prefetch_distance(rows, first, last)
    for k in range(np.uint64(first), stop):
        if k + distance < stop:
            prefetch(tile, rows[k + distance])
            prefetch(values, rows[k + distance])
        word = tile[rows[k], w] >> shift
        value = values[rows[k]]
        cells[cell_0 + (word & BYTE_MASK)] += value
        if n > 1:
            cells[cell_1 + ((word >> np.uint64(8)) & BYTE_MASK)] += value
        if n > 2:
            cells[cell_2 + ((word >> np.uint64(16)) & BYTE_MASK)] += value
        if n > 3:
            cells[cell_3 + ((word >> np.uint64(24)) & BYTE_MASK)] += value
        if n > 4:
            cells[cell_4 + ((word >> np.uint64(32)) & BYTE_MASK)] += value
        if n > 5:
            cells[cell_5 + ((word >> np.uint64(40)) & BYTE_MASK)] += value
        if n > 6:
            cells[cell_6 + ((word >> np.uint64(48)) & BYTE_MASK)] += value
        if n > 7:
            cells[cell_7 + (word >> np.uint64(56))] += value


@kernel()
def add_unstrided(tile, rows, values, first, last, from_feature, to_feature, log2_bits, offset, cells):
    """Add the values at some positions to features that do not lie ``FEATURE_STRIDE`` apart."""
    if log2_bits == 3 and from_feature < to_feature and from_feature // 8 == (to_feature - 1) // 8:
        add_one_word(tile, rows, values, first, last, from_feature, to_feature - from_feature, offset, cells)
    else:
        add_at_offsets(tile, rows, values, first, last, from_feature, to_feature, log2_bits, offset, cells)


@kernel()
def add_rows(tile, rows, values, first, last, from_feature, to_feature, log2_bits, offset, cells):
    """Add the values at positions ``first`` to ``last`` to the cells of some features of a tile.

    A row of a tile is half a cache line at most, and its cells lie in different features, so that no addition waits for
    the one before. Where some features are strided and others not, rows are taken in blocks that stay in the cache.
    """
    word = from_feature // 8
    n_words = 0
    with_four = False
    strided_end = from_feature
    if log2_bits == 3 and from_feature % 8 == 0:
        n_words = count_strided_words(offset, word, to_feature // 8)
        strided_end = from_feature + 8 * n_words
        with_four = 0 < n_words < 4 and to_feature - strided_end >= 4
        for j in range(strided_end, strided_end + 4 if with_four else strided_end):
            with_four = with_four and offset[j] - offset[j - 1] == FEATURE_STRIDE
        strided_end += 4 if with_four else 0
    if n_words == 0 or strided_end == to_feature:
        if n_words > 0:
            add_strided(tile, rows, values, first, last, word, n_words, with_four, offset[from_feature], cells)
        else:
            add_unstrided(tile, rows, values, first, last, from_feature, to_feature, log2_bits, offset, cells)
        return
    for a in range(first, last, BLOCK):
        stop = min(a + BLOCK, last)
        add_strided(tile, rows, values, a, stop, word, n_words, with_four, offset[from_feature], cells)
        add_unstrided(tile, rows, values, a, stop, strided_end, to_feature, log2_bits, offset, cells)


@kernel()
def add_planes(tiles, rows, pairs, first, last, from_feature, to_feature, log2_bits, offset, out):
    """Add all planes of the pairs of the rows at positions ``first`` to ``last`` to a histogram.

    With several planes, rows are taken in blocks that stay in the cache for the next plane.
    """
    n_cells = count_cells(offset)
    width = tiles.shape[2] << (6 - log2_bits)
    n_planes = pairs.shape[0]
    step = BLOCK if n_planes > 1 else max(1, last - first)
    for t in range(from_feature // width, (to_feature + width - 1) // width):
        from_column = max(from_feature - t * width, 0)
        to_column = min(to_feature - t * width, width)
        tile_offset = offset[t * width :]
        for a in range(first, last, step):
            for p in range(n_planes):
                plane = out[p * n_cells : (p + 1) * n_cells]
                stop = min(a + step, last)
                add_rows(tiles[t], rows, pairs[p], a, stop, from_column, to_column, log2_bits, tile_offset, plane)


@kernel()
def merge_partials(partial, parts, out, from_feature, to_feature, offset, n_planes):
    """Write the sum of the members' partial histograms to ``out``, for some features."""
    n_cells = count_cells(offset)
    for p in range(n_planes):
        begin = np.uint64(p * n_cells + offset[from_feature])
        end = np.uint64(p * n_cells + offset[to_feature])
        first = partial[0]
        for j in range(begin, end):
            out[j] = first[j]
        for t in range(1, parts):
            other = partial[t]
            for j in range(begin, end):
                out[j] += other[j]
