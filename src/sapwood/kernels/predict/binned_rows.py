"""Predict binned rows with one tree that was just grown, row by row."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.sparse_bins import sparse_bin
from sapwood.kernels.layout import BITSET_SPLIT
from sapwood.kernels.split.category_bitset import in_bitset
from sapwood.native.runtime.kernel import kernel


@kernel()
def next_binned_node(tiles, shift, feature, bin, missing_left, left, row, node):
    """Return the child of ``node`` for a binned row; a leaf is its own child. A tile has ``1 << shift`` features."""
    f = np.int64(feature[node])
    if f < 0:
        return node
    tile_column = np.uint64(f) & ((np.uint64(1) << shift) - np.uint64(1))
    b = np.int64(tiles[np.uint64(f) >> shift, row, tile_column])
    right = np.uint64(b > np.int64(bin[node])) | (np.uint64(b == 0) & np.uint64(missing_left[node] == 0))
    return np.uint64(left[node]) + right


@kernel()
def add_leaf_value(value, node, output, row, out):
    """Add the value of a leaf to the scores of one row."""
    for k in range(value.shape[1]):
        out[output + k, row] += value[node, k]


@kernel(
    "u8[:,:,:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:], i64, i64",
    "u16[:,:,:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:], i64, i64",
)
def add_scores_binned(member, members, sync, tiles, feature, bin, missing_left, left, value, output, out, begin, end):
    """Add the values of one tree for the binned rows ``begin`` to ``end`` to the scores ``out`` (outputs, rows).

    A row goes left when its bin is at most ``bin`` of the node; bin 0 is missing. With vector leaves ``output`` is 0.
    """
    shift = np.uint64(0)
    while (np.int64(1) << np.int64(shift)) < tiles.shape[2]:
        shift += np.uint64(1)
    row = np.uint64(begin + member * (end - begin) // members)
    last = np.uint64(begin + (member + 1) * (end - begin) // members)
    root = np.uint64(0)
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    while row + four <= last:  # four rows descend in lockstep
        n0 = n1 = n2 = n3 = root
        moved = True
        while moved:
            m0 = next_binned_node(tiles, shift, feature, bin, missing_left, left, row, n0)
            m1 = next_binned_node(tiles, shift, feature, bin, missing_left, left, row + one, n1)
            m2 = next_binned_node(tiles, shift, feature, bin, missing_left, left, row + two, n2)
            m3 = next_binned_node(tiles, shift, feature, bin, missing_left, left, row + three, n3)
            moved = ((m0 ^ n0) | (m1 ^ n1) | (m2 ^ n2) | (m3 ^ n3)) != root
            n0, n1, n2, n3 = m0, m1, m2, m3
        add_leaf_value(value, n0, output, row, out)
        add_leaf_value(value, n1, output, row + one, out)
        add_leaf_value(value, n2, output, row + two, out)
        add_leaf_value(value, n3, output, row + three, out)
        row += four
    while row < last:
        node = root
        while feature[node] >= 0:
            node = next_binned_node(tiles, shift, feature, bin, missing_left, left, row, node)
        add_leaf_value(value, node, output, row, out)
        row += one


@kernel(
    "u8[:,:,:], i64[:,:], i64[:], u32[:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:]",
    "u16[:,:,:], i64[:,:], i64[:], u32[:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:]",
)
def add_scores_sparse(
    member, members, sync, tiles, columns, csr_start, csr_cells, feature, bin, missing_left, left, value, output, out
):
    """Add the values of one tree to the scores ``out`` (outputs, rows) of binned rows with sparse features.

    A row of ``columns`` is the column of a feature in the tiles (−1: sparse), its first cell, number of bins and
    default bin.
    """
    n = out.shape[1]
    width = tiles.shape[2]
    for i in range(member * n // members, (member + 1) * n // members):
        row = np.uint64(i)
        node = np.int64(0)
        while feature[node] >= 0:
            f = np.int64(feature[node])
            column = columns[f, 0]
            if column >= 0:
                b = np.int64(tiles[column // width, i, column % width])
            else:
                b = sparse_bin(csr_start, csr_cells, row, columns[f, 1], columns[f, 2], columns[f, 3])
            right = b > bin[node] or (b == 0 and missing_left[node] == 0)
            node = np.int64(left[node]) + np.int64(right)
        for k in range(value.shape[1]):
            out[output + k, i] += value[node, k]


@kernel(
    "u8[:,:,:], i32[:], i32[:], u8[:], i32[:], i64[:,:], i32[:]",
    "u16[:,:,:], i32[:], i32[:], u8[:], i32[:], i64[:,:], i32[:]",
)
def find_binned_leaves(member, members, sync, tiles, feature, bin, missing_left, left, bitsets, out):
    """Write the leaf of each binned row; nodes whose bin is BITSET_SPLIT send a set of bins to the left."""
    n, width = tiles.shape[1], tiles.shape[2]
    for row in range(member * n // members, (member + 1) * n // members):
        node = 0
        while feature[node] >= 0:
            f = np.int64(feature[node])
            b = np.int64(tiles[f // width, row, f % width])
            if bin[node] == BITSET_SPLIT:
                goes_left = in_bitset(bitsets[node], b) != np.uint64(0)
            else:
                goes_left = missing_left[node] != 0 if b == 0 else b <= np.int64(bin[node])
            node = np.int64(left[node]) + (0 if goes_left else 1)
        out[row] = node
