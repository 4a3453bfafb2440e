"""Sum gradient pairs into histograms, one cell per plane, feature and bin.

Tiles come as words of 64 bits, each of which holds the bins of eight features, or of four with more than 255 bins.
Loop counters are unsigned: an index that may be negative costs a test at every access.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import FEATURE_STRIDE
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

# Rows ahead of the one being added; hides the time a row takes to come from memory.
PREFETCH_DISTANCE = np.uint64(24)
BYTE_MASK = np.uint64(0xFF)
# Rows that stay near while they are read twice.
BLOCK = 256


@kernel()
def clear_cells(cells, start, stop):
    """Set a range of cells to zero."""
    for j in range(np.uint64(start), np.uint64(stop)):
        cells[j] = 0


@kernel()
def prefetch_distance(order, first, last):
    """How many rows ahead to ask for; none at all where nearly all rows follow each other, which memory foresees."""
    if first < last and np.int64(order[last - 1]) - np.int64(order[first]) < 2 * (last - first):
        return np.uint64(last)
    return PREFETCH_DISTANCE


@kernel()
def count_strided_words(offset, from_word, to_word):
    """How many words from ``from_word`` on hold eight features whose cells all lie ``STRIDE`` apart."""
    n = from_word
    for j in range(8 * from_word, 8 * to_word):
        if j > 8 * from_word and offset[j] - offset[j - 1] != FEATURE_STRIDE:
            break
        if j % 8 == 7:
            n = j // 8 + 1
    return n - from_word


@kernel()
def add_four(word, value, at, cells):
    """Add a value to one cell of each of four features, ``STRIDE`` apart from ``at`` on; their bins are in a word."""
    cells[at + (word & BYTE_MASK)] += value
    cells[at + np.uint64(FEATURE_STRIDE) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    cells[at + np.uint64(2 * FEATURE_STRIDE) + ((word >> np.uint64(16)) & BYTE_MASK)] += value
    cells[at + np.uint64(3 * FEATURE_STRIDE) + ((word >> np.uint64(24)) & BYTE_MASK)] += value


@kernel()
def add_eight(word, value, at, cells):
    """The same for eight features."""
    add_four(word, value, at, cells)
    add_four(word >> np.uint64(32), value, at + np.uint64(4 * FEATURE_STRIDE), cells)


@kernel(noinline=True)
def add_strided(tile, order, values, first, last, word, n_words, with_half, start, cells):
    """Add the values at some positions to the cells of one to four words of features that lie ``STRIDE`` apart.

    With ``with_half`` four more features follow. All places but the first are known to the compiler.
    """
    at = np.uint64(start)
    w = np.uint64(word)
    stop = np.uint64(last)
    ahead = prefetch_distance(order, first, last)
    for k in range(np.uint64(first), stop):
        if k + ahead < stop:
            prefetch(tile, order[k + ahead])
            prefetch(values, order[k + ahead])
        row = tile[order[k]]
        value = values[order[k]]
        add_eight(row[w], value, at, cells)
        if n_words > 1:
            add_eight(row[w + np.uint64(1)], value, at + np.uint64(8 * FEATURE_STRIDE), cells)
        if n_words > 2:
            add_eight(row[w + np.uint64(2)], value, at + np.uint64(16 * FEATURE_STRIDE), cells)
        if n_words > 3:
            add_eight(row[w + np.uint64(3)], value, at + np.uint64(24 * FEATURE_STRIDE), cells)
        if with_half:
            n = np.uint64(n_words)
            add_four(row[w + n], value, at + (n << np.uint64(3)) * np.uint64(FEATURE_STRIDE), cells)


@kernel()
def add_eight_at(word, value, offset, j, cells):
    """Add a value to one cell of each of feature j and the seven after it, which begin anywhere."""
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
    """The same for feature j and the three after it, whose bins are the lower half of a word."""
    cells[np.uint64(offset[j]) + (word & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE_MASK)] += value
    cells[np.uint64(offset[j + np.uint64(3)]) + ((word >> np.uint64(24)) & BYTE_MASK)] += value


@kernel()
def add_few_at(word, value, offset, j, n, cells):
    """The same for one to three features from j on, whose bins are the lowest bytes of a word."""
    cells[np.uint64(offset[j]) + (word & BYTE_MASK)] += value
    if n > 1:
        cells[np.uint64(offset[j + np.uint64(1)]) + ((word >> np.uint64(8)) & BYTE_MASK)] += value
    if n > 2:
        cells[np.uint64(offset[j + np.uint64(2)]) + ((word >> np.uint64(16)) & BYTE_MASK)] += value


@kernel()
def add_one_by_one(row, value, begin, end, bits, offset, cells):
    """The same for some features of a row one by one; a bin takes 2^bits bits of a word."""
    lane_bits = np.uint64(6) - bits
    mask = (np.uint64(1) << (np.uint64(1) << bits)) - np.uint64(1)
    for j in range(begin, end):
        word = row[j >> lane_bits]
        shift = (j & ((np.uint64(1) << lane_bits) - np.uint64(1))) << bits
        cells[np.uint64(offset[j]) + ((word >> shift) & mask)] += value


@kernel(noinline=True)
def add_at_offsets(tile, order, values, first, last, begin, end, bits, offset, cells):
    """Add the values at some positions to the cells of features ``begin`` to ``end`` of a tile, wherever they begin.

    Bytes are taken eight or four at a time where a word allows.
    """
    head = begin
    tail = begin
    if bits == 3 and end // 8 > (begin + 7) // 8:
        head = 8 * ((begin + 7) // 8)
        tail = 8 * (end // 8)
    rest = tail
    if bits == 3 and tail % 8 == 0 and end - tail >= 4:
        rest = tail + 4
    n_few = end - rest if bits == 3 and end - rest <= 3 and rest // 8 == (end - 1) // 8 else 0
    last_word = np.uint64(rest // 8)
    shift = np.uint64(8 * (rest % 8))
    from_word = np.uint64(head // 8)
    to_word = np.uint64(tail // 8)
    stop = np.uint64(last)
    ahead = prefetch_distance(order, first, last)
    n_bits = np.uint64(bits)
    for k in range(np.uint64(first), stop):
        if k + ahead < stop:
            prefetch(tile, order[k + ahead])
            prefetch(values, order[k + ahead])
        row = tile[order[k]]
        value = values[order[k]]
        if begin < head:
            add_one_by_one(row, value, np.uint64(begin), np.uint64(head), n_bits, offset, cells)
        for w in range(from_word, to_word):
            add_eight_at(row[w], value, offset, w << np.uint64(3), cells)
        if tail < rest:
            add_four_at(row[to_word], value, offset, np.uint64(tail), cells)
        if n_few > 0:
            add_few_at(row[last_word] >> shift, value, offset, np.uint64(rest), n_few, cells)
        elif rest < end:
            add_one_by_one(row, value, np.uint64(rest), np.uint64(end), n_bits, offset, cells)


@kernel()
def feature_cell(offset, begin, j, n):
    """Where the cells of feature ``begin + j`` begin; beyond the last of n, those of the last."""
    return np.uint64(offset[begin + min(j, n - 1)])


@kernel(noinline=True)
def add_one_word(tile, order, values, first, last, begin, n, offset, cells):
    """``add_at_offsets`` for one to eight features from ``begin`` on, all in one word: offsets are looked up once."""
    w = np.uint64(begin // 8)
    shift = np.uint64(8 * (begin % 8))
    at_0 = feature_cell(offset, begin, 0, n)
    at_1 = feature_cell(offset, begin, 1, n)
    at_2 = feature_cell(offset, begin, 2, n)
    at_3 = feature_cell(offset, begin, 3, n)
    at_4 = feature_cell(offset, begin, 4, n)
    at_5 = feature_cell(offset, begin, 5, n)
    at_6 = feature_cell(offset, begin, 6, n)
    at_7 = feature_cell(offset, begin, 7, n)
    stop = np.uint64(last)
    ahead = prefetch_distance(order, first, last)
    for k in range(np.uint64(first), stop):
        if k + ahead < stop:
            prefetch(tile, order[k + ahead])
            prefetch(values, order[k + ahead])
        word = tile[order[k], w] >> shift
        value = values[order[k]]
        cells[at_0 + (word & BYTE_MASK)] += value
        if n > 1:
            cells[at_1 + ((word >> np.uint64(8)) & BYTE_MASK)] += value
        if n > 2:
            cells[at_2 + ((word >> np.uint64(16)) & BYTE_MASK)] += value
        if n > 3:
            cells[at_3 + ((word >> np.uint64(24)) & BYTE_MASK)] += value
        if n > 4:
            cells[at_4 + ((word >> np.uint64(32)) & BYTE_MASK)] += value
        if n > 5:
            cells[at_5 + ((word >> np.uint64(40)) & BYTE_MASK)] += value
        if n > 6:
            cells[at_6 + ((word >> np.uint64(48)) & BYTE_MASK)] += value
        if n > 7:
            cells[at_7 + (word >> np.uint64(56))] += value


@kernel()
def add_unstrided(tile, order, values, first, last, begin, end, bits, offset, cells):
    """Add features that do not lie ``STRIDE`` apart, in one word or in several."""
    if bits == 3 and begin < end and begin // 8 == (end - 1) // 8:
        add_one_word(tile, order, values, first, last, begin, end - begin, offset, cells)
    else:
        add_at_offsets(tile, order, values, first, last, begin, end, bits, offset, cells)


@kernel()
def add_rows(tile, order, values, first, last, begin, end, bits, offset, cells):
    """Add the values at positions ``first`` to ``last`` to the cells of features ``begin`` to ``end`` of a tile.

    A row of a tile is half a cache line at most, and its cells lie in different features, so that no addition waits for
    the one before. Where features are of two kinds, rows are near when the second comes.
    """
    n_words = 0
    half = False
    done = begin
    if bits == 3 and begin % 8 == 0:
        n_words = count_strided_words(offset, begin // 8, end // 8)
        done = begin + 8 * n_words
        half = 0 < n_words < 4 and end - done >= 4
        for j in range(done, done + 4 if half else done):
            half = half and offset[j] - offset[j - 1] == FEATURE_STRIDE
        done += 4 if half else 0
    if n_words == 0 or done == end:
        if n_words > 0:
            add_strided(tile, order, values, first, last, begin // 8, n_words, half, offset[begin], cells)
        else:
            add_unstrided(tile, order, values, first, last, begin, end, bits, offset, cells)
        return
    for a in range(first, last, BLOCK):
        e = min(a + BLOCK, last)
        add_strided(tile, order, values, a, e, begin // 8, n_words, half, offset[begin], cells)
        add_unstrided(tile, order, values, a, e, done, end, bits, offset, cells)


@kernel()
def add_planes(tiles, order, pairs, first, last, from_feature, to_feature, bits, start, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to a histogram.

    With several planes, rows are taken in blocks, so that they are near when the next plane comes.
    """
    n_cells = start[start.shape[0] - 1]
    width = tiles.shape[2] << (6 - bits)
    n_planes = pairs.shape[0]
    step = BLOCK if n_planes > 1 else max(1, last - first)
    for t in range(from_feature // width, (to_feature + width - 1) // width):
        begin = max(from_feature - t * width, 0)
        end = min(to_feature - t * width, width)
        offset = start[t * width :]
        for a in range(first, last, step):
            for p in range(n_planes):
                plane = out[p * n_cells : (p + 1) * n_cells]
                add_rows(tiles[t], order, pairs[p], a, min(a + step, last), begin, end, bits, offset, plane)


@kernel()
def merge_partials(work, parts, out, from_feature, to_feature, start, n_planes):
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
