"""Divide the sorted entries of a node among its children."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel


@kernel("i32[:,:], i64, i64, i32[:], i64[:], i64[:], i32[:]")
def divide_entries(order, start, stop, child, starts, position, scratch):
    """Put the entries of each child next to each other in every column, in the order that they have.

    ``child`` is the child of each entry, ``starts`` the position of its first entry; ``position`` (one per child) and
    ``scratch`` (one per entry of the node) are scratch.
    """
    for column in range(order.shape[0]):
        for c in range(starts.shape[0]):
            position[c] = starts[c] - start
        for i in range(start, stop):
            entry = order[column, i]
            c = np.int64(child[entry])
            scratch[position[c]] = entry
            position[c] += 1
        for i in range(start, stop):
            order[column, i] = scratch[i - start]
