"""Send rows through trees of at most 256 leaves that ask for few different thresholds, with bytes for values.

A block of rows is cut into bins once, a line of bytes per feature: 0 is missing, a value is in bin 1 + (number of the
feature's thresholds below it), so that a byte compares with a cut as the value with the threshold. The search starts
in the part of an even grid that the value is in; rounding keeps the order of values, so the start is never too far.

Each leaf of a tree has a bit, numbered so that the leaves below the child with fewer of them come first. A split clears
these bits for the rows that go to the other child; when all splits have been asked, the lowest bit left is the row's
leaf. The bits of a row lie in as many bytes, one in each plane, as the tree has leaves by eight, and a split touches
those planes only in which it clears something: mostly one. So the loops run over bytes, without a branch or a dependent
load, and become vector code of 32 rows at a time.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.encode.binning import search_step
from sapwood.native.runtime.kernel import kernel, layout

ROWS = 512  # of a block: its lines stay in the first cache and are long enough for vector code
MOST_LEAVES = 256
MOST_CUTS = 254

FIRST, TURN, LAST, PLANES, TABLE, OUTPUT = range(6)  # columns of ByteForest.trees
LINE, CUT, PLANE, MASK = range(4)  # columns of ByteForest.splits

PARTS = 512  # of the grid between a feature's lowest and highest threshold

FULL, NONE, ONE = np.uint8(255), np.uint8(0), np.uint8(1)


@layout
class ByteForest(NamedTuple):
    """Trees packed for bytes (see ``model/predict/byte_packing.py``)."""

    trees: "i64[:,:]"  # first of its splits, first of those that clear bits of rows going left, last; number of planes,
    # start of its values, output
    splits: "i64[:,:]"  # line of the block, cut, plane and the bits of that plane that remain
    features: "i64[:]"  # per line: the feature; the lines of ``raised`` follow
    raised: "i64[:]"  # lines that hold one less than others do, so that missing values, 255, are above all: which
    edge_start: "i64[:]"  # per feature: where its thresholds start
    values: "f64[:,:]"  # values per output and leaf


@kernel()
def first_guess(x, grid, guide):
    """How many thresholds stand in parts of the grid before that of x; missing values are in the first part."""
    place = (x - grid[0]) * grid[1]
    place = place if place > grid[2] else grid[2]
    return np.uint64(guide[np.uint32(np.int32(place if place < grid[3] else grid[3]))])


@kernel()
def put_byte(below, x, line, i):
    """Write the bin of a value with so many thresholds below it."""
    line[i] = (below + np.uint64(1)) * np.uint64(x == x)


@kernel()
def fill_line(x, place, stride, n, edges, start, depth, grid, guide, line):
    """Write the bins of n values, the first of which is ``x[place]``; their thresholds stand from ``start`` on."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    i = np.uint64(0)
    while i + four <= n:  # four searches wait for their thresholds together
        p = place + stride * i
        x0, x1, x2, x3 = x[p], x[p + stride], x[p + two * stride], x[p + three * stride]
        b0, b1 = first_guess(x0, grid, guide), first_guess(x1, grid, guide)
        b2, b3 = first_guess(x2, grid, guide), first_guess(x3, grid, guide)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            at = start + (one << shift) - one
            b0, b1 = search_step(edges, at, b0, shift, x0), search_step(edges, at, b1, shift, x1)
            b2, b3 = search_step(edges, at, b2, shift, x2), search_step(edges, at, b3, shift, x3)
        put_byte(b0, x0, line, i)
        put_byte(b1, x1, line, i + one)
        put_byte(b2, x2, line, i + two)
        put_byte(b3, x3, line, i + three)
        i += four
    while i < n:
        v = x[place + stride * i]
        below = first_guess(v, grid, guide)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            below = search_step(edges, start + (one << shift) - one, below, shift, v)
        put_byte(below, v, line, i)
        i += one


@kernel()
def fill_lines(x, origin, row_stride, column_stride, forest, edges, grid, guide, n, lines):
    """Cut n rows, the first of which starts at ``x[origin]``, into bins."""
    n_features = forest.features.shape[0]
    for f in range(n_features):
        place = np.uint64(origin + forest.features[f] * column_stride)
        start, depth = np.uint64(forest.edge_start[f]), np.uint64(guide[f, PARTS])
        fill_line(
            x, place, np.uint64(row_stride), np.uint64(n), edges, start, depth, grid[f], guide[f], lines[f]
        )  # fmt: skip
    for r in range(forest.raised.shape[0]):
        below, line = lines[forest.raised[r]], lines[n_features + r]
        for i in range(ROWS):
            line[i] = below[i] - ONE


