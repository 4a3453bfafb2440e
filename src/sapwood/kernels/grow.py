"""Grow one tree: a single call in which all members of the team work through the leaves together.

A leaf is split in three steps, with a meeting after each: its rows are moved to the two children; the histogram of
the smaller child is built, that of the larger is what remains of the parent's, and both are searched, each member its
share of the features; member 0 picks the best split of each child. Which leaf comes next is all that growth orders
differ in.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.build import build, sum_root
from sapwood.kernels.choose import allow_features, narrow_groups
from sapwood.kernels.frontier import (
    branch,
    can_split,
    enter_leaf,
    give_up_slots,
    next_leaf,
    set_child_bounds,
    weakest_slot,
)
from sapwood.kernels.histogram import subtract
from sapwood.kernels.layout import DEPTH, FEATURE, FIRST, LAST, LEAF_SUMS, N_NODES, SLOT
from sapwood.kernels.leaves import finish_leaves
from sapwood.kernels.meet import meet
from sapwood.kernels.partition import move_rows
from sapwood.kernels.pick import pick_split
from sapwood.kernels.search import search_share
from sapwood.native.kernel import kernel

INFINITE = np.inf
# What every grower works with, after the bins.
GROWTH = "Features, Rules, Gradients, Rows, Scales, Scratch, Cells, Leaves, Search, Choice, Draws, Nodes"


@kernel()
def plant(
    member, members, sync, bins,
    feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Make the root a leaf with its best split; nonzero means stop."""
    n = rows.order.shape[0]
    n_planes = rows.pairs.shape[0]
    sums = scratch.integers[member][:n_planes]
    running = scratch.integers[member][2 * n_planes :]
    if sum_root(member, members, sync, rows.pairs, scratch.integers, sums) != 0:
        return 1
    if build(member, members, sync, bins.words, rows, 0, n, sums, cells.pool[0], feature, cells.work) != 0:
        return 1
    is_open = can_split(n, 0, rules)
    if is_open:
        allow_features(member, 0, 0, 0, 0, feature.share, choice, draws, search.allowed)
        search_share(member, cells.pool[0], 0, sums, -INFINITE, INFINITE, feature, rules, scales, search, running)
    if meet(sync, members) != 0:
        return 1
    if member == 0:
        enter_leaf(0, 0, n, 0, 0, 0, sums, -INFINITE, INFINITE, leaves, nodes)
        if is_open:
            pick_split(bins, 0, 0, rows.order, feature, rules, scales, cells, leaves, search, running)
    return meet(sync, members)


@kernel()
def fill_slots(member, members, sync, words, first, middle, last, slots, is_kept, sums, feature, rows, cells):
    """Make the histograms of two children, the smaller in slot ``slots[0]``; nonzero means stop.

    The larger child's is what the smaller leaves of the parent's, which is in its slot. Where that was not kept, both
    are built.
    """
    n_planes = rows.pairs.shape[0]
    left_is_small = middle - first <= last - middle
    for part in range(1 if is_kept else 2):
        is_left = left_is_small == (part == 0)
        start = first if is_left else middle
        stop = middle if is_left else last
        own = sums[:n_planes] if is_left else sums[n_planes:]
        if part == 1 and meet(sync, members) != 0:
            return 1
        if build(member, members, sync, words, rows, start, stop, own, cells.pool[slots[part]], feature, cells.work):
            return 1
    if is_kept:
        small = cells.pool[slots[0]]
        large = cells.pool[slots[1]]
        subtract(small, large, feature.share[member], feature.share[member + 1], feature.start, n_planes)
    return 0


