"""Predict binned rows with one small or symmetric tree, column by column.

Each leaf has a bit, numbered from the left. A split that sends a row right clears the bits of the leaves on its left;
after all splits the lowest bit left is the row's leaf. The bits of a row lie in bytes, one in each of ⌈leaves / 8⌉
planes. A split reads one column from end to end, without a branch, and touches only those planes in which it clears
something, so the loops are vectorised.

In a symmetric tree the outcomes of the splits, one per depth, are the bits of the leaf's number.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import NODE_BIN, NODE_FEATURE, NODE_LEFT, NODE_MISSING_LEFT
from sapwood.kernels.predict.bit_planes import ALL_BITS, NO_BITS, lowest_bit
from sapwood.native.runtime.kernel import kernel

BLOCK = 4096  # rows at a time, whose bits stay in the L1 cache
ONE = np.uint64(1)
N_LEAVES, FIRST_LEAF = range(2)  # columns of ``subtrees``: the leaves below a node
MIN_BIN, MAX_BIN = range(2)  # columns of ``left_bins``: the bins that a split sends left


@kernel()
def number_leaves(nodes, subtrees):
    """Write the number of leaves below each node, and the number of the first of them, from the left."""
    n = nodes.shape[0]
    for back in range(n):
        node = n - 1 - back
        left = nodes[node, NODE_LEFT]
        is_leaf = nodes[node, NODE_FEATURE] < 0
        subtrees[node, N_LEAVES] = 1 if is_leaf else subtrees[left, N_LEAVES] + subtrees[left + 1, N_LEAVES]
    subtrees[0, FIRST_LEAF] = 0
    for node in range(n):
        if nodes[node, NODE_FEATURE] >= 0:
            left = nodes[node, NODE_LEFT]
            subtrees[left, FIRST_LEAF] = subtrees[node, FIRST_LEAF]
            subtrees[left + 1, FIRST_LEAF] = subtrees[node, FIRST_LEAF] + subtrees[left, N_LEAVES]


@kernel(noinline=True)
def apply_split(column, begin, n, left_bins, kept, bits):
    """Clear the bits of a plane outside ``kept`` for the rows that a split sends right."""
    min_bin = left_bins[MIN_BIN]
    max_bin = left_bins[MAX_BIN]
    for i in range(n):
        b = column[begin + i]
        bits[i] = np.uint8(bits[i] & (ALL_BITS if (b >= min_bin) & (b <= max_bin) else kept))


@kernel()
def apply_splits(columns, begin, n, nodes, subtrees, left_bins, planes):
    """Evaluate all splits for n rows from ``begin`` on; the lowest bit left in the planes of a row is its leaf."""
    n_planes = (subtrees[0, N_LEAVES] + 7) // 8
    for p in range(n_planes):
        for i in range(n):
            planes[p, i] = ALL_BITS
    for node in range(nodes.shape[0]):
        if nodes[node, NODE_FEATURE] < 0:
            continue
        left = nodes[node, NODE_LEFT]
        cleared = ((ONE << np.uint64(subtrees[left, N_LEAVES])) - ONE) << np.uint64(subtrees[left, FIRST_LEAF])
        for p in range(n_planes):
            kept = np.uint8(np.uint64(255) & ~(cleared >> np.uint64(8 * p)))
            if kept != ALL_BITS:
                apply_split(columns[nodes[node, NODE_FEATURE]], begin, n, left_bins[node], kept, planes[p])


@kernel(noinline=True)
def find_lowest_bits(n, n_planes, planes, leaves):
    """Write the leaf of each of n rows, the lowest bit of its planes, to ``leaves``; the first plane is overwritten."""
    bits = planes[0]
    for i in range(n):
        leaves[i] = NO_BITS
    for p in range(1, n_planes):
        plane = planes[p]
        eights = np.uint8(8 * p)
        for i in range(n):
            new = ALL_BITS if bits[i] == NO_BITS else NO_BITS
            bits[i] = bits[i] | np.uint8(plane[i] & new)
            leaves[i] = np.uint8(leaves[i] & np.uint8(~new)) | np.uint8(eights & new)
    for i in range(n):
        leaves[i] = leaves[i] | lowest_bit(bits[i])


@kernel(
    "u8[:,:], i64[:,:], f64[:,:], i64[:,:,:], u8[:,:,:], f64[:,:,:], u8[:,:,:], i64, f64[:,:]",
    "u16[:,:], i64[:,:], f64[:,:], i64[:,:,:], u16[:,:,:], f64[:,:,:], u8[:,:,:], i64, f64[:,:]",
)
def add_small_tree(
    member, members, sync, columns, nodes, values, subtrees, left_bins, leaf_values, planes, output, out
):  # fmt: skip
    """Add the values of a tree of at most 64 leaves to the scores ``out`` (outputs, rows).

    ``nodes`` begin with the columns of ``TreeNodes.ints`` up to the child; missing is bin 0. The others are workspaces
    of each member: ``subtrees`` and ``left_bins`` (nodes, 2), ``leaf_values`` (leaves, outputs), and
    ⌈leaves / 8⌉ + 1 ``planes`` of ``BLOCK`` rows.
    """
    my_planes = planes[member]
    n_planes = my_planes.shape[0] - 1
    number_leaves(nodes, subtrees[member])
    for node in range(nodes.shape[0]):
        left_bins[member, node, MIN_BIN] = 1 if nodes[node, NODE_MISSING_LEFT] == 0 else 0
        left_bins[member, node, MAX_BIN] = max(nodes[node, NODE_BIN], 0)
        if nodes[node, NODE_FEATURE] < 0:
            for k in range(values.shape[1]):
                leaf_values[member, subtrees[member, node, FIRST_LEAF], k] = values[node, k]
    n_rows = columns.shape[1]
    n_blocks = (n_rows + BLOCK - 1) // BLOCK
    leaves = my_planes[n_planes]
    for block in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        begin = np.uint64(block * BLOCK)
        n = np.uint64(min(BLOCK, n_rows - block * BLOCK))
        apply_splits(columns, begin, n, nodes, subtrees[member], left_bins[member], my_planes)
        find_lowest_bits(n, n_planes, my_planes, leaves)
        for k in range(values.shape[1]):
            target = out[output + k]
            for i in range(n):
                target[begin + i] += leaf_values[member, np.uint64(leaves[i]), k]


@kernel("i64[:,:], i64[:], i64[:,:], i64[:]")
def read_symmetric_levels(nodes, features, splits, leaves):
    """Write the column and split of each depth, and the nodes of the leaves, as ``add_symmetric_tree`` takes them.

    ``features[0]`` is -1 if nodes of one depth have different splits or are leaves.
    """
    leaves[0] = 0
    for k in range(features.shape[0]):
        first = nodes[leaves[0]]
        n_nodes = 1 << k
        is_symmetric = first[NODE_FEATURE] >= 0
        for j in range(1, n_nodes):
            node = nodes[leaves[j]]
            is_symmetric = (
                is_symmetric
                and node[NODE_FEATURE] == first[NODE_FEATURE]
                and node[NODE_BIN] == first[NODE_BIN]
                and node[NODE_MISSING_LEFT] == first[NODE_MISSING_LEFT]
            )
        if not is_symmetric:
            features[0] = -1
            return
        features[k] = first[NODE_FEATURE]
        # Bins above the first number go right, and so does the second: bin 0 (missing), or a bin above the first.
        splits[k, 0] = first[NODE_BIN]
        splits[k, 1] = first[NODE_BIN] + 1 if first[NODE_MISSING_LEFT] != 0 else 0
        for j in range(n_nodes):
            left = nodes[leaves[j], NODE_LEFT]
            leaves[j] = left
            leaves[n_nodes + j] = left + 1


@kernel(
    "u8[:,:], i64[:], u8[:,:], u8[:,:], f64[:,:], i64, f64[:,:]",
    "u16[:,:], i64[:], u16[:,:], u8[:,:], f64[:,:], i64, f64[:,:]",
)
def add_symmetric_tree(member, members, sync, columns, features, splits, bits, values, output, out):
    """Add the values of a symmetric tree of depth at most 8 to the scores ``out`` (outputs, rows).

    Depth k splits the column ``features[k]``. ``splits[k]`` holds the last bin that goes left, and a smaller bin that
    goes right (0: missing values do). Bit k of the number of a leaf is 1 if it is on the right there; ``values`` are
    by these numbers. ``bits`` is a workspace, a row per member.
    """
    n_rows = columns.shape[1]
    my_bits = bits[member]
    n_blocks = (n_rows + BLOCK - 1) // BLOCK
    for block in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        begin = np.uint64(block * BLOCK)
        n = np.uint64(min(BLOCK, n_rows - block * BLOCK))
        for i in range(n):
            my_bits[i] = 0
        for k in range(features.shape[0]):
            column = columns[features[k]]
            max_left = splits[k, 0]
            also_right = splits[k, 1]
            bit = np.uint8(1 << k)
            for i in range(n):
                b = column[begin + i]
                my_bits[i] |= bit if (b > max_left) | (b == also_right) else np.uint8(0)
        for k in range(values.shape[1]):
            target = out[output + k]
            for i in range(n):
                target[begin + i] += values[np.uint64(my_bits[i]), k]
