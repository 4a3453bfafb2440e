"""Answer a small tree for all rows at once, by columns of bins.

Each leaf has a bit, numbered from the left. A split that sends a row right clears the bits of the leaves on its left;
when all splits have been asked, the lowest bit left is the row's leaf. The bits of a row lie in as many bytes, one in
each plane, as the tree has leaves by eight. A split reads one column from end to end, without a branch, and touches
those planes only in which it clears something, so the loops become vector code.

In a symmetric tree the answers of a row to the splits of its levels are the bits of its leaf's number.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import NODE_BIN, NODE_FEATURE, NODE_LEFT, NODE_MISSING_LEFT
from sapwood.native.runtime.kernel import kernel

BLOCK = 4096  # rows at a time, whose bits stay in the nearest cache
NONE, FULL, ONE = np.uint8(0), np.uint8(255), np.uint64(1)
SIZE, FIRST = range(2)  # columns of what is known of a node: how many leaves are below it, and the first of them
LEAST, MOST = range(2)  # columns of the bins that go left


@kernel()
def number_leaves(nodes, below):
    """Write how many leaves are below each node and the number of the first, from the left; a node 0 has no parent."""
    n = nodes.shape[0]
    for back in range(n):
        node = n - 1 - back
        left = nodes[node, NODE_LEFT]
        is_leaf = nodes[node, NODE_FEATURE] < 0
        below[node, SIZE] = 1 if is_leaf else below[left, SIZE] + below[left + 1, SIZE]
    below[0, FIRST] = 0
    for node in range(n):
        if nodes[node, NODE_FEATURE] >= 0:
            left = nodes[node, NODE_LEFT]
            below[left, FIRST] = below[node, FIRST]
            below[left + 1, FIRST] = below[node, FIRST] + below[left, SIZE]


@kernel(noinline=True)
def ask_split(column, begin, n, cut, kept, bits):
    """Clear the bits of a plane outside ``kept`` of the rows that a split sends right."""
    least = cut[LEAST]
    most = cut[MOST]
    for i in range(n):
        b = column[begin + i]
        bits[i] = np.uint8(bits[i] & (FULL if (b >= least) & (b <= most) else kept))


@kernel()
def ask_splits(columns, begin, n, nodes, below, cuts, planes):
    """Leave the bits of the leaves that n rows from ``begin`` on end in."""
    n_planes = (below[0, SIZE] + 7) // 8
    for p in range(n_planes):
        for i in range(n):
            planes[p, i] = FULL
    for node in range(nodes.shape[0]):
        if nodes[node, NODE_FEATURE] < 0:
            continue
        left = nodes[node, NODE_LEFT]
        lost = ((ONE << np.uint64(below[left, SIZE])) - ONE) << np.uint64(below[left, FIRST])
        for p in range(n_planes):
            kept = np.uint8(np.uint64(255) & ~(lost >> np.uint64(8 * p)))
            if kept != FULL:
                ask_split(columns[nodes[node, NODE_FEATURE]], begin, n, cuts[node], kept, planes[p])


@kernel(noinline=True)
def find_lowest_bits(n, n_planes, planes, places):
    """Write the leaf of each of n rows, the lowest bit of its planes; the first plane is used up."""
    bits = planes[0]
    for i in range(n):
        places[i] = NONE
    for p in range(1, n_planes):
        plane = planes[p]
        eights = np.uint8(8 * p)
        for i in range(n):
            new = FULL if bits[i] == NONE else NONE
            bits[i] = bits[i] | np.uint8(plane[i] & new)
            places[i] = np.uint8(places[i] & np.uint8(~new)) | np.uint8(eights & new)
    for i in range(n):
        low = np.uint8(bits[i] & np.uint8(np.uint8(~bits[i]) + np.uint8(1)))
        one = np.uint8(1) if np.uint8(low & np.uint8(0xAA)) != NONE else NONE
        two = np.uint8(2) if np.uint8(low & np.uint8(0xCC)) != NONE else NONE
        four = np.uint8(4) if np.uint8(low & np.uint8(0xF0)) != NONE else NONE
        places[i] = places[i] | one | two | four


@kernel(
    "u8[:,:], i64[:,:], f64[:,:], i64[:,:,:], u8[:,:,:], f64[:,:,:], u8[:,:,:], i64, f64[:,:]",
    "u16[:,:], i64[:,:], f64[:,:], i64[:,:,:], u16[:,:,:], f64[:,:,:], u8[:,:,:], i64, f64[:,:]",
)
def add_small_tree(member, members, sync, columns, nodes, values, below, cuts, answers, planes, output, out):
    """Add what a tree of at most 64 leaves answers to ``out`` (outputs, rows).

    ``nodes`` begin with the columns of ``NodeIndex.integers`` up to the child; missing is bin 0. The others are
    workspaces of each member: (nodes, 2) numbers of leaves and bins that go left, (leaves, outputs) answers, and as
    many planes of ``BLOCK`` rows as the tree has leaves by eight, and one.
    """
    own = planes[member]
    n_planes = own.shape[0] - 1
    number_leaves(nodes, below[member])
    for node in range(nodes.shape[0]):
        cuts[member, node, LEAST] = 1 if nodes[node, NODE_MISSING_LEFT] == 0 else 0
        cuts[member, node, MOST] = max(nodes[node, NODE_BIN], 0)
        if nodes[node, NODE_FEATURE] < 0:
            for k in range(values.shape[1]):
                answers[member, below[member, node, FIRST], k] = values[node, k]
    n_rows = columns.shape[1]
    n_blocks = (n_rows + BLOCK - 1) // BLOCK
    places = own[n_planes]
    for block in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        begin = np.uint64(block * BLOCK)
        n = np.uint64(min(BLOCK, n_rows - block * BLOCK))
        ask_splits(columns, begin, n, nodes, below[member], cuts[member], own)
        find_lowest_bits(n, n_planes, own, places)
        for k in range(values.shape[1]):
            target = out[output + k]
            for i in range(n):
                target[begin + i] += answers[member, np.uint64(places[i]), k]


@kernel(
    "u8[:,:], i64[:], u8[:,:], u8[:,:], f64[:,:], i64, f64[:,:]",
    "u16[:,:], i64[:], u16[:,:], u8[:,:], f64[:,:], i64, f64[:,:]",
)
def add_symmetric_tree(member, members, sync, columns, features, splits, bits, values, output, out):
    """Add what a symmetric tree of at most eight levels answers to ``out`` (outputs, rows).

    Level k asks the column ``features[k]``. A line of ``splits`` is the last bin that goes left, and a bin that goes
    right whatever its place, 0 being missing. Bit k of the number of a leaf tells whether it is on the right there;
    ``values`` are by these numbers. ``bits`` is a workspace, a line per member.
    """
    n_rows = columns.shape[1]
    own = bits[member]
    n_blocks = (n_rows + BLOCK - 1) // BLOCK
    for block in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        begin = np.uint64(block * BLOCK)
        n = np.uint64(min(BLOCK, n_rows - block * BLOCK))
        for i in range(n):
            own[i] = 0
        for k in range(features.shape[0]):
            column = columns[features[k]]
            most = splits[k, 0]
            also = splits[k, 1]
            bit = np.uint8(1 << k)
            for i in range(n):
                b = column[begin + i]
                own[i] |= bit if (b > most) | (b == also) else np.uint8(0)
        for k in range(values.shape[1]):
            target = out[output + k]
            for i in range(n):
                target[begin + i] += values[np.uint64(own[i]), k]
