"""Copy the bins and gradients of sampled rows into compact arrays, so that a tree reads no memory of the others.

Weights of sampled rows are also copied the other way, to their places among all rows.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import BinMatrix, Gradients  # noqa: F401 (named in signatures)
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

PREFETCH_DISTANCE = np.uint64(16)
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
EIGHT = np.uint64(8)
LOW_HALF, EVEN_U16, EVEN_U8 = np.uint64(0xFFFFFFFF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF)
BLOCK = np.uint64(1024)  # rows at a time: they stay in the cache while column after column is written
TRANSPOSE_WORDS = 4 * int(BLOCK)  # of the workspace in which they are transposed, four per row


@kernel(noinline=True)
def copy_tile_rows(rows, begin, end, words, out, work):
    """Copy ``rows[begin:end]`` of a tile to ``out[begin:end]``, and to ``work``, four words per row."""
    n_words = np.uint64(words.shape[1])
    at = np.uint64(0)
    for i in range(begin, end):
        if i + PREFETCH_DISTANCE < end:
            prefetch(words, rows[i + PREFETCH_DISTANCE])
        row = np.uint64(rows[i])
        a = words[row, np.uint64(0)]
        out[i, np.uint64(0)] = a
        work[at] = a
        if n_words > ONE:
            b = words[row, ONE]
            out[i, ONE] = b
            work[at + ONE] = b
        if n_words > TWO:
            c = words[row, TWO]
            d = words[row, THREE]
            out[i, TWO] = c
            out[i, THREE] = d
            work[at + TWO] = c
            work[at + THREE] = d
        at += np.uint64(4)


@kernel()
def copy_columns(rows, begin, end, columns, out):
    """Copy ``columns[:, rows[begin:end]]`` to ``out[:, begin:end]``."""
    n_columns = np.uint64(columns.shape[0])
    whole = n_columns - (n_columns & THREE)
    for f in range(np.uint64(0), whole, np.uint64(4)):
        for i in range(begin, end):
            row = np.uint64(rows[i])
            out[f, i] = columns[f, row]
            out[f + ONE, i] = columns[f + ONE, row]
            out[f + TWO, i] = columns[f + TWO, row]
            out[f + THREE, i] = columns[f + THREE, row]
    for f in range(whole, n_columns):
        for i in range(begin, end):
            out[f, i] = columns[f, np.uint64(rows[i])]


@kernel()
def swap_bits(words, n, distance, shift, mask):
    """Exchange bits between the pairs of n words at a ``distance``: those at mask << shift with those at the mask."""
    for pair in range(n // (TWO * distance)):
        first = pair * TWO * distance
        for j in range(distance):
            a = words[first + j]
            b = words[first + distance + j]
            changed = ((a >> shift) ^ b) & mask
            words[first + j] = a ^ (changed << shift)
            words[first + distance + j] = b ^ changed


@kernel(noinline=True)
def transpose_bytes(words):
    """Transpose rows of four words, eight rows at a time: byte [i, j] of their k-th words becomes byte [j, i].

    Halves of the words are exchanged first, then quarters, then bytes; neighbouring words are vectorised.
    """
    swap_bits(words, np.uint64(TRANSPOSE_WORDS), np.uint64(16), np.uint64(32), LOW_HALF)
    swap_bits(words, np.uint64(TRANSPOSE_WORDS), EIGHT, np.uint64(16), EVEN_U16)
    swap_bits(words, np.uint64(TRANSPOSE_WORDS), np.uint64(4), EIGHT, EVEN_U8)


@kernel(noinline=True)
def write_columns(transposed, n_words, begin, end, columns, column):
    """Write rows ``begin`` to ``end``, multiples of eight, to the columns of a tile, from ``column`` on."""
    last = min(np.uint64(columns.shape[0]), column + EIGHT * n_words)
    first = begin // EIGHT
    for c in range(column, last):
        word = np.uint64(4) * (c & np.uint64(7)) + ((c - column) >> THREE)
        for at in range((end - begin) // EIGHT):
            columns[c, first + at] = transposed[np.uint64(32) * at + word]


@kernel("u32[:], BinMatrix, BinMatrix, u64[:,:], u64[:,:]")
def compact_bins(member, members, sync, rows, bins, out, columns_u64, work):
    """Copy the bins of some rows, ascending, by rows and by columns.

    ``columns_u64`` are the columns of ``out`` as words of eight rows if the tiles hold the same columns, else empty.
    ``work`` is a workspace, ``TRANSPOSE_WORDS`` words per member.
    """
    n = rows.shape[0]
    begin = EIGHT * slice_start(member, members, (n + 7) // 8)
    last = min(EIGHT * slice_start(member + 1, members, (n + 7) // 8), np.uint64(n))
    n_words = np.uint64(bins.tiles.shape[2])
    my_work = work[member]
    while begin < last:
        end = min(begin + BLOCK, last)
        transposed_end = begin if columns_u64.shape[0] == 0 else end - (end & np.uint64(7))
        for t in range(bins.tiles.shape[0]):
            copy_tile_rows(rows, begin, end, bins.tiles[t], out.tiles[t], my_work)
            if transposed_end > begin:
                transpose_bytes(my_work)
                write_columns(my_work, n_words, begin, transposed_end, columns_u64, EIGHT * n_words * np.uint64(t))
        copy_columns(rows, transposed_end, end, bins.bins_u8, out.bins_u8)
        copy_columns(rows, transposed_end, end, bins.bins_u16, out.bins_u16)
        begin = end


@kernel("u32[:], Gradients, Gradients")
def compact_gradients(member, members, sync, rows, grad, out):
    """Copy the pairs, weights and ids of some rows."""
    n = rows.shape[0]
    first = slice_start(member, members, n)
    last = slice_start(member + 1, members, n)
    for k in range(grad.pairs.shape[0]):
        pairs = grad.pairs[k]
        out_pairs = out.pairs[k]
        for i in range(first, last):
            row = TWO * np.uint64(rows[i])
            out_pairs[TWO * i] = pairs[row]
            out_pairs[TWO * i + ONE] = pairs[row + ONE]
    if grad.weight.shape[0] > 0:
        for i in range(first, last):
            out.weight[i] = grad.weight[np.uint64(rows[i])]
    for i in range(first, last):
        out.row_ids[i] = grad.row_ids[np.uint64(rows[i])] if grad.row_ids.shape[0] > 0 else np.uint64(rows[i])


@kernel("u32[:], f64[:], f64[:]")
def scatter_weights(member, members, sync, rows, weight, out):
    """Write the weights of some rows to their places among all rows."""
    n = rows.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[np.uint64(rows[i])] = weight[i]


@kernel("u32[:], u32[:]")
def restore_row_numbers(member, members, sync, rows, order):
    """Replace positions in the row subset by the numbers of the rows."""
    n = order.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        order[i] = rows[np.uint64(order[i])]
