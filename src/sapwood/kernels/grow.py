"""Grow one tree: a single call in which all members of the team work through the leaves together.

A leaf is split in three steps, with a meeting after each: its rows are moved to the two children; the histogram of
the smaller child is built, that of the larger is what remains of the parent's, and both are searched, each member its
share of the features; member 0 picks the best split of each child. Which leaf comes next is all that growth orders
differ in.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.choose import allow_features, narrow_groups
from sapwood.kernels.histogram import add_planes, clear, merge, subtract
from sapwood.kernels.layout import (
    BIN,
    DEPTH,
    FEATURE,
    FIRST,
    GAIN,
    HIGH,
    IS_SET,
    LAST,
    LEAF_SUMS,
    LEVELWISE,
    LOW,
    MISSING_LEFT,
    N_NODES,
    NODE,
    NODE_BIN,
    NODE_FEATURE,
    NODE_GAIN,
    NODE_LEFT,
    NODE_MISSING_LEFT,
    NODE_SET,
    SET,
    SET_WORDS,
    SLOT,
)
from sapwood.kernels.leaves import finish_leaves
from sapwood.kernels.lists import add_listed_planes, fill_usual, unpack
from sapwood.kernels.meet import meet
from sapwood.kernels.partition import settle_part, split_part
from sapwood.kernels.pick import pick_split
from sapwood.kernels.split_levels import divide_levels, split_members
from sapwood.kernels.split_numeric import LOW_HALF, least_hessian, scan_feature, value_of
from sapwood.native.kernel import kernel

# Fewer rows than this are not worth sharing out.
PARALLEL_MOVE = 4096
PARALLEL_BUILD = 2048
INFINITE = np.inf
# What every grower works with, after the bins.
GROWTH = "Features, Rules, Gradients, Rows, Scales, Scratch, Cells, Leaves, Search, Choice, Draws, Nodes"


@kernel()
def next_leaf(n_leaves, order, integers, numbers):
    """The leaf to split next, or −1: the largest gain, or level by level the first that has any."""
    best = -1
    for leaf in range(n_leaves):
        if numbers[leaf, GAIN] <= 0.0:
            continue
        if best < 0:
            best = leaf
        elif order == LEVELWISE:
            deeper = integers[leaf, DEPTH] - integers[best, DEPTH]
            if deeper < 0 or (deeper == 0 and integers[leaf, NODE] < integers[best, NODE]):
                best = leaf
        elif numbers[leaf, GAIN] > numbers[best, GAIN]:
            best = leaf
    return best


@kernel()
def can_split(n_rows, depth, rules):
    """Tell whether a leaf may be split at all."""
    return depth < rules.max_depth and n_rows >= max(2 * rules.min_child_samples, 2)


@kernel()
def may_split(histogram, f, feature, sums, rules, scales):
    """Tell whether a listed feature has enough hessian outside its usual bin; one side of any cut has no more."""
    usual = feature.usual[f]
    if usual < 0:
        return True
    stride = feature.start[feature.start.shape[0] - 1]
    plane = rules.wide  # of the hessian of the first output
    rest = sums[plane] - histogram[plane * stride + feature.start[f] + usual]
    steps = rest if rules.wide != 0 else rest & LOW_HALF
    return np.float64(steps) / scales.quantum[0, 1] >= least_hessian(rules, scales, 0)


@kernel()
def search_share(member, histogram, child, sums, low, high, feature, rules, scales, search, running):
    """Find the best split of each feature in the member's share, for a leaf with these sums and bounds."""
    limits = search.limits[0:4]
    for f in range(feature.share[member], feature.share[member + 1]):
        search.gain[child, f] = 0.0
        if search.allowed[child, f] != 0 and may_split(histogram, f, feature, sums, rules, scales):
            cut = search.cut[child, f]
            if feature.levels[f] != 0:
                search.gain[child, f] = divide_levels(
                    histogram, f, feature, sums, low, high, limits, 0, rules, scales, running, cut
                )
            else:
                search.gain[child, f] = scan_feature(
                    histogram, f, feature, sums, low, high, limits, rules, scales, running, cut
                )


@kernel()
def clear_share(histogram, first, last, start, n_planes):
    """Set the cells of some features to zero."""
    n_cells = start[start.shape[0] - 1]
    for p in range(n_planes):
        clear(histogram, p * n_cells + start[first], p * n_cells + start[last])


