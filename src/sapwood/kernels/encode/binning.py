"""Assign values to bins: bin 0 is missing, a value is in bin 1 + (number of edges below it)."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.encode.bin_edges import ROWS_PER_BLOCK
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel


@kernel()
def search_step(edges, at, below, shift, x):
    """Do one step of a binary search: if the middle edge is below x, add 2**shift to the number of edges below."""
    # The bit of the comparison is shifted, not chosen by: a choice that waits for memory is compiled to a branch.
    return below + (np.uint64(edges[at + below] < x) << shift)


@kernel()
def store_bin(below, x, tiles, columns, tile, tile_column, f, row):
    """Write the bin of the value x with ``below`` edges below it."""
    b = (below + np.uint64(1)) * np.uint64(x == x)
    tiles[tile, row, tile_column] = b
    if columns.shape[0] > 0:
        columns[f, row] = b


@kernel(
    "f32[:], i64, i64, i64, i64, i64, i64, f32[:], i64[:], u8[:,:,:], u8[:,:]",
    "f32[:], i64, i64, i64, i64, i64, i64, f32[:], i64[:], u16[:,:,:], u16[:,:]",
    "f64[:], i64, i64, i64, i64, i64, i64, f64[:], i64[:], u8[:,:,:], u8[:,:]",
    "f64[:], i64, i64, i64, i64, i64, i64, f64[:], i64[:], u16[:,:,:], u16[:,:]",
)
def assign_bins(
    member, members, sync,
    values, row_stride, column_stride, first_row, n_rows, first_feature, n_features,
    edges, edge_start, tiles, columns,
):  # fmt: skip
    """Write the bins of a strided block of values into ``tiles`` and, unless it is empty, ``columns``.

    The edges of feature f are ``edges[edge_start[f] : edge_start[f + 1]]``, padded with infinity to a power of two
    larger than their number; for f32 they are rounded down, which does not change any comparison.
    """
    begin = slice_start(member, members, n_rows)
    end = slice_start(member + 1, members, n_rows)
    while begin < end:
        block_end = min(begin + np.uint64(ROWS_PER_BLOCK), end)
        for j in range(n_features):
            assign_bins_of_feature(
                values, np.uint64(row_stride), np.uint64(j * column_stride), begin, block_end,
                edges, edge_start, first_feature + j, tiles, columns, np.uint64(first_row),
            )  # fmt: skip
        begin = block_end


@kernel()
def assign_bins_of_feature(values, stride, offset, begin, end, edges, edge_start, f, tiles, columns, first_row):
    """Write the bins of feature f for the values ``offset + stride * row``, rows ``begin`` to ``end``."""
    one = np.uint64(1)
    start = np.uint64(edge_start[f])
    size = np.uint64(edge_start[f + 1]) - start
    tile = np.uint64(f // tiles.shape[2])
    tile_column = np.uint64(f % tiles.shape[2])
    g = np.uint64(f)
    depth = np.uint64(0)
    while (one << depth) < size:
        depth += one
    twice = stride + stride
    thrice = twice + stride
    i = begin
    # Eight searches at a time: each waits for its own edge, and they wait together.
    while i + np.uint64(8) <= end:
        p = offset + stride * i
        x0, x1, x2, x3 = values[p], values[p + stride], values[p + twice], values[p + thrice]
        p += twice + twice
        x4, x5, x6, x7 = values[p], values[p + stride], values[p + twice], values[p + thrice]
        b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = np.uint64(0)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            at = start + (one << shift) - one
            b0, b1 = search_step(edges, at, b0, shift, x0), search_step(edges, at, b1, shift, x1)
            b2, b3 = search_step(edges, at, b2, shift, x2), search_step(edges, at, b3, shift, x3)
            b4, b5 = search_step(edges, at, b4, shift, x4), search_step(edges, at, b5, shift, x5)
            b6, b7 = search_step(edges, at, b6, shift, x6), search_step(edges, at, b7, shift, x7)
        row = first_row + i
        store_bin(b0, x0, tiles, columns, tile, tile_column, g, row)
        store_bin(b1, x1, tiles, columns, tile, tile_column, g, row + one)
        store_bin(b2, x2, tiles, columns, tile, tile_column, g, row + np.uint64(2))
        store_bin(b3, x3, tiles, columns, tile, tile_column, g, row + np.uint64(3))
        store_bin(b4, x4, tiles, columns, tile, tile_column, g, row + np.uint64(4))
        store_bin(b5, x5, tiles, columns, tile, tile_column, g, row + np.uint64(5))
        store_bin(b6, x6, tiles, columns, tile, tile_column, g, row + np.uint64(6))
        store_bin(b7, x7, tiles, columns, tile, tile_column, g, row + np.uint64(7))
        i += np.uint64(8)
    while i < end:
        x = values[offset + stride * i]
        below = np.uint64(0)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            below = search_step(edges, start + (one << shift) - one, below, shift, x)
        store_bin(below, x, tiles, columns, tile, tile_column, g, first_row + i)
        i += one


@kernel("u8[:,:], u8[:,:,:]", "u16[:,:], u16[:,:,:]")
def place_in_tiles(member, members, sync, columns, tiles):
    """Write the bins of columns (columns, rows) to their places in ``tiles``."""
    n_rows = columns.shape[1]
    width = tiles.shape[2]
    begin = slice_start(member, members, n_rows)
    end = slice_start(member + 1, members, n_rows)
    while begin < end:
        block_end = min(begin + np.uint64(ROWS_PER_BLOCK), end)
        for f in range(columns.shape[0]):
            tile = tiles[f // width]
            place = np.uint64(f % width)
            for row in range(begin, block_end):
                tile[row, place] = columns[f, row]
        begin = block_end


@kernel(
    "f32[:], i64[:], f64[:], i64[:], u32[:]",
    "f64[:], i64[:], f64[:], i64[:], u32[:]",
)
def assign_bins_sparse(member, members, sync, values, start, edges, edge_start, out):
    """Write the bin of every entry of a CSC matrix; column f has entries from start[f], edges from edge_start[f] on."""
    n = start.shape[0] - 1
    for f in range(member * n // members, (member + 1) * n // members):
        for e in range(np.uint64(start[f]), np.uint64(start[f + 1])):
            value = np.float64(values[e])
            low = np.uint64(edge_start[f])
            high = np.uint64(edge_start[f + 1])
            while low < high:
                middle = (low + high) >> np.uint64(1)
                if edges[middle] < value:
                    low = middle + np.uint64(1)
                else:
                    high = middle
            out[e] = np.uint32(np.int64(low) - edge_start[f] + 1) if value == value else np.uint32(0)
