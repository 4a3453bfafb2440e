"""Predict raw values with a packed forest.

Rows are processed in blocks that stay in the cache, the values of a block stored feature by feature, and every tree is
evaluated for the whole block before the next.

The top of a tree is evaluated as a whole (QuickScorer). Each of its up to 32 exits has a bit, numbered from the left. A
split that sends a row right clears the bits of the exits on its left; after all splits the lowest bit left is the row's
exit. The splits need no order, so the loops run over rows without a branch or a dependent load and are vectorised. The
top bits of the lowest bit times a de Bruijn number differ for each exit: they are its position in a table.

The exits of a small tree are its leaves. From those of a larger tree the rows that are not at a leaf yet descend level
by level, again without a branch; those that arrive leave the list.

In a symmetric tree the outcomes of the splits, one per depth, are the bits of the leaf's number.

Scores are added in the order of the trees, so they depend neither on the blocks nor on the number of threads.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.native.runtime.intrinsics import float_bits
from sapwood.native.runtime.kernel import kernel, layout

MAX_EXITS = 32  # of the top of a tree

SPLITS_BEGIN, SPLITS_END, TABLE, OUTPUT, KIND = range(5)  # columns of Forest.trees
SHALLOW, DEEP, SYMMETRIC = range(3)  # kinds of trees
ROW_BEGIN, ROW_END, OUT_OFFSET, TREE_BEGIN, TREE_END = range(5)  # entries of ``bounds``

DE_BRUIJN = np.uint32(0x077CB531)
ALL_BITS = np.uint32(0xFFFFFFFF)
NO, ONE = np.uint32(0), np.uint32(1)
U1 = np.uint64(1)
CHILD_MASK = np.uint64(0xFFFFFFFF)
MISSING_RIGHT_BIT = np.uint64(32)
SLOT_BIT = np.uint64(33)
SLOT_MASK = np.uint64(0x3FFFFFFF)
BITSET_BIT = np.uint64(63)
WORD_BITS = 64


@layout
class Forest(NamedTuple):
    """Trees packed for prediction (see ``model/predict/tree_packing.py``).

    The tables have ``MAX_EXITS`` entries for the exits of each tree's top and, if it is deep, one for each node below
    it. Of a symmetric tree they hold the leaves, and its splits are one per depth.
    """

    trees: "i64[:,:]"  # splits of its top (begin, end), start of its table, output, kind
    slots: "i64[:]"  # per split: twice the slot of its feature in the block, plus 1 if missing values go right; of a
    # bitset split −1 − (64 · slot + bit): rows go right whose word in that slot has the bit
    masks: "u32[:]"  # per split: the exits that remain when a row goes right
    features: "i64[:]"  # per slot of the block: the feature
    links: "u64[:,:]"  # table: left child, missing-right bit, slot and bitset bit in one word, then the threshold, or
    # the bit of a bitset split
    thresholds: "f64[:,:]"  # the memory of ``links`` as floats
    values: "f64[:,:]"  # table: values per leaf
    nodes: "i32[:]"  # table: number of the leaf in its tree


@kernel()
def copy_block(x, origin, row_stride, column_stride, features, n, block):
    """Copy n rows, the first of which starts at ``x[origin]``, into ``block``, one slot per feature in use."""
    for s in range(features.shape[0]):
        position = np.uint64(origin + features[s] * column_stride)
        for i in range(n):
            block[s, i] = x[position]
            position += np.uint64(row_stride)


@kernel()
def bitset_word(value):
    """Return the bits of a value that holds a word of a category bitset."""
    return np.uint64(float_bits(np.float64(value)))


@kernel()
def find_exits(tree, forest, thresholds, n, block, bits, positions):
    """Write the position, in the forest's tables, of the exit through which each row leaves the top of a tree."""
    for i in range(n):
        bits[i] = ALL_BITS
    for k in range(forest.trees[tree, SPLITS_BEGIN], forest.trees[tree, SPLITS_END]):
        mask = forest.masks[k]
        if forest.slots[k] < 0:
            slot = np.uint64((-1 - forest.slots[k]) // WORD_BITS)
            bit = np.uint64((-1 - forest.slots[k]) % WORD_BITS)
            for i in range(n):
                bits[i] &= mask if (bitset_word(block[slot, i]) >> bit) & U1 else ALL_BITS
            continue
        slot = np.uint64(forest.slots[k] >> 1)
        threshold = thresholds[k]
        if forest.slots[k] & 1:  # missing values go right, as all that are not at most the threshold
            for i in range(n):
                bits[i] &= ALL_BITS if block[slot, i] <= threshold else mask
        else:
            for i in range(n):
                bits[i] &= mask if block[slot, i] > threshold else ALL_BITS
    table = np.uint64(forest.trees[tree, TABLE])
    for i in range(n):
        lowest = np.uint32(bits[i] & np.uint32(~bits[i] + np.uint32(1)))
        positions[i] = table + np.uint64(np.uint32(lowest * DE_BRUIJN) >> np.uint32(27))


@kernel()
def find_symmetric_leaves(tree, forest, thresholds, n, block, bits, positions):
    """Write the position, in the forest's tables, of each row's leaf in a symmetric tree."""
    for i in range(n):
        bits[i] = np.uint32(0)
    for k in range(forest.trees[tree, SPLITS_BEGIN], forest.trees[tree, SPLITS_END]):
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
        positions[i] = table + np.uint64(bits[i])


@kernel()
def next_node(forest, block, i, node):
    """Return the child of ``node`` for row i; a leaf is its own child."""
    link = forest.links[node, np.uint64(0)]
    value = block[(link >> SLOT_BIT) & SLOT_MASK, i]
    if link >> BITSET_BIT:
        return (link & CHILD_MASK) + ((bitset_word(value) >> forest.links[node, U1]) & U1)
    right = np.uint64(value > forest.thresholds[node, np.uint64(1)])
    missing = np.uint64(value != value)
    return (link & CHILD_MASK) + (right | (missing & (link >> MISSING_RIGHT_BIT)))


@kernel()
def descend(forest, n, block, active, positions):
    """Descend from the exits of a tree's top at ``positions`` to the leaves, and write the positions of these.

    ``active`` (a workspace) lists the rows that are not yet at a leaf.
    """
    n_active = np.uint64(0)
    for i in range(n):
        active[n_active] = np.uint32(i)
        position = positions[i]
        n_active += np.uint64((forest.links[position, np.uint64(0)] & CHILD_MASK) != position)
    while n_active > np.uint64(0):
        n_kept = np.uint64(0)
        for a in range(n_active):
            i = np.uint64(active[a])
            position = next_node(forest, block, i, positions[i])
            positions[i] = position
            active[n_kept] = np.uint32(i)
            n_kept += np.uint64((forest.links[position, np.uint64(0)] & CHILD_MASK) != position)
        n_active = n_kept


@kernel()
def find_block_leaves(tree, forest, thresholds, n, block, bits, positions):
    """Write the position of each row's leaf in ``forest.values`` and ``forest.nodes``."""
    if forest.trees[tree, KIND] == SYMMETRIC:
        find_symmetric_leaves(tree, forest, thresholds, n, block, bits, positions)
        return
    find_exits(tree, forest, thresholds, n, block, bits, positions)
    if forest.trees[tree, KIND] == DEEP:
        descend(forest, n, block, bits, positions)


@kernel(
    "f32[:], i64, i64, Forest, f32[:], f32[:,:,:], u32[:,:], u64[:,:], i64[:], f64[:,:]",
    "f64[:], i64, i64, Forest, f64[:], f64[:,:,:], u32[:,:], u64[:,:], i64[:], f64[:,:]",
)
def add_scores(
    member, members, sync, x, row_stride, column_stride, forest, thresholds, blocks, bits, positions, bounds, out
):
    """Add the values of trees to the scores ``out`` (outputs, rows).

    Column j of row i is ``x[i * row_stride + j * column_stride]``. ``bounds`` holds the rows (begin, end), the column
    of ``out`` for row 0, and the trees (begin, end). ``thresholds`` are those of ``forest.masks`` in the type of ``x``.
    ``blocks``, ``bits`` and ``positions`` are workspaces with one entry per member, for the rows of a block.
    """
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    size = blocks.shape[2]
    n_blocks = (end - begin + size - 1) // size
    width = forest.values.shape[1]
    block, row_bits, row_positions = blocks[member], bits[member], positions[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * size
        n = min(size, end - start)
        copy_block(x, start * row_stride, row_stride, column_stride, forest.features, n, block)
        for tree in range(bounds[TREE_BEGIN], bounds[TREE_END]):
            find_block_leaves(tree, forest, thresholds, n, block, row_bits, row_positions)
            output = forest.trees[tree, OUTPUT]
            for k in range(width):
                for i in range(n):
                    out[output + k, shift + start + i] += forest.values[row_positions[i], k]


@kernel(
    "f32[:], i64, i64, Forest, f32[:], f32[:,:,:], u32[:,:], u64[:,:], i64[:], i32[:,:]",
    "f64[:], i64, i64, Forest, f64[:], f64[:,:,:], u32[:,:], u64[:,:], i64[:], i32[:,:]",
)
def leaf_indices(
    member, members, sync, x, row_stride, column_stride, forest, thresholds, blocks, bits, positions, bounds, out
):
    """Write the leaf node of each row and tree into ``out`` (rows, trees); see ``add_scores`` for the arguments."""
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    size = blocks.shape[2]
    n_blocks = (end - begin + size - 1) // size
    block, row_bits, row_positions = blocks[member], bits[member], positions[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * size
        n = min(size, end - start)
        copy_block(x, start * row_stride, row_stride, column_stride, forest.features, n, block)
        for tree in range(bounds[TREE_BEGIN], bounds[TREE_END]):
            find_block_leaves(tree, forest, thresholds, n, block, row_bits, row_positions)
            for i in range(n):
                out[shift + start + i, tree - bounds[TREE_BEGIN]] = forest.nodes[row_positions[i]]


@kernel("f64[:], Forest, f64[:,:], u64[:], f64[:]")
def add_scores_of_row(x, forest, block, positions, out):
    """Add the values of all trees for one row ``x`` to the scores ``out``.

    The trees must be packed without tops. ``block`` (slots, 1) and ``positions`` (8) are workspaces.
    """
    for s in range(forest.features.shape[0]):
        block[s, 0] = x[forest.features[s]]
    n_trees = forest.trees.shape[0]
    row = np.uint64(0)
    for group in range((n_trees + 7) // 8):
        n = min(8, n_trees - 8 * group)
        for k in range(8):  # past the last tree, the last tree is repeated
            positions[k] = np.uint64(forest.trees[8 * group + min(k, n - 1), TABLE])
        n0, n1, n2, n3 = positions[0], positions[1], positions[2], positions[3]
        n4, n5, n6, n7 = positions[4], positions[5], positions[6], positions[7]
        moved = True
        while moved:  # eight trees are descended in lockstep
            m0, m1 = next_node(forest, block, row, n0), next_node(forest, block, row, n1)
            m2, m3 = next_node(forest, block, row, n2), next_node(forest, block, row, n3)
            m4, m5 = next_node(forest, block, row, n4), next_node(forest, block, row, n5)
            m6, m7 = next_node(forest, block, row, n6), next_node(forest, block, row, n7)
            changes = (m0 ^ n0) | (m1 ^ n1) | (m2 ^ n2) | (m3 ^ n3) | (m4 ^ n4) | (m5 ^ n5) | (m6 ^ n6) | (m7 ^ n7)
            moved = changes != np.uint64(0)
            n0, n1, n2, n3, n4, n5, n6, n7 = m0, m1, m2, m3, m4, m5, m6, m7
        positions[0], positions[1], positions[2], positions[3] = n0, n1, n2, n3
        positions[4], positions[5], positions[6], positions[7] = n4, n5, n6, n7
        for k in range(n):
            output = forest.trees[8 * group + k, OUTPUT]
            for j in range(forest.values.shape[1]):
                out[output + j] += forest.values[positions[k], j]
