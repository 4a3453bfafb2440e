"""Send rows through finished trees.

Rows are taken in blocks that stay in the cache, the values of a block stored feature by feature, and every tree is
answered for the whole block before the next. How a tree finds the leaves of a block depends on its size:

- Up to 64 leaves: every leaf has a bit, numbered from the left. A split that sends a row right clears the bits of the
  leaves on its left; when all splits have been asked, the lowest bit left is the row's leaf. The splits need no order,
  so the loop runs over rows without a branch or a dependent load and vectorises. The lowest bit times a de Bruijn
  number has a different value in its top bits for each leaf: the place of the leaf's value in the tree's table.
- More leaves: eight rows walk down in lockstep, without branches; a leaf points to itself.

Scores are added in the order of the trees, so they depend neither on the blocks nor on the number of threads.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.native.kernel import kernel, layout

BLOCK = 128  # rows answered together

NARROW, BROAD, DEEP = 0, 1, 2  # up to 32 leaves, up to 64 leaves, more
KIND, FIRST, LAST, TABLE, OUTPUT, DEPTH = 0, 1, 2, 3, 4, 5  # columns of Forest.trees

BRUIJN_32 = np.uint32(0x077CB531)
BRUIJN_64 = np.uint64(0x03F79D71B4CB0A89)
ALL_32 = np.uint32(0xFFFFFFFF)
ALL_64 = np.uint64(0xFFFFFFFFFFFFFFFF)
CHILD = np.uint64(0xFFFFFFFF)
MISSING_RIGHT_BIT = np.uint64(32)
SLOT_BIT = np.uint64(33)


@layout
class Forest(NamedTuple):
    """Trees packed for prediction (see ``model/packing.py``)."""

    trees: "i64[:,:]"  # kind, first and last of its splits or links, start of its table, output, depth
    slots: "i64[:]"  # per split: the row of the block that holds its feature
    masks: "u64[:]"  # per split: the leaves that remain when a row goes right
    features: "i64[:]"  # per row of the block: the feature
    links: "u64[:,:]"  # per node of deep trees: left child, missing-right bit and slot in one word, then the threshold
    thresholds: "f64[:,:]"  # the same memory as links
    values: "f64[:,:]"  # the tables of all trees: values per leaf
    nodes: "i32[:]"  # the tables of all trees: number of the leaf in its tree


@kernel()
def fill_block(x, origin, row_stride, column_stride, features, n, block):
    """Copy n rows, the first of which starts at ``x[origin]``, into ``block``, a line per feature.

    Tell whether a value is missing.
    """
    missing = False
    for s in range(features.shape[0]):
        place = np.uint64(origin + features[s] * column_stride)
        for i in range(n):
            value = x[place]
            block[s, i] = value
            missing |= value != value
            place += np.uint64(row_stride)
    return missing


@kernel()
def leaves_of_narrow(tree, forest, thresholds, block, bits, places):
    """Find the leaves of a block in a tree of up to 32 leaves; missing values go left in the splits of even kind."""
    for i in range(BLOCK):
        bits[i] = ALL_32
    for k in range(forest.trees[tree, FIRST], forest.trees[tree, LAST]):
        slot = np.uint64(forest.slots[k] >> 1)
        threshold = thresholds[k]
        mask = np.uint32(forest.masks[k])
        if forest.slots[k] & 1:
            for i in range(BLOCK):
                bits[i] &= ALL_32 if block[slot, i] <= threshold else mask
        else:
            for i in range(BLOCK):
                bits[i] &= mask if block[slot, i] > threshold else ALL_32
    table = np.uint64(forest.trees[tree, TABLE])
    for i in range(BLOCK):
        lowest = np.uint32(bits[i] & np.uint32(~bits[i] + np.uint32(1)))
        places[i] = table + np.uint64(np.uint32(lowest * BRUIJN_32) >> np.uint32(27))


@kernel()
def leaves_of_broad(tree, forest, thresholds, block, places):
    """Find the leaves of a block in a tree of up to 64 leaves."""
    for i in range(BLOCK):
        places[i] = ALL_64
    for k in range(forest.trees[tree, FIRST], forest.trees[tree, LAST]):
        slot = np.uint64(forest.slots[k] >> 1)
        threshold = thresholds[k]
        mask = forest.masks[k]
        if forest.slots[k] & 1:
            for i in range(BLOCK):
                places[i] &= ALL_64 if block[slot, i] <= threshold else mask
        else:
            for i in range(BLOCK):
                places[i] &= mask if block[slot, i] > threshold else ALL_64
    table = np.uint64(forest.trees[tree, TABLE])
    for i in range(BLOCK):
        lowest = places[i] & (~places[i] + np.uint64(1))
        places[i] = table + ((lowest * BRUIJN_64) >> np.uint64(58))


@kernel()
def step(forest, block, i, node):
    """The node below ``node`` for row i; a missing value goes left."""
    link = forest.links[node, np.uint64(0)]
    right = block[link >> SLOT_BIT, i] > forest.thresholds[node, np.uint64(1)]
    return (link & CHILD) + np.uint64(right)


@kernel()
def step_with_missing(forest, block, i, node):
    """The node below ``node`` for row i, which may have missing values."""
    link = forest.links[node, np.uint64(0)]
    value = block[link >> SLOT_BIT, i]
    right = np.uint64(value > forest.thresholds[node, np.uint64(1)])
    missing = np.uint64(value != value)
    return (link & CHILD) + (right | (missing & (link >> MISSING_RIGHT_BIT)))


@kernel()
def leaves_of_deep(tree, forest, block, missing, places):
    """Find the leaves of a block in a tree of any size; ``missing`` tells whether the block has missing values."""
    root = np.uint64(forest.trees[tree, FIRST])
    shift = np.uint64(forest.trees[tree, TABLE]) - root
    depth = forest.trees[tree, DEPTH]
    for group in range(BLOCK // 8):
        i = np.uint64(8 * group)
        i1, i2, i3 = i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
        i4, i5, i6, i7 = i + np.uint64(4), i + np.uint64(5), i + np.uint64(6), i + np.uint64(7)
        n0 = n1 = n2 = n3 = n4 = n5 = n6 = n7 = root
        if missing:
            for _ in range(depth):
                n0, n1 = step_with_missing(forest, block, i, n0), step_with_missing(forest, block, i1, n1)
                n2, n3 = step_with_missing(forest, block, i2, n2), step_with_missing(forest, block, i3, n3)
                n4, n5 = step_with_missing(forest, block, i4, n4), step_with_missing(forest, block, i5, n5)
                n6, n7 = step_with_missing(forest, block, i6, n6), step_with_missing(forest, block, i7, n7)
        else:
            for _ in range(depth):
                n0, n1 = step(forest, block, i, n0), step(forest, block, i1, n1)
                n2, n3 = step(forest, block, i2, n2), step(forest, block, i3, n3)
                n4, n5 = step(forest, block, i4, n4), step(forest, block, i5, n5)
                n6, n7 = step(forest, block, i6, n6), step(forest, block, i7, n7)
        places[i], places[i1], places[i2], places[i3] = n0 + shift, n1 + shift, n2 + shift, n3 + shift
        places[i4], places[i5], places[i6], places[i7] = n4 + shift, n5 + shift, n6 + shift, n7 + shift


@kernel()
def leaves_of_block(tree, forest, thresholds, block, missing, bits, places):
    """Write the place of each row's leaf in ``forest.values`` and ``forest.nodes``."""
    kind = forest.trees[tree, KIND]
    if kind == NARROW:
        leaves_of_narrow(tree, forest, thresholds, block, bits, places)
    elif kind == BROAD:
        leaves_of_broad(tree, forest, thresholds, block, places)
    else:
        leaves_of_deep(tree, forest, block, missing, places)


