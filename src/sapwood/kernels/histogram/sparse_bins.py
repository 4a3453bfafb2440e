"""Sparse features: the bins that differ from a feature's default bin, stored as cells by row (CSR) and by cell (CSC).

A row adds its pair to its stored cells of a histogram. The rest of the leaf's sums belongs to the default bins
(``active_features.fill_default_bins``).
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import clear_active
from sapwood.kernels.histogram.cells import count_cells
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

PREFETCH_DISTANCE = np.uint64(16)
# Rows that are written in the time of one binary search.
BISECTION_COST = 32


@kernel()
def add_sparse_plane(csr_start, csr_cells, rows, values, first, last, first_cell, end_cell, out):
    """Add the values at positions ``first`` to ``last`` to the stored cells of the rows, of a range of cells."""
    stop = np.uint64(last)
    from_cell = np.uint32(first_cell)
    to_cell = np.uint32(end_cell)
    for k in range(np.uint64(first), stop):
        if k + PREFETCH_DISTANCE < stop:
            prefetch(csr_cells, np.uint64(csr_start[rows[k + PREFETCH_DISTANCE]]))
        row = np.uint64(rows[k])
        value = values[row]
        for e in range(np.uint64(csr_start[row]), np.uint64(csr_start[row + np.uint64(1)])):
            cell = csr_cells[e]
            if cell >= from_cell and cell < to_cell:
                out[np.uint64(cell)] += value


@kernel()
def add_sparse_planes(features, rows, pairs, first, last, from_cell, to_cell, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to their stored cells of a histogram."""
    n_cells = count_cells(features.offset)
    for p in range(pairs.shape[0]):
        plane = out[p * n_cells : (p + 1) * n_cells]
        add_sparse_plane(features.csr_start, features.csr_cells, rows, pairs[p], first, last, from_cell, to_cell, plane)


@kernel()
def count_sparse_rows(features, rows, first, last, increment, first_cell, end_cell, counts):
    """Add ``increment`` to the counts of the stored cells of the rows at some positions, of a range of cells."""
    from_cell = np.uint32(first_cell)
    to_cell = np.uint32(end_cell)
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(rows[k])
        for e in range(np.uint64(features.csr_start[row]), np.uint64(features.csr_start[row + np.uint64(1)])):
            cell = features.csr_cells[e]
            if cell >= from_cell and cell < to_cell:
                counts[np.uint64(cell)] += np.int32(increment)


@kernel()
def count_sparse_leaf(active, from_slice, to_slice, features, rows, first, last, counts):
    """Count the rows of a leaf stored in each cell of the features of some slices, unless ``counts`` is empty."""
    if counts.shape[0] == 0:
        return
    from_cell = features.offset[features.slices[from_slice]]
    to_cell = features.offset[features.slices[to_slice]]
    clear_active(active, from_slice, to_slice, features.slices, features.offset, 1, counts)
    count_sparse_rows(features, rows, first, last, 1, from_cell, to_cell, counts)


@kernel()
def count_sparse_root(active, member, features, partition, counts):
    """Do ``count_sparse_leaf`` for a member's slice of the root, whose rows may be all of them."""
    if counts.shape[0] == 0 or partition.rows.shape[0] < partition.pairs.shape[1]:
        count_sparse_leaf(active, member, member + 1, features, partition.rows, 0, partition.rows.shape[0], counts)
        return
    from_cell = np.uint64(features.offset[features.slices[member]])
    for j in range(from_cell, np.uint64(features.offset[features.slices[member + 1]])):
        counts[j] = np.int32(features.csc_start[j + np.uint64(1)] - features.csc_start[j])


@kernel()
def copy_bin_counts(features, f, n_rows, sparse_counts, counts):
    """Write the number of the ``n_rows`` rows of a leaf in each bin of a sparse feature, from its counts.

    The cell of the default bin counts the rows stored in any other bin.
    """
    for b in range(features.n_bins[f] + 1):
        counts[b] = np.int64(sparse_counts[features.offset[f] + b])
    counts[features.default_bin[f]] = n_rows - counts[features.default_bin[f]]


@kernel()
def sparse_bin(csr_start, csr_cells, row, first_cell, n_bins, default_bin):
    """Return the bin of a row in the sparse feature whose first cell is ``first_cell``, by binary search."""
    low = np.uint64(csr_start[row])
    high = np.uint64(csr_start[row + np.uint64(1)])
    row_end = high
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if np.int64(csr_cells[middle]) < first_cell:
            low = middle + np.uint64(1)
        else:
            high = middle
    if low < row_end and np.int64(csr_cells[low]) <= first_cell + n_bins:
        return np.int64(csr_cells[low]) - first_cell
    return default_bin


@kernel()
def decode_feature(features, f, rows, first, last, out):
    """Write the bins of a sparse feature for the rows at some positions into ``out``, by row.

    For many rows all stored bins of the feature are written, those of other rows too; for few they are searched.
    """
    first_cell = features.offset[f]
    n_bins = features.n_bins[f]
    default_bin = features.default_bin[f]
    if features.csc_start[first_cell + n_bins + 1] - features.csc_start[first_cell] <= BISECTION_COST * (last - first):
        for k in range(np.uint64(first), np.uint64(last)):
            out[np.uint64(rows[k])] = default_bin
        for b in range(n_bins + 1):
            for j in range(
                np.uint64(features.csc_start[first_cell + b]), np.uint64(features.csc_start[first_cell + b + 1])
            ):
                out[np.uint64(features.csc_rows[j])] = b
        return
    for k in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(rows[k])
        out[row] = sparse_bin(features.csr_start, features.csr_cells, row, first_cell, n_bins, default_bin)


@kernel("i64[:], u32[:], i64[:], u32[:]")
def transpose_csr(csr_start, csr_cells, csc_start, csc_rows):
    """Turn cells by row (CSR) into rows by cell (CSC), ascending."""
    for j in range(csc_start.shape[0]):
        csc_start[j] = 0
    for e in range(csr_cells.shape[0]):
        csc_start[csr_cells[e]] += 1
    for j in range(1, csc_start.shape[0]):
        csc_start[j] += csc_start[j - 1]
    for i in range(csr_start.shape[0] - 1):
        row = csr_start.shape[0] - 2 - i
        for e in range(csr_start[row], csr_start[row + 1]):
            csc_start[csr_cells[e]] -= 1
            csc_rows[csc_start[csr_cells[e]]] = np.uint32(row)
