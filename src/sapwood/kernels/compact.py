"""Copy the rows that were drawn next to each other, so that a tree reads no memory of the others."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import Bins, Gradients  # noqa: F401 (named in signatures)
from sapwood.kernels.share import share
from sapwood.native.intrinsics import prefetch
from sapwood.native.kernel import kernel

AHEAD = np.uint64(16)
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
# Rows whose numbers stay in the nearest cache while column after column is read.
BLOCK = np.uint64(2048)


@kernel(apart=True)
def copy_lines(rows, begin, end, words, out):
    """Copy the lines ``rows[begin:end]`` of a tile to the lines ``begin`` to ``end``."""
    for i in range(begin, end):
        if i + AHEAD < end:
            prefetch(words, rows[i + AHEAD])
        row = np.uint64(rows[i])
        out[i, np.uint64(0)] = words[row, np.uint64(0)]
        out[i, ONE] = words[row, ONE]
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


@kernel("u32[:], Bins, Bins")
def compact_bins(member, members, sync, rows, bins, out):
    """Copy the bins of some rows, ascending, by rows and by columns."""
    n = rows.shape[0]
    first = share(member, members, n)
    last = share(member + 1, members, n)
    for t in range(bins.words.shape[0]):
        copy_lines(rows, first, last, bins.words[t], out.words[t])
    begin = first
    while begin < last:
        end = min(begin + BLOCK, last)
        copy_places(rows, begin, end, bins.bytes, out.bytes)
        copy_places(rows, begin, end, bins.halves, out.halves)
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