@kernel()
def build(member, members, sync, tiles, order, pairs, first, last, sums, histogram, feature, work):
    """Build the histogram of the rows at ``first`` to ``last`` with these sums; each member completes its features.

    Many rows: each member adds a part of them, all features, and the parts are merged. Few: each adds all of them to
    its own features. Nonzero means stop.
    """
    n_planes = pairs.shape[0]
    start = feature.start
    own = feature.share[member]
    end = feature.share[member + 1]
    has_lists = feature.row_start.shape[0] > 0
    n = last - first
    if members == 1 or n < PARALLEL_BUILD:
        clear_share(histogram, own, end, start, n_planes)
        tile = feature.tile_share[member]
        add_planes(
            tiles,
            order,
            pairs,
            first,
            last,
            tile,
            feature.tile_share[member + 1],
            feature.bits,
            feature.tile_start,
            histogram,
        )
        if has_lists:
            add_listed_planes(feature, order, pairs, first, last, start[own], start[end], histogram)
            fill_usual(feature, own, end, sums, histogram)
        return 0
    n_features = feature.n_bins.shape[0]
    n_columns = feature.tile_start.shape[0] - 1
    a = first + member * n // members
    e = first + (member + 1) * n // members
    clear_share(work[member], 0, n_features, start, n_planes)
    add_planes(tiles, order, pairs, a, e, 0, n_columns, feature.bits, feature.tile_start, work[member])
    if has_lists:
        add_listed_planes(feature, order, pairs, a, e, 0, start[n_features], work[member])
    if meet(sync, members) != 0:
        return 1
    merge(work, members, histogram, own, end, start, n_planes)
    if has_lists:
        fill_usual(feature, own, end, sums, histogram)
    return 0


@kernel()
def enter_leaf(leaf, first, last, node, depth, slot, sums, low, high, leaves, nodes):
    """Write down a leaf with no split yet, and its node."""
    integers = leaves.integers
    integers[leaf, FIRST] = first
    integers[leaf, LAST] = last
    integers[leaf, NODE] = node
    integers[leaf, DEPTH] = depth
    integers[leaf, SLOT] = slot
    for p in range(sums.shape[0]):
        integers[leaf, LEAF_SUMS + p] = sums[p]
    leaves.numbers[leaf, GAIN] = 0.0
    leaves.numbers[leaf, LOW] = low
    leaves.numbers[leaf, HIGH] = high
    nodes.integers[node, NODE_FEATURE] = -1
    nodes.integers[node, NODE_BIN] = 0
    nodes.integers[node, NODE_MISSING_LEFT] = 0
    nodes.integers[node, NODE_LEFT] = 0
    nodes.numbers[node, NODE_GAIN] = 0.0


