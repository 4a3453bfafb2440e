"""Send rows through finished trees.

Rows are taken in blocks that stay in the cache, the values of a block stored feature by feature, and every tree is
answered for the whole block before the next.

The top of a tree is asked as a whole. Each of its up to 32 exits has a bit, numbered from the left. A split that sends
a row right clears the bits of the exits on its left; when all splits have been asked, the lowest bit left is the row's
exit. The splits need no order, so the loops run over rows without a branch or a dependent load and become vector code.
The lowest bit times a de Bruijn number has a different value in its top bits for each exit: its place in a table.

The exits of a small tree are its leaves. From those of a larger tree the rows that are not at a leaf yet step down all
together, again without a branch; those that arrive leave the list.

A symmetric tree asks one question per level: the answers are the bits of the leaf's number.

Scores are added in the order of the trees, so they depend neither on the blocks nor on the number of threads.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.native.runtime.intrinsics import float_bits
from sapwood.native.runtime.kernel import kernel, layout

TOP = 32  # exits of a tree's top

FIRST, LAST, TABLE, OUTPUT, KIND = range(5)  # columns of Forest.trees
SHALLOW, DEEP, SYMMETRIC = range(3)  # kinds of trees

BRUIJN = np.uint32(0x077CB531)
ALL_BITS = np.uint32(0xFFFFFFFF)
NO, ONE = np.uint32(0), np.uint32(1)
U1 = np.uint64(1)
CHILD = np.uint64(0xFFFFFFFF)
MISSING_RIGHT_BIT = np.uint64(32)
SLOT_BIT = np.uint64(33)
SLOT = np.uint64(0x3FFFFFFF)
SET_BIT = np.uint64(63)
WORD_BITS = 64


@layout
class Forest(NamedTuple):
    """Trees packed for prediction (see ``model/predict/tree_packing.py``).

    The tables have ``TOP`` entries for the exits of each tree's top and, if it is deep, one for each node below it. Of
    a symmetric tree they hold the leaves, and its splits are one of each level.
    """

    trees: "i64[:,:]"  # first and last of the splits of its top, start of its table, output, kind
    slots: "i64[:]"  # per split: twice the line of the block that holds its feature, plus 1 if missing values go right;
    # of a set −1 − (64 · line + bit): rows go right whose word in that line has the bit
    masks: "u32[:]"  # per split: the exits that remain when a row goes right
    features: "i64[:]"  # per line of the block: the feature
    links: "u64[:,:]"  # table: left child, missing-right bit, line of the block and set bit in one word, then the
    # threshold, or the bit of a set
    thresholds: "f64[:,:]"  # the same memory as links
    values: "f64[:,:]"  # table: values per leaf
    nodes: "i32[:]"  # table: number of the leaf in its tree


@kernel()
def fill_block(x, origin, row_stride, column_stride, features, n, block):
    """Copy n rows, the first of which starts at ``x[origin]``, into ``block``, a line per feature."""
    for s in range(features.shape[0]):
        place = np.uint64(origin + features[s] * column_stride)
        for i in range(n):
            block[s, i] = x[place]
            place += np.uint64(row_stride)


@kernel()
def word_of(value):
    """The bits of a value that stands for a word."""
    return np.uint64(float_bits(np.float64(value)))


@kernel()
def find_exits(tree, forest, thresholds, n, block, bits, places):
    """Find where each row leaves the top of a tree; write the place of that exit in the forest's tables."""
    for i in range(n):
        bits[i] = ALL_BITS
    for k in range(forest.trees[tree, FIRST], forest.trees[tree, LAST]):
        mask = forest.masks[k]
        if forest.slots[k] < 0:
            line = np.uint64((-1 - forest.slots[k]) // WORD_BITS)
            bit = np.uint64((-1 - forest.slots[k]) % WORD_BITS)
            for i in range(n):
                bits[i] &= mask if (word_of(block[line, i]) >> bit) & U1 else ALL_BITS
            continue
        slot = np.uint64(forest.slots[k] >> 1)
        threshold = thresholds[k]
        if forest.slots[k] & 1:  # missing values go right: all do that are not at most the threshold
            for i in range(n):
                bits[i] &= ALL_BITS if block[slot, i] <= threshold else mask
        else:
            for i in range(n):
                bits[i] &= mask if block[slot, i] > threshold else ALL_BITS
    table = np.uint64(forest.trees[tree, TABLE])
    for i in range(n):
        lowest = np.uint32(bits[i] & np.uint32(~bits[i] + np.uint32(1)))
        places[i] = table + np.uint64(np.uint32(lowest * BRUIJN) >> np.uint32(27))


@kernel()
def find_symmetric(tree, forest, thresholds, n, block, bits, places):
    """Find the leaf of each row in a symmetric tree; write its place in the forest's tables."""
    for i in range(n):
        bits[i] = np.uint32(0)
    for k in range(forest.trees[tree, FIRST], forest.trees[tree, LAST]):
        slot = np.uint64(forest.slots[k] >> 1)
        threshold = thresholds[k]
        if forest.slots[k] & 1:
            for i in range(n):
                bits[i] = (bits[i] << ONE) | (NO if block[slot, i] <= threshold else ONE)
        else:
            for i in range(n):
                bits[i] = (bits[i] << ONE) | (ONE if block[slot, i] > threshold else NO)
    table = np.uint64(forest.trees[tree, TABLE])
    for i in range(n):
        places[i] = table + np.uint64(bits[i])


@kernel()
def step(forest, block, i, node):
    """The node below ``node`` for row i; a leaf is below itself."""
    link = forest.links[node, np.uint64(0)]
    value = block[(link >> SLOT_BIT) & SLOT, i]
    if link >> SET_BIT:
        return (link & CHILD) + ((word_of(value) >> forest.links[node, U1]) & U1)
    right = np.uint64(value > forest.thresholds[node, np.uint64(1)])
    missing = np.uint64(value != value)
    return (link & CHILD) + (right | (missing & (link >> MISSING_RIGHT_BIT)))


@kernel()
def walk_down(forest, n, block, active, places):
    """Walk from the exits of a tree's top, whose places are given, to the leaves, and write the places of these.

    ``active`` (a workspace) lists the rows that are not yet at a leaf.
    """
    n_active = np.uint64(0)
    for i in range(n):
        active[n_active] = np.uint32(i)
        place = places[i]
        n_active += np.uint64((forest.links[place, np.uint64(0)] & CHILD) != place)
    while n_active > np.uint64(0):
        n_kept = np.uint64(0)
        for a in range(n_active):
            i = np.uint64(active[a])
            place = step(forest, block, i, places[i])
            places[i] = place
            active[n_kept] = np.uint32(i)
            n_kept += np.uint64((forest.links[place, np.uint64(0)] & CHILD) != place)
        n_active = n_kept


@kernel()
def leaves_of_block(tree, forest, thresholds, n, block, bits, places):
    """Write the place of each row's leaf in ``forest.values`` and ``forest.nodes``."""
    if forest.trees[tree, KIND] == SYMMETRIC:
        find_symmetric(tree, forest, thresholds, n, block, bits, places)
        return
    find_exits(tree, forest, thresholds, n, block, bits, places)
    if forest.trees[tree, KIND] == DEEP:
        walk_down(forest, n, block, bits, places)


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
    ``blocks``, ``bits`` and ``places`` are workspaces with one entry per member; their lines are as long as a block.
    """
    begin, end, shift = bounds[0], bounds[1], bounds[2]
    size = blocks.shape[2]
    n_blocks = (end - begin + size - 1) // size
    width = forest.values.shape[1]
    block, row_bits, row_places = blocks[member], bits[member], places[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * size
        n = min(size, end - start)
        fill_block(x, start * row_stride, row_stride, column_stride, forest.features, n, block)
        for tree in range(bounds[3], bounds[4]):
            leaves_of_block(tree, forest, thresholds, n, block, row_bits, row_places)
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
    size = blocks.shape[2]
    n_blocks = (end - begin + size - 1) // size
    block, row_bits, row_places = blocks[member], bits[member], places[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * size
        n = min(size, end - start)
        fill_block(x, start * row_stride, row_stride, column_stride, forest.features, n, block)
        for tree in range(bounds[3], bounds[4]):
            leaves_of_block(tree, forest, thresholds, n, block, row_bits, row_places)
            for i in range(n):
                out[shift + start + i, tree - bounds[3]] = forest.nodes[row_places[i]]


@kernel("f64[:], Forest, f64[:,:], u64[:], f64[:]")
def add_scores_of_row(x, forest, block, places, out):
    """Add the answers of all trees for one row, given by feature, to ``out``.

    The trees must be packed without tops. ``block`` (a line of one per feature in use) and ``places`` (eight) are
    workspaces.
    """
    for s in range(forest.features.shape[0]):
        block[s, 0] = x[forest.features[s]]
    n_trees = forest.trees.shape[0]
    row = np.uint64(0)
    for group in range((n_trees + 7) // 8):
        n = min(8, n_trees - 8 * group)
        for k in range(8):  # past the last tree, the last tree again
            places[k] = np.uint64(forest.trees[8 * group + min(k, n - 1), TABLE])
        n0, n1, n2, n3 = places[0], places[1], places[2], places[3]
        n4, n5, n6, n7 = places[4], places[5], places[6], places[7]
        moved = True
        while moved:  # eight trees are walked down in lockstep
            m0, m1 = step(forest, block, row, n0), step(forest, block, row, n1)
            m2, m3 = step(forest, block, row, n2), step(forest, block, row, n3)
            m4, m5 = step(forest, block, row, n4), step(forest, block, row, n5)
            m6, m7 = step(forest, block, row, n6), step(forest, block, row, n7)
            changes = (m0 ^ n0) | (m1 ^ n1) | (m2 ^ n2) | (m3 ^ n3) | (m4 ^ n4) | (m5 ^ n5) | (m6 ^ n6) | (m7 ^ n7)
            moved = changes != np.uint64(0)
            n0, n1, n2, n3, n4, n5, n6, n7 = m0, m1, m2, m3, m4, m5, m6, m7
        places[0], places[1], places[2], places[3] = n0, n1, n2, n3
        places[4], places[5], places[6], places[7] = n4, n5, n6, n7
        for k in range(n):
            output = forest.trees[8 * group + k, OUTPUT]
            for j in range(forest.values.shape[1]):
                out[output + j] += forest.values[places[k], j]
