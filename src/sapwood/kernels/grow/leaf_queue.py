"""The leaves of a tree that is being grown: which is split next, and the nodes that leaves become."""

from __future__ import annotations

from sapwood.kernels.layout import (
    BITSET_WORDS,
    EXPANDED,
    LEAF_BEGIN,
    LEAF_DEPTH,
    LEAF_END,
    LEAF_GAIN,
    LEAF_HIST,
    LEAF_LOWER,
    LEAF_NODE,
    LEAF_STATE,
    LEAF_SUMS,
    LEAF_UPPER,
    LEVELWISE,
    N_LEAVES,
    N_NODES,
    NODE_BIN,
    NODE_BITSET,
    NODE_FEATURE,
    NODE_GAIN,
    NODE_LEFT,
    NODE_MISSING_LEFT,
    SPLIT_BIN,
    SPLIT_BITSET,
    SPLIT_FEATURE,
    SPLIT_MISSING_LEFT,
    UNEXPANDED,
)
from sapwood.native.runtime.kernel import kernel


@kernel()
def count_planes(leaves):
    """Return the number of planes of the sums of leaves."""
    return (leaves.ints.shape[1] - LEAF_SUMS) // 2


@kernel()
def is_before(leaf, other, growth, ints, floats):
    """Return whether a leaf is split before another one of a smaller number: leafwise if its gain is larger."""
    if growth == LEVELWISE:
        deeper = ints[leaf, LEAF_DEPTH] - ints[other, LEAF_DEPTH]
        return deeper < 0 or (deeper == 0 and ints[leaf, LEAF_NODE] < ints[other, LEAF_NODE])
    return floats[leaf, LEAF_GAIN] > floats[other, LEAF_GAIN]


@kernel()
def next_leaf(n_leaves, growth, ints, floats, unexpanded_only):
    """Return the leaf to split next, or −1: leafwise that of the largest gain, levelwise the first with any gain.

    With ``unexpanded_only`` only leaves whose children are not computed yet are considered.
    """
    best = -1
    for leaf in range(n_leaves):
        if floats[leaf, LEAF_GAIN] <= 0.0 or (unexpanded_only and ints[leaf, LEAF_STATE] != UNEXPANDED):
            continue
        if best < 0 or is_before(leaf, best, growth, ints, floats):
            best = leaf
    return best


@kernel()
def can_split(n_rows, depth, params):
    """Return whether a leaf is large enough, and not too deep, to be split."""
    return depth < params.max_depth and n_rows >= max(2 * params.min_child_samples, 2)


@kernel()
def child_slot(params, leaf, child):
    """Return where in the leaf table a child (0 left, 1 right) of an expanded leaf is kept until the leaf is split."""
    return params.max_leaves + 2 * leaf + child


@kernel()
def add_leaf(leaf, new, leaves):
    """Write a new leaf, which has no split yet, to the leaf table."""
    ints = leaves.ints
    ints[leaf, LEAF_BEGIN] = new.begin
    ints[leaf, LEAF_END] = new.end
    ints[leaf, LEAF_NODE] = new.node
    ints[leaf, LEAF_DEPTH] = new.depth
    ints[leaf, LEAF_HIST] = new.hist
    ints[leaf, LEAF_STATE] = UNEXPANDED
    for p in range(new.sums.shape[0]):
        ints[leaf, LEAF_SUMS + p] = new.sums[p]
    leaves.floats[leaf, LEAF_GAIN] = 0.0
    leaves.floats[leaf, LEAF_LOWER] = new.lower
    leaves.floats[leaf, LEAF_UPPER] = new.upper


@kernel()
def init_node(node, nodes):
    """Write the node of a leaf."""
    nodes.ints[node, NODE_FEATURE] = -1
    nodes.ints[node, NODE_BIN] = 0
    nodes.ints[node, NODE_MISSING_LEFT] = 0
    nodes.ints[node, NODE_LEFT] = 0
    nodes.floats[node, NODE_GAIN] = 0.0


@kernel()
def split_node(leaf, leaves, nodes):
    """Turn the node of a leaf into an inner node; return its left child."""
    node = leaves.ints[leaf, LEAF_NODE]
    first = nodes.info[N_NODES]
    nodes.ints[node, NODE_FEATURE] = leaves.ints[leaf, SPLIT_FEATURE]
    nodes.ints[node, NODE_BIN] = leaves.ints[leaf, SPLIT_BIN]
    nodes.ints[node, NODE_MISSING_LEFT] = leaves.ints[leaf, SPLIT_MISSING_LEFT]
    nodes.ints[node, NODE_LEFT] = first
    for w in range(BITSET_WORDS):
        nodes.ints[node, NODE_BITSET + w] = leaves.ints[leaf, SPLIT_BITSET + w]
    nodes.floats[node, NODE_GAIN] = leaves.floats[leaf, LEAF_GAIN]
    nodes.info[N_NODES] = first + 2
    return first


@kernel()
def commit_expanded(params, leaves, nodes):
    """Split the leaves that come next in the order of growth, as long as their children are computed."""
    ints = leaves.ints
    floats = leaves.floats
    n_leaves = nodes.info[N_LEAVES]
    while n_leaves < params.max_leaves:
        leaf = next_leaf(n_leaves, params.growth, ints, floats, False)
        if leaf < 0 or ints[leaf, LEAF_STATE] != EXPANDED:
            break
        node = split_node(leaf, leaves, nodes)
        left = child_slot(params, leaf, 0)
        for child in range(2):
            target = n_leaves if child == 1 else leaf
            for j in range(ints.shape[1]):
                ints[target, j] = ints[left + child, j]
            for j in range(floats.shape[1]):
                floats[target, j] = floats[left + child, j]
            ints[target, LEAF_NODE] = node + child
            init_node(node + child, nodes)
        n_leaves += 1
    nodes.info[N_LEAVES] = n_leaves