@kernel()
def sum_root(member, members, sync, pairs, integers, out):
    """Sum the quantised pairs of all rows, every member for itself; nonzero means stop."""
    n_planes = pairs.shape[0]
    n = pairs.shape[1]
    for p in range(n_planes):
        total = np.int64(0)
        for i in range(np.uint64(member * n // members), np.uint64((member + 1) * n // members)):
            total += pairs[p, i]
        integers[member, 3 * n_planes + p] = total
    if meet(sync, members) != 0:
        return 1
    for p in range(n_planes):
        total = np.int64(0)
        for t in range(members):
            total += integers[t, 3 * n_planes + p]
        out[p] = total
    return meet(sync, members)


@kernel()
def plant(
    member, members, sync, tiles, columns, unpacked,
    feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Make the root a leaf with its best split; nonzero means stop."""
    n = rows.order.shape[0]
    n_planes = rows.pairs.shape[0]
    sums = scratch.integers[member][:n_planes]
    running = scratch.integers[member][2 * n_planes :]
    if sum_root(member, members, sync, rows.pairs, scratch.integers, sums) != 0:
        return 1
    if build(member, members, sync, tiles, rows.order, rows.pairs, 0, n, sums, cells.pool[0], feature, cells.work) != 0:
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
            pick_split(columns, 0, 0, rows.order, feature, rules, scales, cells, leaves, search, running)
    return meet(sync, members)


@kernel()
def move_rows(member, members, sync, columns, unpacked, leaf, feature, rows, integers, n_left):
    """Move the rows of a leaf to its children; return how many went left, or −1 to stop."""
    start = integers[leaf, FIRST]
    n = integers[leaf, LAST] - start
    column = feature.column[integers[leaf, FEATURE]]
    bins = columns[column] if column >= 0 else unpacked
    limit = integers[leaf, BIN]
    missing_left = integers[leaf, MISSING_LEFT]
    parts = members if n >= PARALLEL_MOVE else 1
    a = start + member * n // parts
    e = start + (member + 1) * n // parts
    in_place = 1 if member == 0 else 0
    if member < parts:
        if column < 0:
            unpack(feature, integers[leaf, FEATURE], rows.order, a, e, unpacked)
        own = (
            split_members(bins, integers[leaf, SET : SET + SET_WORDS], rows, a, e, in_place)
            if limit == IS_SET
            else split_part(bins, limit, missing_left, rows, a, e, in_place)
        )
        n_left[member, 0] = own
        if parts == 1:
            settle_part(rows, a, e, own, a, a + own, 1)
    if meet(sync, members) != 0:
        return -1
    total = np.int64(0)
    left_at = start
    right_at = start
    for t in range(parts):
        if t < member:
            left_at += n_left[t, 0]
            right_at += (t + 1) * n // parts - t * n // parts - n_left[t, 0]
        total += n_left[t, 0]
    if parts > 1:
        settle_part(rows, a, e, n_left[member, 0], left_at, right_at + total, in_place)
        if meet(sync, members) != 0:
            return -1
    return total


@kernel()
def set_child_bounds(leaf, sums, bounds, direction, rules, quantum, leaves):
    """Give the children of a leaf its value bounds; a monotone split also keeps them on their sides of the middle.

    ``sums`` holds those of the left and of the right child, ``bounds`` takes low and high of each.
    """
    low = leaves.numbers[leaf, LOW]
    high = leaves.numbers[leaf, HIGH]
    for child in range(2):
        bounds[2 * child] = low
        bounds[2 * child + 1] = high
    if direction != 0:
        n_planes = sums.shape[0] // 2
        left = value_of(sums[:n_planes], 0, low, high, rules, quantum)
        right = value_of(sums[n_planes:], 0, low, high, rules, quantum)
        lower = 0 if direction > 0 else 1
        bounds[2 * lower + 1] = 0.5 * left + 0.5 * right
        bounds[2 * (1 - lower)] = 0.5 * left + 0.5 * right


@kernel()
def branch(leaf, leaves, nodes):
    """Turn the node of a leaf into an inner node; return its first child."""
    node = leaves.integers[leaf, NODE]
    first = nodes.info[N_NODES]
    nodes.integers[node, NODE_FEATURE] = leaves.integers[leaf, FEATURE]
    nodes.integers[node, NODE_BIN] = leaves.integers[leaf, BIN]
    nodes.integers[node, NODE_MISSING_LEFT] = leaves.integers[leaf, MISSING_LEFT]
    nodes.integers[node, NODE_LEFT] = first
    for w in range(SET_WORDS):
        nodes.integers[node, NODE_SET + w] = leaves.integers[leaf, SET + w]
    nodes.numbers[node, NODE_GAIN] = leaves.numbers[leaf, GAIN]
    nodes.info[N_NODES] = first + 2
    return first


@kernel()
def weakest_leaf(n_leaves, one, other, integers, numbers):
    """The leaf with a histogram that will be missed least: of least gain, and neither of two leaves."""
    best = -1
    for leaf in range(n_leaves):
        if integers[leaf, SLOT] < 0 or leaf == one:
            continue
        if leaf == other:
            continue
        if best < 0 or numbers[leaf, GAIN] < numbers[best, GAIN]:
            best = leaf
    return best


@kernel()
def split_leaf(
    member, members, sync, tiles, columns, unpacked, leaf, new,
    feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Split a leaf in two, the right child becoming leaf ``new``; nonzero means stop."""
    integers = leaves.integers
    n_planes = rows.pairs.shape[0]
    start = integers[leaf, FIRST]
    stop = integers[leaf, LAST]
    depth = integers[leaf, DEPTH] + 1
    old_slot = integers[leaf, SLOT]
    sums = scratch.integers[member][: 2 * n_planes]
    running = scratch.integers[member][2 * n_planes :]
    bounds = scratch.numbers[member][:4]
    n_left = move_rows(member, members, sync, columns, unpacked, leaf, feature, rows, integers, search.n_left)
    if n_left < 0:
        return 1
    middle = start + n_left
    for p in range(n_planes):
        sums[p] = integers[leaf, LEAF_SUMS + n_planes + p]
        sums[n_planes + p] = integers[leaf, LEAF_SUMS + p] - sums[p]
    set_child_bounds(leaf, sums, bounds, feature.monotone[integers[leaf, FEATURE]], rules, scales.quantum, leaves)
    more = new + 1 < rules.max_leaves
    open_left = more and can_split(n_left, depth, rules)
    open_right = more and can_split(stop - middle, depth, rules)
    left_is_small = n_left <= stop - middle
    slot_small = new if new < cells.pool.shape[0] else -1
    slot_large = old_slot
    robbed = -1
    robbed_too = -1
    if open_left or open_right:
        if slot_small < 0:
            robbed = weakest_leaf(new, leaf, leaf, integers, leaves.numbers)
            slot_small = integers[robbed, SLOT]
        if slot_large < 0:
            robbed_too = weakest_leaf(new, leaf, robbed, integers, leaves.numbers)
            slot_large = integers[robbed_too, SLOT]
        # The parent's histogram may have been given away: then both children's are built.
        for part in range(1 if old_slot >= 0 else 2):
            is_left = left_is_small == (part == 0)
            first = start if is_left else middle
            last = middle if is_left else stop
            line = cells.pool[slot_small if part == 0 else slot_large]
            own = sums[:n_planes] if is_left else sums[n_planes:]
            order = rows.order
            if part == 1 and meet(sync, members) != 0:
                return 1
            if build(member, members, sync, tiles, order, rows.pairs, first, last, own, line, feature, cells.work) != 0:
                return 1
        if old_slot >= 0:
            small = cells.pool[slot_small]
            large = cells.pool[slot_large]
            subtract(small, large, feature.share[member], feature.share[member + 1], feature.start, n_planes)
        node = nodes.info[N_NODES]
        if choice.groups.shape[0] > 0:
            narrow_groups(member, leaf, new, integers[leaf, FEATURE], choice)
            if meet(sync, members) != 0:
                return 1
        for child in range(2):
            if open_right if child == 1 else open_left:
                at = new if child == 1 else leaf
                allow_features(member, child, at, node + child, depth, feature.share, choice, draws, search.allowed)
                search_share(
                    member, cells.pool[slot_small if left_is_small == (child == 0) else slot_large], child,
                    sums[child * n_planes : (child + 1) * n_planes], bounds[2 * child], bounds[2 * child + 1],
                    feature, rules, scales, search, running,
                )  # fmt: skip
    if meet(sync, members) != 0:
        return 1
    if member == 0:
        child = branch(leaf, leaves, nodes)
        if robbed >= 0:
            integers[robbed, SLOT] = -1
        if robbed_too >= 0:
            integers[robbed_too, SLOT] = -1
        slot_left = slot_small if left_is_small else slot_large
        slot_right = slot_large if left_is_small else slot_small
        enter_leaf(leaf, start, middle, child, depth, slot_left, sums[:n_planes], bounds[0], bounds[1], leaves, nodes)
        enter_leaf(
            new, middle, stop, child + 1, depth, slot_right, sums[n_planes:], bounds[2], bounds[3], leaves, nodes
        )
        for side in range(2):
            if open_right if side == 1 else open_left:
                at = new if side == 1 else leaf
                pick_split(columns, at, side, rows.order, feature, rules, scales, cells, leaves, search, running)
    return meet(sync, members)


@kernel(
    "u64[:,:,:], u8[:,:], u8[:], " + GROWTH,
    "u64[:,:,:], u16[:,:], u16[:], " + GROWTH,
)
def grow_tree(
    member, members, sync, tiles, columns, unpacked,
    feature, rules, grad, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
):  # fmt: skip
    """Grow a tree from the quantised rows; ``nodes`` and ``leaves`` hold it afterwards."""
    stop = plant(
        member, members, sync, tiles, columns, unpacked,
        feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
    )  # fmt: skip
    n_leaves = 1
    while stop == 0 and n_leaves < rules.max_leaves:
        leaf = next_leaf(n_leaves, rules.order, leaves.integers, leaves.numbers)
        if leaf < 0:
            break
        stop = split_leaf(
            member, members, sync, tiles, columns, unpacked, leaf, n_leaves,
            feature, rules, rows, scales, scratch, cells, leaves, search, choice, draws, nodes,
        )  # fmt: skip
        n_leaves += 1
    if stop != 0:
        return
    finish_leaves(
        member, members, sync, n_leaves, feature.monotone, rules, grad, rows.order, scales, scratch, leaves, nodes
    )
