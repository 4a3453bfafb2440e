"""Add rows to the histograms of several planes together, with the planes of a row and of a cell interleaved.

Plane by plane, the bins of a row would be read once for each. Here the pairs of a row lie side by side for all planes,
and so do the sums of a cell in a partial histogram: eight planes are added by a few vector instructions. Planes come in
groups of eight, the last one of four if that is enough, so that their number is padded to a multiple of four. The
finished histogram has one plane after the other again::

    pairs of a row       p0 p1 p2 p3 p4 p5 p6 p7 | p8 p9  0  0
    partial histogram    cell 0: p0 .. p7, cell 1: p0 .. p7, ... | cell 0: p8 .. p11, cell 1: p8 .. p11, ...
    histogram            p0: cell 0, cell 1, ... | p1: cell 0, cell 1, ...
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.cells import count_cells
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

GROUP = 8
# Rows ahead of the one being added; hides the latency of memory.
PREFETCH_DISTANCE = np.uint64(16)
FOUR = np.uint64(4)
# Rows that stay in the cache while they are read for every group.
BLOCK = 256


def padded_planes(n_planes: int) -> int:
    """Return ``n_planes`` rounded up to a multiple of four."""
    return -(-n_planes // 4) * 4


@kernel()
def interleave_planes(pairs, rows, start, stop, pairs_by_row):
    """Copy the pairs of the rows at some positions from planes (P, n) to rows (n, P)."""
    for i in range(np.uint64(start), np.uint64(stop)):
        row_pairs = pairs_by_row[rows[i]]
        for p in range(np.uint64(pairs.shape[0])):
            row_pairs[p] = pairs[p, rows[i]]


@kernel()
def add_four_planes(row_pairs, from_plane, cell, cells):
    """Add four planes of a row to those of a cell."""
    a = row_pairs[from_plane]
    b = row_pairs[from_plane + np.uint64(1)]
    c = row_pairs[from_plane + np.uint64(2)]
    d = row_pairs[from_plane + np.uint64(3)]
    a += cells[cell]
    b += cells[cell + np.uint64(1)]
    c += cells[cell + np.uint64(2)]
    d += cells[cell + np.uint64(3)]
    cells[cell] = a
    cells[cell + np.uint64(1)] = b
    cells[cell + np.uint64(2)] = c
    cells[cell + np.uint64(3)] = d


@kernel(noinline=True)
def add_plane_group(
    tile, rows, pairs_by_row, first, last, from_plane, width, from_column, to_column, log2_bits, offset, cells
):
    """Add one group of planes of the rows at some positions to the cells of some columns of a tile."""
    stop = np.uint64(last)
    shift_bits = np.uint64(log2_bits)
    log2_bins = np.uint64(6) - shift_bits
    bins_mask = (np.uint64(1) << log2_bins) - np.uint64(1)
    mask = (np.uint64(1) << (np.uint64(1) << shift_bits)) - np.uint64(1)
    plane = np.uint64(from_plane)
    for k in range(np.uint64(first), stop):
        if k + PREFETCH_DISTANCE < stop:
            prefetch(tile, rows[k + PREFETCH_DISTANCE])
            prefetch(pairs_by_row, rows[k + PREFETCH_DISTANCE])
        tile_row = tile[rows[k]]
        row_pairs = pairs_by_row[rows[k]]
        for j in range(np.uint64(from_column), np.uint64(to_column)):
            cell = np.uint64(offset[j]) + ((tile_row[j >> log2_bins] >> ((j & bins_mask) << shift_bits)) & mask)
            if width == GROUP:
                add_four_planes(row_pairs, plane, cell * np.uint64(GROUP), cells)
                add_four_planes(row_pairs, plane + FOUR, cell * np.uint64(GROUP) + FOUR, cells)
            else:
                add_four_planes(row_pairs, plane, cell * FOUR, cells)


@kernel()
def group_width(n_padded, from_plane):
    """Return the number of planes, of ``n_padded``, in the group that begins with ``from_plane``."""
    return min(n_padded - from_plane, GROUP)


@kernel()
def add_interleaved(tiles, rows, pairs_by_row, first, last, from_feature, to_feature, log2_bits, offset, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to some features of a partial histogram."""
    n_cells = count_cells(offset)
    n_padded = pairs_by_row.shape[1]
    width = tiles.shape[2] << (6 - log2_bits)
    step = BLOCK if n_padded > GROUP else max(1, last - first)
    for t in range(from_feature // width, (to_feature + width - 1) // width):
        from_column = max(from_feature - t * width, 0)
        to_column = min(to_feature - t * width, width)
        tile_offset = offset[t * width :]
        for a in range(first, last, step):
            for p in range(0, n_padded, GROUP):
                cells = out[p * n_cells :]
                stop = min(a + step, last)
                add_plane_group(
                    tiles[t], rows, pairs_by_row, a, stop, p, group_width(n_padded, p),
                    from_column, to_column, log2_bits, tile_offset, cells,
                )  # fmt: skip


@kernel()
def clear_interleaved(out, n_padded, n_cells, from_cell, to_cell):
    """Set some cells of a partial histogram to zero."""
    for p in range(0, n_padded, GROUP):
        width = group_width(n_padded, p)
        for j in range(np.uint64(p * n_cells + width * from_cell), np.uint64(p * n_cells + width * to_cell)):
            out[j] = 0


@kernel(noinline=True)
def merge_interleaved(partial, from_part, to_part, n_planes, n_cells, from_cell, to_cell, out):
    """Write the sums of some cells of the members' partial histograms to a histogram, plane by plane."""
    n_padded = partial.shape[1] // n_cells
    for p in range(0, n_padded, GROUP):
        width = np.uint64(group_width(n_padded, p))
        n_here = np.uint64(min(np.int64(width), n_planes - p))
        for j in range(np.uint64(from_cell), np.uint64(to_cell)):
            source = np.uint64(p * n_cells) + width * j
            target = np.uint64(p * n_cells) + j
            for q in range(n_here):
                total = partial[from_part, source + q]
                for t in range(from_part + 1, to_part):
                    total += partial[t, source + q]
                out[target + q * np.uint64(n_cells)] = total
