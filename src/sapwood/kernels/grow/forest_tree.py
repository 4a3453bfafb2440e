"""Grow the trees of a forest, one member of the team per tree, branch by branch down to pure leaves.

Trees without a limit of leaves have about as many nodes as rows, most of them small. A node therefore visits its rows
only: features are drawn first, and the histogram of a drawn feature is read at the bins that occur, which a bitmap
lists, and cleared while it is read. So a node costs its rows times the drawn features, whatever the number of bins.

All sums are integers: the weight of rows, and per output their weighted targets (one output: numbers, or the second of
two classes), or the weights of the rows of each class (K > 1 outputs, whose targets are codes). Of a split, the sum
over both sides and all outputs of (Σ weighted target)² / Σ weight is maximal: the decrease of squared error and of the
Gini impurity.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.numeric.random import NODE_COLUMNS, THRESHOLDS, draw, stream_key
from sapwood.native.runtime.kernel import kernel, layout

# Columns of a node. The rows of a node are at positions BEGIN to BEGIN + COUNT; the sums of its weights and outputs
# follow from SUMS on.
FEATURE, BIN, MISSING_LEFT, LEFT, COUNT, BEGIN, DEPTH, SUMS = range(8)
# Columns of the best split of a node: last bin on the left, next bin that occurs, rows on the left; then its left sums.
BEST_FEATURE, BEST_BIN, BEST_NEXT, BEST_MISSING_LEFT, BEST_COUNT, BEST_SUMS = range(6)
CELL_COUNT, CELL_SUMS = 0, 1  # columns of a cell of a histogram

LEAF = -1
NO_MISSING = 2  # side of missing values that a node does not hold: that of more rows
ONE, WORD_BITS = np.uint64(1), np.uint64(64)
ALL_BITS = np.uint32(0xFFFFFFFF)
TO_UNIT = 2.0**-53


@layout
class ForestParams(NamedTuple):
    """Limits of the trees of a forest."""

    seed: "i64"
    n_outputs: "i64"
    max_depth: "i64"
    min_samples_split: "i64"
    min_samples_leaf: "i64"
    min_weight_leaf: "i64"
    max_features: "i64"
    random_thresholds: "i64"


@layout
class ForestRows(NamedTuple):
    """Rows of the tree of each member, which the tree reorders, with their integer weights and weighted targets."""

    rows: "u32[:,:]"
    weights: "i64[:,:]"
    amounts: "i64[:,:]"  # codes of classes if there are several outputs
    targets: "i64[:]"  # by row, without weights: equal in a pure node


@layout
class ForestScratch(NamedTuple):
    """Memory of each member: all cells and bits are 0 between nodes."""

    cells: "i64[:,:]"  # (bins, columns of a cell) in one line
    bits: "u64[:,:]"
    bins: "u32[:,:]"  # of the rows of a node
    order: "i64[:,:]"  # features in the order of visits
    best: "i64[:,:]"
    sums: "i64[:,:]"  # on the left of a candidate
    stack: "i64[:,:]"


@kernel()
def lowest_set_bit(word):
    """Return the number of the lowest bit that is set."""
    x = (word & (~word + ONE)) - ONE
    x = x - ((x >> ONE) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel()
def is_pure(begin, end, rows, targets):
    """Return whether all rows of a node have the same target."""
    first = targets[rows[np.uint64(begin)]]
    for k in range(np.uint64(begin) + ONE, np.uint64(end)):
        if targets[rows[k]] != first:
            return False
    return True


@kernel()
def add_cells(column, begin, end, rows, weights, amounts, n_outputs, cells, bits):
    """Add the rows of a node to the cells of a feature and set the bits of the bins that occur."""
    width = np.uint64(n_outputs + 2)
    for k in range(np.uint64(begin), np.uint64(end)):
        b = np.uint64(column[rows[k]])
        cell = b * width
        if cells[cell] == 0:
            bits[b >> np.uint64(6)] |= ONE << (b & np.uint64(63))
        cells[cell] += 1
        cells[cell + ONE] += weights[k]
        if n_outputs == 1:
            cells[cell + np.uint64(2)] += amounts[k]
        else:
            cells[cell + np.uint64(2) + np.uint64(amounts[k])] += weights[k]


@kernel()
def try_forest_split(score, feature, b, next_bin, missing_left, left_count, node, params, sums, best):
    """Keep a candidate with the left ``sums`` if it is better than ``score``; return the score of the best one."""
    right_count = node[COUNT] - left_count
    if left_count < params.min_samples_leaf or right_count < params.min_samples_leaf:
        return score
    if sums[0] < params.min_weight_leaf or node[SUMS] - sums[0] < params.min_weight_leaf:
        return score
    left = 0.0
    right = 0.0
    for k in range(1, params.n_outputs + 1):
        s = np.float64(sums[k])
        r = np.float64(node[SUMS + k] - sums[k])
        left += s * s
        right += r * r
    found = left / np.float64(sums[0]) + right / np.float64(node[SUMS] - sums[0])
    if found <= score:
        return score
    best[BEST_FEATURE] = feature
    best[BEST_BIN] = b
    best[BEST_NEXT] = next_bin
    best[BEST_MISSING_LEFT] = missing_left
    best[BEST_COUNT] = left_count
    for k in range(params.n_outputs + 1):
        best[BEST_SUMS + k] = sums[k]
    return found


@kernel()
def move_missing(sign, n_outputs, cells, sums):
    """Add the cell of missing values to the left sums, or subtract it."""
    for k in range(n_outputs + 1):
        sums[k] += sign * cells[CELL_SUMS + k]
    return sign * cells[CELL_COUNT]


@kernel()
def search_feature(score, feature, n_bins, node, params, cells, bits, sums, best):
    """Read the cells of a feature in the order of bins, and try the split after each bin that occurs; clear them."""
    n_outputs = params.n_outputs
    width = n_outputs + 2
    has_missing = cells[CELL_COUNT] > 0
    right_side = np.int64(0) if has_missing else np.int64(NO_MISSING)
    bits[0] &= ~ONE
    for k in range(n_outputs + 1):
        sums[k] = 0
    left_count = np.int64(0)
    last = np.int64(0)
    for word in range(np.uint64(n_bins // 64 + 1)):
        while bits[word] != np.uint64(0):
            b = np.int64(word * WORD_BITS + lowest_set_bit(bits[word]))
            bits[word] &= bits[word] - ONE
            if last > 0:
                score = try_forest_split(
                    score, feature, last, b, right_side, left_count, node, params, sums, best
                )  # fmt: skip
                if has_missing:
                    n_moved = move_missing(1, n_outputs, cells, sums)
                    score = try_forest_split(
                        score, feature, last, b, 1, left_count + n_moved, node, params, sums, best
                    )  # fmt: skip
                    move_missing(-1, n_outputs, cells, sums)
            cell = np.uint64(b * width)
            left_count += cells[cell]
            cells[cell] = 0
            for k in range(np.uint64(n_outputs + 1)):
                sums[k] += cells[cell + ONE + k]
                cells[cell + ONE + k] = 0
            last = b
    if has_missing:
        if last > 0:
            score = try_forest_split(score, feature, last, n_bins + 1, 0, left_count, node, params, sums, best)
        for k in range(width):
            cells[k] = 0
    return score


@kernel()
def draw_edge(low, high, edges, start, bits):
    """Return a bin from ``low`` to ``high`` - 1: that of the edge nearest below a number drawn between their edges."""
    from_edge = edges[start + low - 1]
    to_edge = edges[start + high - 2]
    u = np.float64(np.int64(bits >> np.uint64(11))) * TO_UNIT
    return nearest_edge(low, high, edges, start, from_edge + u * (to_edge - from_edge))


@kernel()
def nearest_edge(low, high, edges, start, value):
    """Return the bin from ``low`` to ``high`` - 1 whose upper edge is nearest to a value, the lower one of two."""
    first = low
    last = high - 1
    while first < last:
        middle = (first + last) // 2
        if edges[start + middle - 1] < value:
            first = middle + 1
        else:
            last = middle
    if first > low and value - edges[start + first - 2] <= edges[start + first - 1] - value:
        return first - 1
    return first


@kernel()
def gather_node_bins(column, begin, end, rows, bins):
    """Copy the bins of the rows of a node next to each other; return the smallest but 0, the largest, and the zeros."""
    low = ALL_BITS
    high = np.uint32(0)
    n_missing = np.int64(0)
    i = np.uint64(0)
    for k in range(np.uint64(begin), np.uint64(end)):
        b = np.uint32(column[rows[k]])
        bins[i] = b
        i += ONE
        low = min(low, np.uint32(b - np.uint32(1)))  # missing values become the largest number
        high = max(high, b)
        n_missing += np.int64(b == np.uint32(0))
    return np.int64(low) + 1, np.int64(high), n_missing


@kernel()
def sum_left_rows(bins, shift, last_bin, begin, end, weights, amounts, n_outputs, sums):
    """Write the sums of the rows whose bin minus ``shift`` is at most ``last_bin``; return how many they are.

    A ``shift`` of 1 sends missing values, of bin 0, to the right: they become the largest number.
    """
    for k in range(n_outputs + 1):
        sums[k] = 0
    n_left = np.int64(0)
    weight = np.int64(0)
    amount = np.int64(0)
    i = np.uint64(0)
    for k in range(np.uint64(begin), np.uint64(end)):
        is_left = np.int64(np.uint32(bins[i] - shift) <= last_bin)
        i += ONE
        n_left += is_left
        weight += is_left * weights[k]
        if n_outputs == 1:
            amount += is_left * amounts[k]
        else:
            sums[np.uint64(1) + np.uint64(amounts[k])] += is_left * weights[k]
    sums[0] = weight
    if n_outputs == 1:
        sums[1] = amount
    return n_left


@kernel()
def search_random(score, feature, column, edges, start, bits, node, params, rows, weights, amounts, bins, sums, best):
    """Try one threshold of a feature, drawn between the smallest and the largest bin; missing values on either side."""
    begin = node[BEGIN]
    end = begin + node[COUNT]
    low, high, n_missing = gather_node_bins(column, begin, end, rows, bins)
    if high == 0 or (low == high and n_missing == 0):
        return score
    drawn = high if low == high else draw_edge(low, high, edges, start, bits)
    for missing_left in range(2 if n_missing > 0 and low < high else 1):
        shift = np.uint32(0) if missing_left == 1 else np.uint32(1)
        n_left = sum_left_rows(
            bins, shift, np.uint32(drawn) - shift, begin, end, weights, amounts, params.n_outputs, sums
        )
        side = missing_left if n_missing > 0 else NO_MISSING
        score = try_forest_split(score, feature, drawn, drawn + 1, side, n_left, node, params, sums, best)
    return score


@kernel()
def partition_tree_rows(column, last_bin, missing_left, begin, end, rows, weights, amounts):
    """Move the rows of the left side to the front. The order within a side is of no consequence: sums are integers."""
    left = begin
    right = end - 1
    while left <= right:
        b = np.int64(column[rows[np.uint64(left)]])
        if b <= last_bin and (b > 0 or missing_left == 1):
            left += 1
            continue
        i = np.uint64(left)
        j = np.uint64(right)
        row = rows[i]
        weight = weights[i]
        amount = amounts[i]
        rows[i] = rows[j]
        weights[i] = weights[j]
        amounts[i] = amounts[j]
        rows[j] = row
        weights[j] = weight
        amounts[j] = amount
        right -= 1


@kernel()
def find_forest_split(member, number, node_number, node, columns, edges, starts, params, tree_rows, scratch):
    """Find the best split of a node among features that are drawn until there are enough and one can be split."""
    best = scratch.best[member]
    order = scratch.order[member]
    rows = tree_rows.rows[member]
    n_features = order.shape[0]
    begin = node[BEGIN]
    end = begin + node[COUNT]
    score = -1.0
    visit_key = stream_key(params.seed, NODE_COLUMNS, number)
    threshold_key = stream_key(params.seed, THRESHOLDS, number)
    for visit in range(n_features):
        if visit >= params.max_features and score >= 0.0:
            break
        id = (np.uint64(node_number) << np.uint64(24)) + np.uint64(visit)
        other = visit + np.int64(draw(visit_key, id) % np.uint64(n_features - visit))
        f = order[other]
        order[other] = order[visit]
        order[visit] = f
        column = columns[f]
        if params.random_thresholds != 0:
            bits = draw(threshold_key, (np.uint64(node_number) << np.uint64(24)) + np.uint64(f))
            score = search_random(
                score, f, column, edges, starts[f], bits, node, params, rows, tree_rows.weights[member],
                tree_rows.amounts[member], scratch.bins[member], scratch.sums[member], best,
            )  # fmt: skip
        else:
            add_cells(
                column, begin, end, rows, tree_rows.weights[member], tree_rows.amounts[member], params.n_outputs,
                scratch.cells[member], scratch.bits[member],
            )  # fmt: skip
            score = search_feature(
                score, f, starts[f + 1] - starts[f] + 1, node, params, scratch.cells[member], scratch.bits[member],
                scratch.sums[member], best,
            )  # fmt: skip
    return score


@kernel()
def split_forest_node(member, i, nodes, n_nodes, columns, edges, starts, params, tree_rows, scratch):
    """Make two children, partition the rows and write their numbers of rows and sums."""
    best = scratch.best[member]
    node = nodes[i]
    f = best[BEST_FEATURE]
    low = best[BEST_BIN]
    high = best[BEST_NEXT]
    start = starts[f]
    if low + 1 < high <= starts[f + 1] - start + 1:
        halfway = 0.5 * edges[start + low - 1] + 0.5 * edges[start + high - 2]
        low = nearest_edge(low, high, edges, start, halfway)
    node[FEATURE] = f
    node[BIN] = low
    node[MISSING_LEFT] = best[BEST_MISSING_LEFT]
    if node[MISSING_LEFT] == NO_MISSING:
        node[MISSING_LEFT] = np.int64(2 * best[BEST_COUNT] > node[COUNT])
    node[LEFT] = n_nodes
    begin = node[BEGIN]
    end = begin + node[COUNT]
    partition_tree_rows(
        columns[f], low, node[MISSING_LEFT], begin, end, tree_rows.rows[member], tree_rows.weights[member],
        tree_rows.amounts[member],
    )  # fmt: skip
    for side in range(2):
        child = nodes[n_nodes + side]
        child[FEATURE] = LEAF
        child[BIN] = 0
        child[MISSING_LEFT] = 0
        child[LEFT] = 0
        child[COUNT] = best[BEST_COUNT] if side == 0 else node[COUNT] - best[BEST_COUNT]
        child[BEGIN] = begin if side == 0 else begin + best[BEST_COUNT]
        child[DEPTH] = node[DEPTH] + 1
        for k in range(params.n_outputs + 1):
            child[SUMS + k] = best[BEST_SUMS + k] if side == 0 else node[SUMS + k] - best[BEST_SUMS + k]


FOREST = (
    "i64[:,:], f64[:], i64[:], ForestParams, i64[:], i64[:], ForestRows, ForestScratch, i64[:,:,:], f64[:,:], i64[:]"
)


@kernel(FOREST.replace("i64[:,:]", "u8[:,:]", 1), FOREST.replace("i64[:,:]", "u16[:,:]", 1))
def grow_forest_trees(
    member, members, sync, columns, edges, starts, params, numbers, n_rows, tree_rows, scratch, nodes, gains, n_nodes
):
    """Grow one tree on each member: tree ``numbers[member]`` on the first ``n_rows[member]`` of its rows.

    ``edges`` are those of all features, those of feature f from ``starts[f]`` to ``starts[f + 1]``. Writes the nodes of
    each tree, the gains of its splits, and its number of nodes; a member without a tree has a number below 0.
    """
    if numbers[member] < 0:
        return
    tree = nodes[member]
    gain = gains[member]
    stack = scratch.stack[member]
    order = scratch.order[member]
    for f in range(order.shape[0]):
        order[f] = f
    root = tree[0]
    for k in range(SUMS + params.n_outputs + 1):
        root[k] = 0
    root[FEATURE] = LEAF
    root[COUNT] = n_rows[member]
    for i in range(np.uint64(n_rows[member])):
        root[SUMS] += tree_rows.weights[member, i]
        if params.n_outputs == 1:
            root[SUMS + 1] += tree_rows.amounts[member, i]
        else:
            root[SUMS + 1 + tree_rows.amounts[member, i]] += tree_rows.weights[member, i]
    n = np.int64(1)
    n_stacked = 1
    stack[0] = 0
    while n_stacked > 0:
        n_stacked -= 1
        i = stack[n_stacked]
        node = tree[i]
        gain[i] = 0.0
        end = node[BEGIN] + node[COUNT]
        if (
            node[COUNT] < params.min_samples_split
            or node[COUNT] < 2 * params.min_samples_leaf
            or node[DEPTH] >= params.max_depth
            or is_pure(node[BEGIN], end, tree_rows.rows[member], tree_rows.targets)
        ):
            continue
        score = find_forest_split(member, numbers[member], i, node, columns, edges, starts, params, tree_rows, scratch)
        if score < 0.0:
            continue
        before = 0.0
        for k in range(params.n_outputs):
            s = np.float64(node[SUMS + 1 + k])
            before += s * s
        gain[i] = score - before / np.float64(node[SUMS])
        split_forest_node(member, i, tree, n, columns, edges, starts, params, tree_rows, scratch)
        stack[n_stacked] = n + 1
        stack[n_stacked + 1] = n
        n_stacked += 2
        n += 2
    n_nodes[member] = n
