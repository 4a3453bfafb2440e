"""The children of a leaf: their rows, sums and bounds, from the leaf's split."""

from __future__ import annotations

from sapwood.kernels.grow.leaf_queue import add_leaf, init_node
from sapwood.kernels.grow.row_partition import partition_leaf
from sapwood.kernels.layout import (
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_SUMS,
    SPLIT_FEATURE,
    Children,
    NewLeaf,
)
from sapwood.kernels.split.monotone import set_child_bounds
from sapwood.native.runtime.kernel import kernel


@kernel()
def set_child_sums(leaf_ints, sums):
    """Write the sums of the left and of the right side of a leaf's split."""
    n_planes = sums.shape[0] // 2
    for p in range(n_planes):
        sums[p] = leaf_ints[LEAF_SUMS + n_planes + p]
        sums[n_planes + p] = leaf_ints[LEAF_SUMS + p] - sums[p]


@kernel()
def partition_children(member, members, sync, alone, leaf, sums, bounds, state):
    """Partition the rows of a leaf by its split, and write the sums and bounds of both children.

    The member does it ``alone``, or all members together. Return the number of rows of the left child, or −1 to stop.
    """
    leaf_ints = state.leaves.ints[leaf]
    part = 0 if alone else member
    n_left = partition_leaf(
        part, 1 if alone else members, sync, state.bins, state.bins.decoded[member], leaf_ints, state.features,
        state.partition, state.candidates.n_left[member - part :],
    )  # fmt: skip
    if n_left < 0:
        return n_left
    direction = state.features.monotone[leaf_ints[SPLIT_FEATURE]]
    set_child_sums(leaf_ints, sums)
    set_child_bounds(leaf, sums, bounds, direction, state.params, state.scales.histogram, state.leaves)
    return n_left


@kernel()
def make_children(leaf_ints, n_left, node, left_hist, right_hist, left_open, right_open, sums, bounds):
    """Return the children of a leaf, from what ``partition_children`` found; their nodes are ``node`` and the next."""
    begin = leaf_ints[LEAF_BEGIN]
    end = leaf_ints[LEAF_END]
    middle = begin + n_left
    depth = leaf_ints[LEAF_DEPTH] + 1
    n_planes = sums.shape[0] // 2
    left = NewLeaf(begin, middle, node, depth, left_hist, sums[:n_planes], bounds[0], bounds[1])
    right = NewLeaf(middle, end, node + 1, depth, right_hist, sums[n_planes:], bounds[2], bounds[3])
    return Children(left, right, left_open, right_open, smaller_child(n_left, end - middle))


@kernel()
def smaller_child(n_left, n_right):
    """Return the child with fewer rows: 0 left, 1 right."""
    return 0 if n_left <= n_right else 1


@kernel()
def replace_leaf(leaf, new, children, leaves, nodes):
    """Replace a leaf by its left child and add the right child as leaf ``new``."""
    add_leaf(leaf, children.left, leaves)
    add_leaf(new, children.right, leaves)
    init_node(children.left.node, nodes)
    init_node(children.right.node, nodes)
