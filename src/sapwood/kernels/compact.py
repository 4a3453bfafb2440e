"""Copy the rows that were drawn next to each other, so that a tree reads no memory of the others."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import Bins, Gradients  # noqa: F401 (named in signatures)
from sapwood.kernels.share import share
from sapwood.native.intrinsics import prefetch
from sapwood.native.kernel import kernel

AHEAD = np.uint64(16)
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
EIGHT = np.uint64(8)
# Rows that stay in the nearest cache while column after column is written.
BLOCK = np.uint64(512)


@kernel(apart=True)
def copy_lines(rows, begin, end, words, out):
    """Copy the lines ``rows[begin:end]`` of a tile to the lines ``begin`` to ``end``."""
    n_words = np.uint64(words.shape[1])
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(words, rows[i + AHEAD])
        row = np.uint64(rows[i])
        out[i, np.uint64(0)] = words[row, np.uint64(0)]
        if n_words > ONE:
            out[i, ONE] = words[row, ONE]
        if n_words > TWO:
            out[i, TWO] = words[row, TWO]
            out[i, THREE] = words[row, THREE]


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
def swap_bits(a, b, shift, mask):
    """Exchange the bits of ``a`` above the mask's with those of ``b`` at the mask's; what becomes of both."""
    changed = ((a >> shift) ^ b) & mask
    return a ^ (changed << shift), b ^ changed


@kernel()
def turn(lines, line, word, columns, column, at):
    """Write a word of each of eight lines, from ``line`` on, to place ``at`` of eight columns: byte [i, j] to [j, i].

    Halves of the words are exchanged first, then quarters, then bytes.
    """
    a, e = swap_bits(lines[line, word], lines[line + np.uint64(4), word], np.uint64(32), np.uint64(0xFFFFFFFF))
    b, f = swap_bits(lines[line + ONE, word], lines[line + np.uint64(5), word], np.uint64(32), np.uint64(0xFFFFFFFF))
    c, g = swap_bits(lines[line + TWO, word], lines[line + np.uint64(6), word], np.uint64(32), np.uint64(0xFFFFFFFF))
    d, h = swap_bits(lines[line + THREE, word], lines[line + np.uint64(7), word], np.uint64(32), np.uint64(0xFFFFFFFF))
    a, c = swap_bits(a, c, np.uint64(16), np.uint64(0x0000FFFF0000FFFF))
    b, d = swap_bits(b, d, np.uint64(16), np.uint64(0x0000FFFF0000FFFF))
    e, g = swap_bits(e, g, np.uint64(16), np.uint64(0x0000FFFF0000FFFF))
    f, h = swap_bits(f, h, np.uint64(16), np.uint64(0x0000FFFF0000FFFF))
    a, b = swap_bits(a, b, EIGHT, np.uint64(0x00FF00FF00FF00FF))
    c, d = swap_bits(c, d, EIGHT, np.uint64(0x00FF00FF00FF00FF))
    e, f = swap_bits(e, f, EIGHT, np.uint64(0x00FF00FF00FF00FF))
    g, h = swap_bits(g, h, EIGHT, np.uint64(0x00FF00FF00FF00FF))
    n = np.uint64(columns.shape[0]) - column
    columns[column, at] = a
    if n > ONE:
        columns[column + ONE, at] = b
    if n > TWO:
        columns[column + TWO, at] = c
    if n > THREE:
        columns[column + THREE, at] = d
    if n > np.uint64(4):
        columns[column + np.uint64(4), at] = e
    if n > np.uint64(5):
        columns[column + np.uint64(5), at] = f
    if n > np.uint64(6):
        columns[column + np.uint64(6), at] = g
    if n > np.uint64(7):
        columns[column + np.uint64(7), at] = h


@kernel(apart=True)
def turn_lines(lines, begin, end, columns, column):
    """Write the lines ``begin`` to ``end`` of a tile, whole eights of them, to the columns from ``column`` on."""
    n = np.uint64(columns.shape[0])
    for word in range(np.uint64(4)):
        first = column + EIGHT * word
        if first < n:
            for at in range(begin // EIGHT, end // EIGHT):
                turn(lines, at * EIGHT, word, columns, first, at)


@kernel("u32[:], Bins, Bins, u64[:,:]")
def compact_bins(member, members, sync, rows, bins, out, eights):
    """Copy the bins of some rows, ascending, by rows and by columns.

    ``eights`` are the columns by words of eight rows, where the tiles hold the same columns; else there are none.
    """
    n = rows.shape[0]
    begin = EIGHT * share(member, members, (n + 7) // 8)
    last = min(EIGHT * share(member + 1, members, (n + 7) // 8), np.uint64(n))
    while begin < last:
        end = min(begin + BLOCK, last)
        turned = begin if eights.shape[0] == 0 else end - (end & np.uint64(7))
        for t in range(bins.words.shape[0]):
            copy_lines(rows, begin, end, bins.words[t], out.words[t])
            turn_lines(out.words[t], begin, turned, eights, np.uint64(8 * t * bins.words.shape[2]))
        copy_places(rows, turned, end, bins.bytes, out.bytes)
        copy_places(rows, turned, end, bins.halves, out.halves)
        begin = end


@kernel("u32[:], Gradients, Gradients")
def compact_gradients(member, members, sync, rows, grad, out):
    """Copy the pairs, weights and numbers of some rows."""
    n = rows.shape[0]
    first = share(member, members, n)
    last = share(member + 1, members, n)
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
        out.ids[i] = grad.ids[np.uint64(rows[i])] if grad.ids.shape[0] > 0 else np.uint64(rows[i])


@kernel("u32[:], u32[:]")
def restore_rows(member, members, sync, rows, order):
    """Turn places among the rows drawn into the rows themselves."""
    n = order.shape[0]
    for i in range(share(member, members, n), share(member + 1, members, n)):
        order[i] = rows[np.uint64(order[i])]