@kernel()
def split_leaf(
    member, members, sync, bins, leaf, new,
    feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Split a leaf in two, the right child becoming leaf ``new``; nonzero means stop."""
    integers = leaves.integers
    n_planes = rows.pairs.shape[0]
    first = integers[leaf, FIRST]
    last = integers[leaf, LAST]
    depth = integers[leaf, DEPTH] + 1
    old_slot = integers[leaf, SLOT]
    sums = scratch.integers[member][: 2 * n_planes]
    slots = scratch.integers[member][2 * n_planes : 2 * n_planes + 2]
    running = scratch.integers[member][2 * n_planes + 2 :]
    bounds = scratch.numbers[member][:4]
    n_left = move_rows(member, members, sync, bins, integers[leaf], feature, rows, search.n_left)
    if n_left < 0:
        return 1
    middle = first + n_left
    for p in range(n_planes):
        sums[p] = integers[leaf, LEAF_SUMS + n_planes + p]
        sums[n_planes + p] = integers[leaf, LEAF_SUMS + p] - sums[p]
    set_child_bounds(leaf, sums, bounds, feature.monotone[integers[leaf, FEATURE]], rules, scales.quantum, leaves)
    more = new + 1 < rules.max_leaves
    open_left = more and can_split(n_left, depth, rules)
    open_right = more and can_split(last - middle, depth, rules)
    small = 0 if n_left <= last - middle else 1
    slots[0] = new if new < cells.pool.shape[0] else -1
    slots[1] = old_slot
    if open_left or open_right:
        if slots[0] < 0:
            slots[0] = weakest_slot(new, old_slot, integers, leaves.numbers)
        if slots[1] < 0:
            slots[1] = weakest_slot(new, slots[0], integers, leaves.numbers)
        if fill_slots(
            member, members, sync, bins.words, first, middle, last, slots, old_slot >= 0, sums, feature, rows, cells
        ) != 0:  # fmt: skip
            return 1
        node = nodes.info[N_NODES]
        if choice.groups.shape[0] > 0:
            narrow_groups(member, leaf, new, integers[leaf, FEATURE], choice)
            if meet(sync, members) != 0:
                return 1
        for child in range(2):
            if open_right if child == 1 else open_left:
                at = new if child == 1 else leaf
                own = sums[child * n_planes : (child + 1) * n_planes]
                low = bounds[2 * child]
                high = bounds[2 * child + 1]
                histogram = cells.pool[slots[small ^ child]]
                allow_features(member, child, at, node + child, depth, feature.share, choice, draws, search.allowed)
                search_share(member, histogram, child, own, low, high, feature, rules, scales, search, running)
    if meet(sync, members) != 0:
        return 1
    if member == 0:
        child = branch(leaf, leaves, nodes)
        give_up_slots(new, slots[0], slots[1], integers)
        for side in range(2):
            at = new if side == 1 else leaf
            a = middle if side == 1 else first
            e = last if side == 1 else middle
            own = sums[side * n_planes : (side + 1) * n_planes]
            low = bounds[2 * side]
            high = bounds[2 * side + 1]
            enter_leaf(at, a, e, child + side, depth, slots[small ^ side], own, low, high, leaves, nodes)
            if open_right if side == 1 else open_left:
                pick_split(bins, at, side, rows.order, feature, rules, scales, cells, leaves, search, running)
    return meet(sync, members)


@kernel("Bins, " + GROWTH)
def grow_tree(
    member, members, sync, bins,
    feature, rules, grad, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Grow a tree from the quantised rows; ``nodes`` and ``leaves`` hold it afterwards."""
    stop = plant(
        member, members, sync, bins,
        feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
    )  # fmt: skip
    n_leaves = 1
    while stop == 0 and n_leaves < rules.max_leaves:
        leaf = next_leaf(n_leaves, rules.order, leaves.integers, leaves.numbers)
        if leaf < 0:
            break
        stop = split_leaf(
            member, members, sync, bins, leaf, n_leaves,
            feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
        )  # fmt: skip
        n_leaves += 1
    if stop != 0:
        return
    finish_leaves(member, members, sync, n_leaves, feature.monotone, rules, grad, rows, scales, scratch, leaves, nodes)
