"""Sum the pairs of several planes into histograms together, from and into lines.

With one plane after the other, a row's bins would be read for each. Here a row keeps its integers of all planes side
by side, its *line*, and so does a cell while it is summed up: eight planes are added by a few vector instructions.
Planes come in groups of eight, the last one of four if that is enough; lines are as wide as all groups. In a line of
work, group g holds for every cell the sums of its planes; the finished histogram has one plane after the other again::

    line of a row    p0 p1 p2 p3 p4 p5 p6 p7 | p8 p9  0  0
    line of work     cell 0: p0 .. p7, cell 1: p0 .. p7, ... | cell 0: p8 .. p11, cell 1: p8 .. p11, ...
    histogram        p0: cell 0, cell 1, ... | p1: cell 0, cell 1, ...
"""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

GROUP = 8
# Rows ahead of the one being added; hides the time a row takes to come from memory.
PREFETCH_DISTANCE = np.uint64(16)
FOUR = np.uint64(4)
# Rows that stay near while they are read for every group.
BLOCK = 256


def padded_planes(n_planes: int) -> int:
    """The width of the lines of so many planes."""
    return -(-n_planes // 4) * 4


@kernel()
def interleave_planes(pairs, order, start, stop, lines):
    """Write the integers of the rows at some positions from planes to the lines of the rows."""
    for i in range(np.uint64(start), np.uint64(stop)):
        line = lines[order[i]]
        for p in range(np.uint64(pairs.shape[0])):
            line[p] = pairs[p, order[i]]


@kernel()
def add_four_planes(line, from_plane, at, cells):
    """Add four integers of a row to those of a cell."""
    a = line[from_plane]
    b = line[from_plane + np.uint64(1)]
    c = line[from_plane + np.uint64(2)]
    d = line[from_plane + np.uint64(3)]
    a += cells[at]
    b += cells[at + np.uint64(1)]
    c += cells[at + np.uint64(2)]
    d += cells[at + np.uint64(3)]
    cells[at] = a
    cells[at + np.uint64(1)] = b
    cells[at + np.uint64(2)] = c
    cells[at + np.uint64(3)] = d


@kernel(noinline=True)
def add_plane_group(tile, order, lines, first, last, from_plane, width, begin, end, bits, offset, cells):
    """Add one group of planes of the rows at some positions to the cells of features ``begin`` to ``end`` of a tile."""
    stop = np.uint64(last)
    n_bits = np.uint64(bits)
    lane_bits = np.uint64(6) - n_bits
    lanes = (np.uint64(1) << lane_bits) - np.uint64(1)
    mask = (np.uint64(1) << (np.uint64(1) << n_bits)) - np.uint64(1)
    plane = np.uint64(from_plane)
    for k in range(np.uint64(first), stop):
        if k + PREFETCH_DISTANCE < stop:
            prefetch(tile, order[k + PREFETCH_DISTANCE])
            prefetch(lines, order[k + PREFETCH_DISTANCE])
        row = tile[order[k]]
        line = lines[order[k]]
        for j in range(np.uint64(begin), np.uint64(end)):
            cell = np.uint64(offset[j]) + ((row[j >> lane_bits] >> ((j & lanes) << n_bits)) & mask)
            if width == GROUP:
                add_four_planes(line, plane, cell * np.uint64(GROUP), cells)
                add_four_planes(line, plane + FOUR, cell * np.uint64(GROUP) + FOUR, cells)
            else:
                add_four_planes(line, plane, cell * FOUR, cells)


@kernel()
def group_width(n_lanes, from_plane):
    """How many planes the group that begins with a plane has, in lines of so many."""
    return min(n_lanes - from_plane, GROUP)


@kernel()
def add_interleaved(tiles, order, lines, first, last, from_feature, to_feature, bits, start, out):
    """Add all planes of the rows at positions ``first`` to ``last`` to the cells of some features in a line of work."""
    n_cells = start[start.shape[0] - 1]
    n_lanes = lines.shape[1]
    width = tiles.shape[2] << (6 - bits)
    step = BLOCK if n_lanes > GROUP else max(1, last - first)
    for t in range(from_feature // width, (to_feature + width - 1) // width):
        begin = max(from_feature - t * width, 0)
        end = min(to_feature - t * width, width)
        offset = start[t * width :]
        for a in range(first, last, step):
            for p in range(0, n_lanes, GROUP):
                cells = out[p * n_cells :]
                e = min(a + step, last)
                add_plane_group(
                    tiles[t], order, lines, a, e, p, group_width(n_lanes, p), begin, end, bits, offset, cells
                )  # fmt: skip


@kernel()
def clear_interleaved(out, n_lanes, n_cells, from_cell, to_cell):
    """Set some cells of a line of work to zero."""
    for p in range(0, n_lanes, GROUP):
        width = group_width(n_lanes, p)
        for j in range(np.uint64(p * n_cells + width * from_cell), np.uint64(p * n_cells + width * to_cell)):
            out[j] = 0


@kernel(noinline=True)
def merge_interleaved(work, from_part, to_part, n_planes, n_cells, from_cell, to_cell, out):
    """Add some cells of the members' lines of work, and write them to a histogram."""
    n_lanes = work.shape[1] // n_cells
    for p in range(0, n_lanes, GROUP):
        width = np.uint64(group_width(n_lanes, p))
        here = np.uint64(min(np.int64(width), n_planes - p))
        for j in range(np.uint64(from_cell), np.uint64(to_cell)):
            at = np.uint64(p * n_cells) + width * j
            to = np.uint64(p * n_cells) + j
            for q in range(here):
                total = work[from_part, at + q]
                for t in range(from_part + 1, to_part):
                    total += work[t, at + q]
                out[to + q * np.uint64(n_cells)] = total
