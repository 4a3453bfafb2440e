"""The leaves while a tree grows, and the nodes they become."""

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
from sapwood.kernels.split.numeric import bounded_value
from sapwood.native.runtime.kernel import kernel


@kernel()
def next_leaf(n_leaves, order, integers, numbers, skip):
    """The leaf to split next, or −1: the largest gain, or level by level the first that has any.

    With ``skip`` those whose children are there already do not count.
    """
    best = -1
    for leaf in range(n_leaves):
        if numbers[leaf, LEAF_GAIN] <= 0.0 or (skip and integers[leaf, LEAF_STATE] != 0):
            continue
        if best < 0:
            best = leaf
        elif order == LEVELWISE:
            deeper = integers[leaf, LEAF_DEPTH] - integers[best, LEAF_DEPTH]
            if deeper < 0 or (deeper == 0 and integers[leaf, LEAF_NODE] < integers[best, LEAF_NODE]):
                best = leaf
        elif numbers[leaf, LEAF_GAIN] > numbers[best, LEAF_GAIN]:
            best = leaf
    return best


@kernel()
def can_split(n_rows, depth, rules):
    """Tell whether a leaf may be split at all."""
    return depth < rules.max_depth and n_rows >= max(2 * rules.min_child_samples, 2)


@kernel()
def add_leaf(leaf, first, last, node, depth, slot, sums, low, high, leaves):
    """Write down a leaf with no split yet."""
    integers = leaves.ints
    integers[leaf, LEAF_BEGIN] = first
    integers[leaf, LEAF_END] = last
    integers[leaf, LEAF_NODE] = node
    integers[leaf, LEAF_DEPTH] = depth
    integers[leaf, LEAF_HIST] = slot
    integers[leaf, LEAF_STATE] = UNEXPANDED
    for p in range(sums.shape[0]):
        integers[leaf, LEAF_SUMS + p] = sums[p]
    leaves.floats[leaf, LEAF_GAIN] = 0.0
    leaves.floats[leaf, LEAF_LOWER] = low
    leaves.floats[leaf, LEAF_UPPER] = high


@kernel()
def init_node(node, nodes):
    """Write down the node of a leaf."""
    nodes.ints[node, NODE_FEATURE] = -1
    nodes.ints[node, NODE_BIN] = 0
    nodes.ints[node, NODE_MISSING_LEFT] = 0
    nodes.ints[node, NODE_LEFT] = 0
    nodes.floats[node, NODE_GAIN] = 0.0


@kernel()
def split_node(leaf, leaves, nodes):
    """Turn the node of a leaf into an inner node; return its first child."""
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
def commit_expanded(rules, leaves, nodes):
    """Split the leaves whose turn it is, as long as their children are there."""
    integers = leaves.ints
    numbers = leaves.floats
    n_leaves = nodes.info[N_LEAVES]
    while n_leaves < rules.max_leaves:
        leaf = next_leaf(n_leaves, rules.growth, integers, numbers, False)
        if leaf < 0 or integers[leaf, LEAF_STATE] != EXPANDED:
            break
        node = split_node(leaf, leaves, nodes)
        waiting = rules.max_leaves + 2 * leaf
        for child in range(2):
            at = n_leaves if child == 1 else leaf
            for j in range(integers.shape[1]):
                integers[at, j] = integers[waiting + child, j]
            for j in range(numbers.shape[1]):
                numbers[at, j] = numbers[waiting + child, j]
            integers[at, LEAF_NODE] = node + child
            init_node(node + child, nodes)
        n_leaves += 1
    nodes.info[N_LEAVES] = n_leaves


@kernel()
def set_child_sums(integers, sums):
    """Write the sums of both sides of a leaf's split."""
    n_planes = sums.shape[0] // 2
    for p in range(n_planes):
        sums[p] = integers[LEAF_SUMS + n_planes + p]
        sums[n_planes + p] = integers[LEAF_SUMS + p] - sums[p]


@kernel()
def set_child_bounds(leaf, sums, bounds, direction, rules, quantum, leaves):
    """Give the children of a leaf its value bounds; a monotone split also keeps them on their sides of the middle.

    ``sums`` holds those of the left and of the right child, ``bounds`` takes low and high of each.
    """
    low = leaves.floats[leaf, LEAF_LOWER]
    high = leaves.floats[leaf, LEAF_UPPER]
    for child in range(2):
        bounds[2 * child] = low
        bounds[2 * child + 1] = high
    if direction != 0:
        n_planes = sums.shape[0] // 2
        left = bounded_value(sums[:n_planes], 0, low, high, rules, quantum)
        right = bounded_value(sums[n_planes:], 0, low, high, rules, quantum)
        lower = 0 if direction > 0 else 1
        bounds[2 * lower + 1] = 0.5 * left + 0.5 * right
        bounds[2 * (1 - lower)] = 0.5 * left + 0.5 * right


@kernel()
def add_children(leaf, new, child, n_left, hist_left, hist_right, sums, bounds, leaves, nodes):
    """Replace a leaf by its left child and add the right child as leaf ``new``; their nodes are ``child`` and the next.

    ``sums`` and ``bounds`` are those of ``set_child_sums`` and ``set_child_bounds``; ``n_left`` rows went left.
    """
    n_planes = sums.shape[0] // 2
    begin = leaves.ints[leaf, LEAF_BEGIN]
    end = leaves.ints[leaf, LEAF_END]
    depth = leaves.ints[leaf, LEAF_DEPTH] + 1
    middle = begin + n_left
    add_leaf(leaf, begin, middle, child, depth, hist_left, sums[:n_planes], bounds[0], bounds[1], leaves)
    add_leaf(new, middle, end, child + 1, depth, hist_right, sums[n_planes:], bounds[2], bounds[3], leaves)
    init_node(child, nodes)
    init_node(child + 1, nodes)


@kernel()
def least_gain_histogram(n_leaves, taken, integers, numbers):
    """The histogram that will be missed least: that of the leaf of least gain, but not ``taken``."""
    best = -1
    for leaf in range(n_leaves):
        if integers[leaf, LEAF_HIST] < 0 or integers[leaf, LEAF_HIST] == taken:
            continue
        if best < 0 or numbers[leaf, LEAF_GAIN] < numbers[best, LEAF_GAIN]:
            best = leaf
    return integers[best, LEAF_HIST]


@kernel()
def reserve_histograms(n_leaves, hists, leaves):
    """Replace each of two histograms that is missing (-1) by one that a leaf can spare."""
    if hists[0] < 0:
        hists[0] = least_gain_histogram(n_leaves, hists[1], leaves.ints, leaves.floats)
    if hists[1] < 0:
        hists[1] = least_gain_histogram(n_leaves, hists[0], leaves.ints, leaves.floats)


@kernel()
def release_histograms(n_leaves, one, other, integers):
    """Write down that leaves have lost two histograms."""
    for leaf in range(n_leaves):
        if integers[leaf, LEAF_HIST] == one or integers[leaf, LEAF_HIST] == other:
            integers[leaf, LEAF_HIST] = -1
