"""Predict raw values with trees of at most 256 leaves and few distinct thresholds, with bytes for values.

A block of rows is binned once, a row of bytes per feature: 0 is missing, a value is in bin 1 + (number of the feature's
thresholds below it), so that bytes compare with a split's bin as values with its threshold. The search for the bin
starts in the cell of an even grid that holds the value; rounding is monotone, so the start is never too far.

Each leaf of a tree has a bit, numbered so that the leaves below the child with fewer of them come first. A split clears
these bits for the rows that go to the other child; after all splits the lowest bit left is the row's leaf. The bits of
a row lie in bytes, one in each of ⌈leaves / 8⌉ planes, and a split touches only those planes in which it clears
something: mostly one. So the loops run over bytes, without a branch or a dependent load, and are vectorised, 32 rows at
a time.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.encode.binning import search_step
from sapwood.kernels.predict.bit_planes import ALL_BITS, NO_BITS, lowest_bit
from sapwood.kernels.predict.packed_forest import OUT_OFFSET, ROW_BEGIN, ROW_END, TREE_BEGIN, TREE_END
from sapwood.native.runtime.kernel import kernel, layout

BLOCK = 512  # rows: their bytes stay in the L1 cache, and loops are long enough for vector instructions
MAX_LEAVES = 256
MAX_THRESHOLDS = 254

# Columns of ByteForest.trees and ByteForest.splits.
SPLITS_BEGIN, CLEARS_LEFT_BEGIN, SPLITS_END, N_PLANES, TABLE, OUTPUT = range(6)
SLOT, BIN, PLANE, MASK = range(4)

GRID_CELLS = 512  # between the lowest and highest threshold of a feature

ONE = np.uint8(1)


@layout
class ByteForest(NamedTuple):
    """Trees packed for bytes (see ``model/predict/byte_packing.py``)."""

    trees: "i64[:,:]"  # splits: begin, begin of those that clear bits of rows going left, end; number of planes, start
    # of its values, output
    splits: "i64[:,:]"  # slot of the block, bin, plane and the bits of that plane that remain
    features: "i64[:]"  # per slot: the feature; the slots of ``raised`` follow
    raised: "i64[:]"  # slots whose bins are stored once more, minus 1, so that missing values, 255, are above all
    edge_start: "i64[:]"  # per feature: where its thresholds start
    values: "f64[:,:]"  # values per output and leaf


@kernel()
def count_before_cell(x, grid, counts):
    """Return the number of thresholds in grid cells before that of x; missing values are in the first cell."""
    cell = (x - grid[0]) * grid[1]
    cell = cell if cell > grid[2] else grid[2]
    return np.uint64(counts[np.uint32(np.int32(cell if cell < grid[3] else grid[3]))])


@kernel()
def store_byte(below, x, bins, i):
    """Write the bin of the value x with ``below`` thresholds below it."""
    bins[i] = (below + np.uint64(1)) * np.uint64(x == x)


@kernel()
def bin_feature(x, position, stride, n, edges, start, depth, grid, counts, bins):
    """Write the bins of n values, the first of which is ``x[position]``; their thresholds are ``edges[start:]``."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    i = np.uint64(0)
    while i + four <= n:  # four searches wait for their thresholds together
        p = position + stride * i
        x0, x1, x2, x3 = x[p], x[p + stride], x[p + two * stride], x[p + three * stride]
        b0, b1 = count_before_cell(x0, grid, counts), count_before_cell(x1, grid, counts)
        b2, b3 = count_before_cell(x2, grid, counts), count_before_cell(x3, grid, counts)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            at = start + (one << shift) - one
            b0, b1 = search_step(edges, at, b0, shift, x0), search_step(edges, at, b1, shift, x1)
            b2, b3 = search_step(edges, at, b2, shift, x2), search_step(edges, at, b3, shift, x3)
        store_byte(b0, x0, bins, i)
        store_byte(b1, x1, bins, i + one)
        store_byte(b2, x2, bins, i + two)
        store_byte(b3, x3, bins, i + three)
        i += four
    while i < n:
        v = x[position + stride * i]
        below = count_before_cell(v, grid, counts)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            below = search_step(edges, start + (one << shift) - one, below, shift, v)
        store_byte(below, v, bins, i)
        i += one