@kernel()
def clear_bits(tree, forest, lines, planes):
    """Ask all splits of a tree: leave the bits of the leaves that each row may still be in."""
    for p in range(forest.trees[tree, PLANES]):
        plane = planes[p]
        for i in range(ROWS):
            plane[i] = FULL
    for k in range(forest.trees[tree, FIRST], forest.trees[tree, TURN]):
        line, plane = lines[forest.splits[k, LINE]], planes[forest.splits[k, PLANE]]
        cut, mask = np.uint8(forest.splits[k, CUT]), np.uint8(forest.splits[k, MASK])
        for i in range(ROWS):
            plane[i] &= mask if line[i] > cut else FULL
    for k in range(forest.trees[tree, TURN], forest.trees[tree, LAST]):
        line, plane = lines[forest.splits[k, LINE]], planes[forest.splits[k, PLANE]]
        cut, mask = np.uint8(forest.splits[k, CUT]), np.uint8(forest.splits[k, MASK])
        for i in range(ROWS):
            plane[i] &= mask if line[i] <= cut else FULL


@kernel()
def find_lowest(n_planes, planes, bits, places):
    """Write the number of the lowest bit of each row; ``bits`` is a workspace."""
    for i in range(ROWS):
        bits[i] = NONE
        places[i] = NONE
    for k in range(n_planes):
        plane, eights = planes[n_planes - 1 - k], np.uint8(8 * (n_planes - 1 - k))
        for i in range(ROWS):
            new, old, place = plane[i], bits[i], places[i]
            bits[i] = old if new == NONE else new
            places[i] = place if new == NONE else eights
    for i in range(ROWS):
        low = np.uint8(bits[i] & np.uint8(np.uint8(~bits[i]) + ONE))
        one = ONE if np.uint8(low & np.uint8(0xAA)) != NONE else NONE
        two = np.uint8(2) if np.uint8(low & np.uint8(0xCC)) != NONE else NONE
        four = np.uint8(4) if np.uint8(low & np.uint8(0xF0)) != NONE else NONE
        places[i] = places[i] | one | two | four


@kernel(
    "f32[:], i64, i64, ByteForest, f32[:], f32[:,:], u8[:,:], u8[:,:,:], u8[:,:,:], i64[:], f64[:,:]",
    "f64[:], i64, i64, ByteForest, f64[:], f64[:,:], u8[:,:], u8[:,:,:], u8[:,:,:], i64[:], f64[:,:]",
)
def add_scores_by_bytes(
    member, members, sync, x, row_stride, column_stride, forest, edges, grid, guide, lines, planes, bounds, out
):  # fmt: skip
    """Add the answers of trees to ``out`` (outputs, rows); ``x`` and ``bounds`` are as in ``add_scores``.

    ``edges`` are the thresholds in the type of ``x``, with infinity after those of each feature. Between its lowest and
    its highest, each feature has a grid of ``PARTS`` equal parts. ``grid`` holds where it starts, the parts per unit,
    and the numbers of the first and last part; ``guide`` holds how many thresholds stand before each part, and last the
    number of steps of a search among those in one part. ``lines`` and ``planes`` are workspaces with one entry per
    member: a line of ``ROWS`` for each feature and raised line; as many as the largest tree has planes, and two.
    """
    begin, end, shift = bounds[0], bounds[1], bounds[2]
    n_blocks = (end - begin + ROWS - 1) // ROWS
    own_lines, own_planes = lines[member], planes[member]
    bits, places = own_planes[own_planes.shape[0] - 2], own_planes[own_planes.shape[0] - 1]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * ROWS
        n = min(ROWS, end - start)
        fill_lines(x, start * row_stride, row_stride, column_stride, forest, edges, grid, guide, n, own_lines)
        for tree in range(bounds[3], bounds[4]):
            clear_bits(tree, forest, own_lines, own_planes)
            find_lowest(forest.trees[tree, PLANES], own_planes, bits, places)
            table, first = np.uint64(forest.trees[tree, TABLE]), np.uint64(shift + start)
            for k in range(forest.values.shape[0]):
                scores, values = out[forest.trees[tree, OUTPUT] + k], forest.values[k]
                for i in range(np.uint64(n)):
                    scores[first + i] += values[table + np.uint64(places[i])]