@kernel(
    "f32[:], i64, i64, Forest, f32[:], f32[:,:,:], u32[:,:], u64[:,:], i64[:], f64[:,:]",
    "f64[:], i64, i64, Forest, f64[:], f64[:,:,:], u32[:,:], u64[:,:], i64[:], f64[:,:]",
)
def add_scores(
    member, members, sync, x, row_stride, column_stride, forest, thresholds, blocks, bits, places, bounds, out
):
    """Add the answers of trees to ``out`` (outputs, rows).

    Column j of row i is ``x[i * row_stride + j * column_stride]``. ``bounds`` holds the first and last row, the line of
    ``out`` of row 0, and the first and last tree. ``thresholds`` are those of ``forest.masks`` in the type of ``x``.
    ``blocks``, ``bits`` and ``places`` are workspaces with one entry per member, in lines of ``BLOCK``.
    """
    begin, end, shift = bounds[0], bounds[1], bounds[2]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    width = forest.values.shape[1]
    block, row_bits, row_places = blocks[member], bits[member], places[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        missing = fill_block(x, start * row_stride, row_stride, column_stride, forest.features, n, block)
        for tree in range(bounds[3], bounds[4]):
            leaves_of_block(tree, forest, thresholds, block, missing, row_bits, row_places)
            output = forest.trees[tree, OUTPUT]
            for k in range(width):
                for i in range(n):
                    out[output + k, shift + start + i] += forest.values[row_places[i], k]


@kernel(
    "f32[:], i64, i64, Forest, f32[:], f32[:,:,:], u32[:,:], u64[:,:], i64[:], i32[:,:]",
    "f64[:], i64, i64, Forest, f64[:], f64[:,:,:], u32[:,:], u64[:,:], i64[:], i32[:,:]",
)
def leaf_indices(
    member, members, sync, x, row_stride, column_stride, forest, thresholds, blocks, bits, places, bounds, out
):
    """Write the node in which each row ends, per row and tree, into ``out`` (rows, trees); see ``add_scores``."""
    begin, end, shift = bounds[0], bounds[1], bounds[2]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    block, row_bits, row_places = blocks[member], bits[member], places[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        missing = fill_block(x, start * row_stride, row_stride, column_stride, forest.features, n, block)
        for tree in range(bounds[3], bounds[4]):
            leaves_of_block(tree, forest, thresholds, block, missing, row_bits, row_places)
            for i in range(n):
                out[shift + start + i, tree - bounds[3]] = forest.nodes[row_places[i]]


@kernel(
    "u8[:,:,:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:], i64, i64",
    "u16[:,:,:], i32[:], i32[:], u8[:], i32[:], f64[:,:], i64, f64[:,:], i64, i64",
)
def add_scores_binned(member, members, sync, tiles, feature, bin, missing_left, left, value, output, out, begin, end):
    """Add one tree's answers for the binned rows ``begin`` to ``end`` to ``out`` (outputs, rows).

    A row goes left when its bin is at most ``bin`` of the node; bin 0 is missing. With vector leaves ``output`` is 0.
    """
    n = end - begin
    tile_width = tiles.shape[2]
    for row in range(begin + member * n // members, begin + (member + 1) * n // members):
        node = np.int64(0)
        while feature[node] >= 0:
            f = np.int64(feature[node])
            b = np.int64(tiles[f // tile_width, row, f % tile_width])
            right = b > bin[node]
            if b == 0:
                right = missing_left[node] == 0
            node = np.int64(left[node]) + np.int64(right)
        for k in range(value.shape[1]):
            out[output + k, row] += value[node, k]