@kernel()
def bin_block(x, origin, row_stride, column_stride, forest, edges, grid, counts, n, bins):
    """Write the bins of n rows, the first of which starts at ``x[origin]``, to ``bins`` (slots, rows)."""
    n_features = forest.features.shape[0]
    for f in range(n_features):
        position = np.uint64(origin + forest.features[f] * column_stride)
        start, depth = np.uint64(forest.edge_start[f]), np.uint64(counts[f, GRID_CELLS])
        bin_feature(
            x, position, np.uint64(row_stride), np.uint64(n), edges, start, depth, grid[f], counts[f], bins[f]
        )  # fmt: skip
    for r in range(forest.raised.shape[0]):
        source, raised = bins[forest.raised[r]], bins[n_features + r]
        for i in range(BLOCK):
            raised[i] = source[i] - ONE


@kernel()
def clear_leaf_bits(tree, forest, bins, planes):
    """Evaluate all splits of a tree: clear the bits of the leaves that each row cannot be in."""
    for p in range(forest.trees[tree, N_PLANES]):
        plane = planes[p]
        for i in range(BLOCK):
            plane[i] = ALL_BITS
    for k in range(forest.trees[tree, SPLITS_BEGIN], forest.trees[tree, CLEARS_LEFT_BEGIN]):
        values, plane = bins[forest.splits[k, SLOT]], planes[forest.splits[k, PLANE]]
        bin, mask = np.uint8(forest.splits[k, BIN]), np.uint8(forest.splits[k, MASK])
        for i in range(BLOCK):
            plane[i] &= mask if values[i] > bin else ALL_BITS
    for k in range(forest.trees[tree, CLEARS_LEFT_BEGIN], forest.trees[tree, SPLITS_END]):
        values, plane = bins[forest.splits[k, SLOT]], planes[forest.splits[k, PLANE]]
        bin, mask = np.uint8(forest.splits[k, BIN]), np.uint8(forest.splits[k, MASK])
        for i in range(BLOCK):
            plane[i] &= mask if values[i] <= bin else ALL_BITS


@kernel()
def find_leaves_in_planes(n_planes, planes, bits, leaves):
    """Write the leaf of each row, the lowest bit of its planes; ``bits`` is a workspace."""
    for i in range(BLOCK):
        bits[i] = NO_BITS
        leaves[i] = NO_BITS
    for k in range(n_planes):
        plane, eights = planes[n_planes - 1 - k], np.uint8(8 * (n_planes - 1 - k))
        for i in range(BLOCK):
            new, old, leaf = plane[i], bits[i], leaves[i]
            bits[i] = old if new == NO_BITS else new
            leaves[i] = leaf if new == NO_BITS else eights
    for i in range(BLOCK):
        leaves[i] = leaves[i] | lowest_bit(bits[i])


@kernel(
    "f32[:], i64, i64, ByteForest, f32[:], f32[:,:], u8[:,:], u8[:,:,:], u8[:,:,:], i64[:], f64[:,:]",
    "f64[:], i64, i64, ByteForest, f64[:], f64[:,:], u8[:,:], u8[:,:,:], u8[:,:,:], i64[:], f64[:,:]",
)
def add_scores_by_bytes(
    member, members, sync, x, row_stride, column_stride, forest, edges, grid, counts, bins, planes, bounds, out
):  # fmt: skip
    """Add the values of trees to the scores ``out`` (outputs, rows); ``x`` and ``bounds`` are those of ``add_scores``.

    ``edges`` are the thresholds in the type of ``x``, with infinity after those of each feature. Between its lowest and
    its highest threshold, each feature has a grid of ``GRID_CELLS`` equal cells. ``grid`` holds where it starts, the
    cells per unit, and the numbers of the first and last cell; ``counts`` the number of thresholds before each cell,
    and last the number of steps of a search among those in one cell. ``bins`` (slots and raised slots, ``BLOCK``) and
    ``planes`` (those of the largest tree and two more, ``BLOCK``) are workspaces of each member.
    """
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    my_bins, my_planes = bins[member], planes[member]
    bits, leaves = my_planes[my_planes.shape[0] - 2], my_planes[my_planes.shape[0] - 1]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        bin_block(x, start * row_stride, row_stride, column_stride, forest, edges, grid, counts, n, my_bins)
        for tree in range(bounds[TREE_BEGIN], bounds[TREE_END]):
            clear_leaf_bits(tree, forest, my_bins, my_planes)
            find_leaves_in_planes(forest.trees[tree, N_PLANES], my_planes, bits, leaves)
            table, first = np.uint64(forest.trees[tree, TABLE]), np.uint64(shift + start)
            for k in range(forest.values.shape[0]):
                scores, values = out[forest.trees[tree, OUTPUT] + k], forest.values[k]
                for i in range(np.uint64(n)):
                    scores[first + i] += values[table + np.uint64(leaves[i])]
