"""Answer a small tree for all rows at once, by columns of bins.

Each leaf has a bit, numbered from the left. A split that sends a row right clears the bits of the leaves on its left;
when all splits have been asked, the lowest bit left is the row's leaf. A split reads one column from end to end,
without a branch, so the loops become vector code. The lowest bit times a de Bruijn number has a different value in its
top bits for each leaf: its place in the table of values.

In a symmetric tree the answers of a row to the splits of its levels are the bits of its leaf's number.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.kernel import kernel

BLOCK = 8192  # rows at a time, whose bits stay near
# Numbers, all of whose windows of 5 (6) bits differ.
BRUIJN, LONG_BRUIJN = 0x077CB531, 0x03F79D71B4CB0A89


@kernel()
def ask_split(column, begin, n, most, shift, mask, bits):
    """Clear the bits outside ``mask`` of the rows that a split sends right; missing is bin 0."""
    limit = np.uint32(most)
    less = np.uint32(shift)
    for i in range(n):
        b = np.uint32(np.uint32(column[begin + i]) - less)
        bits[i] &= bits[i] if b <= limit else mask


@kernel(apart=True)
def ask_bytes(column, begin, n, most, shift, mask, bits):
    """The same by bytes: columns of bytes, and eight of the leaves."""
    limit = np.uint8(most)
    less = np.uint8(shift)
    kept = np.uint8(mask)
    for i in range(n):
        b = np.uint8(column[begin + i] - less)
        bits[i] = np.uint8(bits[i] & (np.uint8(255) if b <= limit else kept))


@kernel("u8[:,:], i64[:,:], u8[:,:], u8[:,:,:], f64[:,:], i64, f64[:,:]")
def add_byte_tree(member, members, sync, columns, splits, masks, bits, values, output, out):
    """``add_small_tree`` for columns of bytes and at most 32 leaves, eight to a byte.

    ``masks`` (splits, 4) and ``bits``, lines of (4, rows), have a byte of each mask; a split has a say in few of them.
    """
    n_rows = columns.shape[1]
    own = bits[member]
    n_blocks = (n_rows + BLOCK - 1) // BLOCK
    for block in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        begin = np.uint64(block * BLOCK)
        n = np.uint64(min(BLOCK, n_rows - block * BLOCK))
        for p in range(4):
            for i in range(n):
                own[p, i] = 255
        for s in range(splits.shape[0]):
            for p in range(4):
                if masks[s, p] != 255:
                    ask_bytes(columns[splits[s, 0]], begin, n, splits[s, 1], splits[s, 2], masks[s, p], own[p])
        for k in range(values.shape[1]):
            target = out[output + k]
            for i in range(n):
                low = np.uint64(own[0, i]) | np.uint64(own[1, i]) << np.uint64(8)
                b = low | np.uint64(own[2, i]) << np.uint64(16) | np.uint64(own[3, i]) << np.uint64(24)
                lowest = b & (~b + np.uint64(1))
                place = ((lowest * np.uint64(BRUIJN)) & np.uint64(0xFFFFFFFF)) >> np.uint64(27)
                target[begin + i] += values[place, k]


@kernel(
    "u8[:,:], i64[:,:], u64[:], u64[:,:], f64[:,:], i64, f64[:,:]",
    "u16[:,:], i64[:,:], u32[:], u32[:,:], f64[:,:], i64, f64[:,:]",
    "u16[:,:], i64[:,:], u64[:], u64[:,:], f64[:,:], i64, f64[:,:]",
)
def add_small_tree(member, members, sync, columns, splits, masks, bits, values, output, out):
    """Add what a tree of at most 32 or 64 leaves (by the type of ``masks``) answers to ``out`` (outputs, rows).

    A line of ``splits`` is a column, the last bin that goes left less the shift, and the shift: 1 sends missing values
    right, by way of the largest number. ``masks`` has a last entry of all bits. ``bits`` is a workspace, a line per
    member. ``values`` are by place: (leaf's bit times a de Bruijn number) >> (size of the bits − their logarithm).
    """
    n_rows = columns.shape[1]
    n_splits = splits.shape[0]
    own = bits[member]
    every = masks[n_splits]
    wide = values.shape[0] > 32
    n_blocks = (n_rows + BLOCK - 1) // BLOCK
    for block in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        begin = np.uint64(block * BLOCK)
        n = np.uint64(min(BLOCK, n_rows - block * BLOCK))
        for i in range(n):
            own[i] = every
        for s in range(n_splits):
            ask_split(columns[splits[s, 0]], begin, n, splits[s, 1], splits[s, 2], masks[s], own)
        for k in range(values.shape[1]):
            target = out[output + k]
            for i in range(n):
                b = np.uint64(own[i])
                lowest = b & (~b + np.uint64(1))
                if wide:
                    place = (lowest * np.uint64(LONG_BRUIJN)) >> np.uint64(58)
                else:
                    place = ((lowest * np.uint64(BRUIJN)) & np.uint64(0xFFFFFFFF)) >> np.uint64(27)
                target[begin + i] += values[place, k]


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
