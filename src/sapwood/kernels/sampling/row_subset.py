"""Copy the rows that were drawn next to each other, so that a tree reads no memory of the others."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import BinMatrix, Gradients  # noqa: F401 (named in signatures)
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

AHEAD = np.uint64(16)
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
EIGHT = np.uint64(8)
HALVES, QUARTERS, BYTES = np.uint64(0xFFFFFFFF), np.uint64(0x0000FFFF0000FFFF), np.uint64(0x00FF00FF00FF00FF)
# Rows that stay near while column after column is written; so long a run of each is quick to write.
BLOCK = np.uint64(1024)
TURNED = 4 * int(BLOCK)  # their words, four to a line


@kernel(noinline=True)
def copy_lines(rows, begin, end, words, out, turned):
    """Copy the lines ``rows[begin:end]`` of a tile to ``begin`` to ``end``, and to ``turned``, four words to a line."""
    n_words = np.uint64(words.shape[1])
    at = np.uint64(0)
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(words, rows[i + AHEAD])
        row = np.uint64(rows[i])
        a = words[row, np.uint64(0)]
        out[i, np.uint64(0)] = a
        turned[at] = a
        if n_words > ONE:
            b = words[row, ONE]
            out[i, ONE] = b
            turned[at + ONE] = b
        if n_words > TWO:
            c = words[row, TWO]
            d = words[row, THREE]
            out[i, TWO] = c
            out[i, THREE] = d
            turned[at + TWO] = c
            turned[at + THREE] = d
        at += np.uint64(4)


@kernel()
def copy_places(rows, begin, end, columns, out):
    """Copy the places ``rows[begin:end]`` of every column to the places ``begin`` to ``end``."""
    n_columns = np.uint64(columns.shape[0])
    fours = n_columns - (n_columns & THREE)
    for f in range(np.uint64(0), fours, np.uint64(4)):
        for i in range(begin, end):
            row = np.uint64(rows[i])
            out[f, i] = columns[f, row]
            out[f + ONE, i] = columns[f + ONE, row]
            out[f + TWO, i] = columns[f + TWO, row]
            out[f + THREE, i] = columns[f + THREE, row]
    for f in range(fours, n_columns):
        for i in range(begin, end):
            out[f, i] = columns[f, np.uint64(rows[i])]


@kernel()
def swap_bits(words, n, apart, shift, mask):
    """Exchange bits of each two of n words that lie so far apart: those above the mask's with those at the mask's."""
    for pair in range(n // (TWO * apart)):
        first = pair * TWO * apart
        for j in range(apart):
            a = words[first + j]
            b = words[first + apart + j]
            changed = ((a >> shift) ^ b) & mask
            words[first + j] = a ^ (changed << shift)
            words[first + apart + j] = b ^ changed


@kernel(noinline=True)
def turn_words(words):
    """Turn lines of four words, eight at a time: byte [i, j] of the k-th words of eight becomes byte [j, i].

    Halves of the words are exchanged first, then quarters, then bytes; what lies side by side makes vectors.
    """
    swap_bits(words, np.uint64(TURNED), np.uint64(16), np.uint64(32), HALVES)
    swap_bits(words, np.uint64(TURNED), EIGHT, np.uint64(16), QUARTERS)
    swap_bits(words, np.uint64(TURNED), np.uint64(4), EIGHT, BYTES)


@kernel(noinline=True)
def write_columns(turned, n_words, begin, end, columns, column):
    """Write the places ``begin`` to ``end``, whole eights, of the columns of a tile, from ``column`` on."""
    last = min(np.uint64(columns.shape[0]), column + EIGHT * n_words)
    first = begin // EIGHT
    for c in range(column, last):
        own = np.uint64(4) * (c & np.uint64(7)) + ((c - column) >> THREE)
        for at in range((end - begin) // EIGHT):
            columns[c, first + at] = turned[np.uint64(32) * at + own]


@kernel("u32[:], BinMatrix, BinMatrix, u64[:,:], u64[:,:]")
def compact_bins(member, members, sync, rows, bins, out, eights, turned):
    """Copy the bins of some rows, ascending, by rows and by columns.

    ``eights`` are the columns by words of eight rows, where the tiles hold the same columns; else there are none.
    ``turned`` is a workspace, ``TURNED`` words per member.
    """
    n = rows.shape[0]
    begin = EIGHT * slice_start(member, members, (n + 7) // 8)
    last = min(EIGHT * slice_start(member + 1, members, (n + 7) // 8), np.uint64(n))
    n_words = np.uint64(bins.tiles.shape[2])
    own = turned[member]
    while begin < last:
        end = min(begin + BLOCK, last)
        whole = begin if eights.shape[0] == 0 else end - (end & np.uint64(7))
        for t in range(bins.tiles.shape[0]):
            copy_lines(rows, begin, end, bins.tiles[t], out.tiles[t], own)
            if whole > begin:
                turn_words(own)
                write_columns(own, n_words, begin, whole, eights, EIGHT * n_words * np.uint64(t))
        copy_places(rows, whole, end, bins.bins_u8, out.bins_u8)
        copy_places(rows, whole, end, bins.bins_u16, out.bins_u16)
        begin = end


@kernel("u32[:], Gradients, Gradients")
def compact_gradients(member, members, sync, rows, grad, out):
    """Copy the pairs, weights and numbers of some rows."""
    n = rows.shape[0]
    first = slice_start(member, members, n)
    last = slice_start(member + 1, members, n)
    for k in range(grad.pairs.shape[0]):
        pairs = grad.pairs[k]
        copied = out.pairs[k]
        for i in range(first, last):
            row = TWO * np.uint64(rows[i])
            copied[TWO * i] = pairs[row]
            copied[TWO * i + ONE] = pairs[row + ONE]
    if grad.weight.shape[0] > 0:
        for i in range(first, last):
            out.weight[i] = grad.weight[np.uint64(rows[i])]
    for i in range(first, last):
        out.row_ids[i] = grad.row_ids[np.uint64(rows[i])] if grad.row_ids.shape[0] > 0 else np.uint64(rows[i])


@kernel("u32[:], u32[:]")
def restore_rows(member, members, sync, rows, order):
    """Turn places among the rows drawn into the rows themselves."""
    n = order.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        order[i] = rows[np.uint64(order[i])]
