"""Add rows to the histograms of a few features, whose bins are read column by column.

Where few of the features of a tile are needed, this reads fewer bytes than the rows of tiles. Columns are taken four at
a time: the number and the pair of a row are read once for all of them, and no addition waits for the one before.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.histogram.dense_bins import clear_cells
from sapwood.native.runtime.kernel import kernel

FEW = 4  # features at a time


@kernel(noinline=True)
def add_few_columns(columns, rows, values, first, last, features, n, column_of, offset, cells):
    """Add the values at positions ``first`` to ``last`` to the cells of one to four features."""
    f_0 = np.uint64(features[0])
    f_1 = np.uint64(features[min(1, n - 1)])
    f_2 = np.uint64(features[min(2, n - 1)])
    f_3 = np.uint64(features[min(3, n - 1)])
    bins_0 = columns[np.uint64(column_of[f_0])]
    bins_1 = columns[np.uint64(column_of[f_1])]
    bins_2 = columns[np.uint64(column_of[f_2])]
    bins_3 = columns[np.uint64(column_of[f_3])]
    cell_0 = np.uint64(offset[f_0])
    cell_1 = np.uint64(offset[f_1])
    cell_2 = np.uint64(offset[f_2])
    cell_3 = np.uint64(offset[f_3])
    for k in range(np.uint64(first), np.uint64(last)):
        row = rows[k]
        value = values[row]
        cells[cell_0 + np.uint64(bins_0[row])] += value
        if n > 1:
            cells[cell_1 + np.uint64(bins_1[row])] += value
        if n > 2:
            cells[cell_2 + np.uint64(bins_2[row])] += value
        if n > 3:
            cells[cell_3 + np.uint64(bins_3[row])] += value


@kernel()
def build_few(columns, partition, first, last, features, n, column_of, offset, histogram):
    """Build the histogram of the rows at ``first`` to ``last`` for one to four features, all planes."""
    n_cells = count_cells(offset)
    for p in range(partition.pairs.shape[0]):
        cells = histogram[p * n_cells : (p + 1) * n_cells]
        for j in range(n):
            clear_cells(cells, offset[features[j]], offset[features[j] + 1])
        add_few_columns(
            columns, partition.rows, partition.pairs[p], first, last, features, n, column_of, offset, cells
        )  # fmt: skip


@kernel()
def subtract_few(features, n, offset, n_planes, child, parent):
    """Subtract the histogram of a child from that of its parent, which becomes the sibling's, for some features."""
    n_cells = count_cells(offset)
    for p in range(n_planes):
        for j in range(n):
            first_cell = np.uint64(p * n_cells + offset[features[j]])
            end_cell = np.uint64(p * n_cells + offset[features[j] + 1])
            for cell in range(first_cell, end_cell):
                parent[cell] -= child[cell]
