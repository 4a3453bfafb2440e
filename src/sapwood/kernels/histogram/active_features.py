"""Operations on the cells of the active features of a leaf: those on which it, or a leaf below it, may be split.

A sparse feature stored in too few rows of a leaf cannot be split there, nor further down. The cells of such features
are never read, so that they may hold anything.

The active features of a leaf are a row of ``Histograms.active``. It begins with their number in each slice of features;
those of slice t follow, ascending, from position ``T + slices[t]`` on::

    T = 2, slices 0 4 9:    n_0 n_1 | 0 1 3 . | 4 7 8 . .

A member writes its own slice, and reads slices ``from_slice`` to ``to_slice``: its own, or all of them.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells, count_slices
from sapwood.kernels.histogram.dense_bins import clear_cells
from sapwood.native.runtime.kernel import kernel

ONE = np.uint64(1)
# Cells of inactive features, which may hold anything, between two active ones that are processed in one loop.
MAX_GAP = 32


@kernel()
def active_start(slices, t):
    """Return the position of the first active feature of a slice."""
    return count_slices(slices) + slices[t]


@kernel()
def end_of_run(active, position, end, offset):
    """Return the end of the run of features from ``position`` on whose cells are contiguous, or nearly so."""
    k = position + 1
    while k < end and offset[active[k]] <= offset[active[k - 1] + 1] + MAX_GAP:
        k += 1
    return k


@kernel(noinline=True)
def clear_active(active, from_slice, to_slice, slices, offset, n_planes, cells):
    """Set the cells of the active features of some slices to zero."""
    n_cells = count_cells(offset)
    for t in range(from_slice, to_slice):
        position = active_start(slices, t)
        end = position + active[t]
        while position < end:
            first_cell = offset[active[position]]
            position = end_of_run(active, position, end, offset)
            end_cell = offset[active[position - 1] + 1]
            for p in range(n_planes):
                clear_cells(cells, p * n_cells + first_cell, p * n_cells + end_cell)


@kernel(noinline=True)
def fill_default_bins(active, from_slice, to_slice, features, sums, histogram, sparse_counts):
    """Set the default bin of each sparse or bundled feature to the leaf's sums minus those of its other bins.

    Where rows are counted, the count of the default bin becomes the number of rows stored in any other bin.
    """
    n_cells = np.uint64(count_cells(features.offset))
    for t in range(from_slice, to_slice):
        position = np.uint64(active_start(features.slices, t))
        for i in range(position, position + np.uint64(active[t])):
            f = np.uint64(active[i])
            if features.default_bin[f] < 0:
                continue
            default_bin = np.uint64(features.default_bin[f])
            size = np.uint64(features.n_bins[f]) + ONE
            for p in range(np.uint64(sums.shape[0])):
                first = p * n_cells + np.uint64(features.offset[f])
                rest = sums[p]
                for j in range(first, first + size):
                    rest -= histogram[j]
                histogram[first + default_bin] += rest
            if sparse_counts.shape[0] > 0:
                first = np.uint64(features.offset[f])
                total = np.int32(0)
                for j in range(first, first + size):
                    total += sparse_counts[j]
                sparse_counts[first + default_bin] = total - sparse_counts[first + default_bin]
