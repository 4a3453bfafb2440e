"""Sum gradient pairs into histograms, one cell per plane, feature and bin.

Loop counters are unsigned: an index that may be negative costs a test at every access.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.intrinsics import prefetch
from sapwood.native.kernel import kernel

# Rows ahead of the one being added; hides the time a row takes to come from memory.
AHEAD = np.uint64(24)


@kernel()
def clear(cells, start, stop):
    """Set a range of cells to zero."""
    for j in range(np.uint64(start), np.uint64(stop)):
        cells[j] = 0


@kernel()
def add_rows(tiles, order, values, first, last, from_feature, to_feature, start, out):
    """Add the values at positions ``first`` to ``last`` to the cells of some features; one plane.

    A tile holds up to 32 bytes of a row side by side: one cache line is read per row and tile, and its cells lie in
    different features, so that no addition waits for the one before.
    """
    width = tiles.shape[2]
    for t in range(from_feature // width, (to_feature + width - 1) // width):
        tile = tiles[t]
        begin = np.uint64(max(from_feature - t * width, 0))
        end = np.uint64(min(to_feature - t * width, width))
        offset = start[t * width :]
        stop = np.uint64(last)
        for k in range(np.uint64(first), stop):
            if k + AHEAD < stop:
                prefetch(tile, order[k + AHEAD])
            row = tile[order[k]]
            value = values[k]
            for j in range(begin, end):
                out[np.uint64(offset[j]) + np.uint64(row[j])] += value


@kernel()
def add_planes(tiles, order, pairs, first, last, from_feature, to_feature, start, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to a histogram."""
    n_cells = start[start.shape[0] - 1]
    for p in range(pairs.shape[0]):
        plane = out[p * n_cells : (p + 1) * n_cells]
        add_rows(tiles, order, pairs[p], first, last, from_feature, to_feature, start, plane)


@kernel()
def merge(work, parts, out, from_feature, to_feature, start, n_planes):
    """Add the members' parts into ``out``, for some features."""
    n_cells = start[start.shape[0] - 1]
    for p in range(n_planes):
        begin = np.uint64(p * n_cells + start[from_feature])
        end = np.uint64(p * n_cells + start[to_feature])
        first = work[0]
        for j in range(begin, end):
            out[j] = first[j]
        for t in range(1, parts):
            part = work[t]
            for j in range(begin, end):
                out[j] += part[j]


@kernel()
def subtract(small, large, from_feature, to_feature, start, n_planes):
    """Leave parent − small in ``large``, which holds the parent, for some features."""
    n_cells = start[start.shape[0] - 1]
    for p in range(n_planes):
        for j in range(np.uint64(p * n_cells + start[from_feature]), np.uint64(p * n_cells + start[to_feature])):
            large[j] -= small[j]
