"""Columns that nearly always have the same bin: each row lists the cells of those in which it differs.

A listed column costs what it differs, not a byte per row. Rows add their listed cells to histograms; what is left of
the leaf's sums belongs to the usual bin.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import clear_active
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

PREFETCH_DISTANCE = np.uint64(16)
# Rows that can be written while one list is searched.
BISECTION_COST = 32


@kernel()
def add_sparse_plane(row_start, entries, order, values, first, last, low, high, out):
    """Add the values at positions ``first`` to ``last`` to the cells from ``low`` to ``high`` that the rows list."""
    stop = np.uint64(last)
    from_cell = np.uint32(low)
    to_cell = np.uint32(high)
    for k in range(np.uint64(first), stop):
        if k + PREFETCH_DISTANCE < stop:
            prefetch(entries, np.uint64(row_start[order[k + PREFETCH_DISTANCE]]))
        row = np.uint64(order[k])
        value = values[row]
        for e in range(np.uint64(row_start[row]), np.uint64(row_start[row + np.uint64(1)])):
            cell = entries[e]
            if cell >= from_cell and cell < to_cell:
                out[np.uint64(cell)] += value


@kernel()
def add_sparse_planes(feature, order, pairs, first, last, low, high, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to the listed cells of a histogram."""
    n_cells = feature.offset[feature.offset.shape[0] - 1]
    for p in range(pairs.shape[0]):
        plane = out[p * n_cells : (p + 1) * n_cells]
        add_sparse_plane(feature.csr_start, feature.csr_cells, order, pairs[p], first, last, low, high, plane)


@kernel()
def count_sparse_rows(feature, order, first, last, step, low, high, counts):
    """Add ``step`` to the cells from ``low`` to ``high`` for every row at some positions that lists them."""
    from_cell = np.uint32(low)
    to_cell = np.uint32(high)
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(order[k])
        for e in range(np.uint64(feature.csr_start[row]), np.uint64(feature.csr_start[row + np.uint64(1)])):
            cell = feature.csr_cells[e]
            if cell >= from_cell and cell < to_cell:
                counts[np.uint64(cell)] += np.int32(step)


@kernel()
def count_sparse_leaf(live, from_lane, to_lane, feature, order, first, last, counts):
    """Count the rows of a leaf that list each cell of the features of lanes; nothing where counts have no room."""
    if counts.shape[0] == 0:
        return
    low = feature.offset[feature.slices[from_lane]]
    high = feature.offset[feature.slices[to_lane]]
    clear_active(live, from_lane, to_lane, feature.slices, feature.offset, 1, counts)
    count_sparse_rows(feature, order, first, last, 1, low, high, counts)


@kernel()
def count_sparse_root(live, member, feature, rows, counts):
    """``count_sparse_leaf`` for a member's share of the root, whose rows may be all of them."""
    if counts.shape[0] == 0 or rows.rows.shape[0] < rows.pairs.shape[1]:
        count_sparse_leaf(live, member, member + 1, feature, rows.rows, 0, rows.rows.shape[0], counts)
        return
    low = np.uint64(feature.offset[feature.slices[member]])
    for j in range(low, np.uint64(feature.offset[feature.slices[member + 1]])):
        counts[j] = np.int32(feature.csc_start[j + np.uint64(1)] - feature.csc_start[j])


@kernel()
def copy_bin_counts(feature, f, n_rows, listed, counts):
    """Write how many of ``n_rows`` rows are in each bin of a listed feature, given how many list each cell.

    The usual cell has the number of rows that list any.
    """
    for b in range(feature.n_bins[f] + 1):
        counts[b] = np.int64(listed[feature.offset[f] + b])
    counts[feature.default_bin[f]] = n_rows - counts[feature.default_bin[f]]


@kernel()
def sparse_bin(row_start, entries, row, low, n_bins, usual):
    """The bin of a row in the listed feature whose first cell is ``low``."""
    begin = np.uint64(row_start[row])
    end = np.uint64(row_start[row + np.uint64(1)])
    stop = end
    while begin < end:
        middle = (begin + end) >> np.uint64(1)
        if np.int64(entries[middle]) < low:
            begin = middle + np.uint64(1)
        else:
            end = middle
    if begin < stop and np.int64(entries[begin]) <= low + n_bins:
        return np.int64(entries[begin]) - low
    return usual


@kernel()
def decode_feature(feature, f, order, first, last, out):
    """Write the bins of a listed feature for the rows at some positions into ``out``, by row.

    Where these are many, all rows that list the feature are written, wherever they are; else their lists are searched.
    """
    low = feature.offset[f]
    n_bins = feature.n_bins[f]
    usual = feature.default_bin[f]
    if feature.csc_start[low + n_bins + 1] - feature.csc_start[low] <= BISECTION_COST * (last - first):
        for k in range(np.uint64(first), np.uint64(last)):
            out[np.uint64(order[k])] = usual
        for b in range(n_bins + 1):
            for j in range(np.uint64(feature.csc_start[low + b]), np.uint64(feature.csc_start[low + b + 1])):
                out[np.uint64(feature.csc_rows[j])] = b
        return
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(order[k])
        out[row] = sparse_bin(feature.csr_start, feature.csr_cells, row, low, n_bins, usual)


@kernel("i64[:], u32[:], i64[:], u32[:]")
def transpose_csr(row_start, entries, cell_start, listers):
    """List the rows of each cell, ascending, from the cells of each row."""
    for j in range(cell_start.shape[0]):
        cell_start[j] = 0
    for e in range(entries.shape[0]):
        cell_start[entries[e]] += 1
    for j in range(1, cell_start.shape[0]):
        cell_start[j] += cell_start[j - 1]
    for i in range(row_start.shape[0] - 1):
        row = row_start.shape[0] - 2 - i
        for e in range(row_start[row], row_start[row + 1]):
            cell_start[entries[e]] -= 1
            listers[cell_start[entries[e]]] = np.uint32(row)


@kernel(
    "u8[:,:,:], i64[:,:], i64[:], u32[:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:]",
    "u16[:,:,:], i64[:,:], i64[:], u32[:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:]",
)
def add_scores_sparse(
    member, members, sync, tiles, columns, row_start, entries, feature, bin, missing_left, left, value, output, out
):
    """Add one tree's answers for binned rows, some of whose columns are listed, to ``out`` (outputs, rows).

    A line of ``columns`` is the place of a column in the tiles (−1: listed), its first cell, bins and usual bin.
    """
    n = out.shape[1]
    width = tiles.shape[2]
    for i in range(member * n // members, (member + 1) * n // members):
        row = np.uint64(i)
        node = np.int64(0)
        while feature[node] >= 0:
            f = np.int64(feature[node])
            place = columns[f, 0]
            if place >= 0:
                b = np.int64(tiles[place // width, i, place % width])
            else:
                b = sparse_bin(row_start, entries, row, columns[f, 1], columns[f, 2], columns[f, 3])
            right = b > bin[node] or (b == 0 and missing_left[node] == 0)
            node = np.int64(left[node]) + np.int64(right)
        for k in range(value.shape[1]):
            out[output + k, i] += value[node, k]
