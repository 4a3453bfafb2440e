"""Find the best threshold of each numeric column by absolute error, from medians that are kept up to date.

A Fenwick tree over the entries in the order of their targets holds weights and weighted targets, so that the median of
a side and its absolute error take a logarithmic number of steps after each entry.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.split.impurity import SortedEntries  # noqa: F401 (named in a signature)
from sapwood.kernels.split.impurity_scan import (
    ABOVE,
    BELOW,
    KNOWN_ONLY,
    KNOWN_WEIGHT,
    LEFT_WEIGHT,
    LOSS,
    MIN_ENTRIES,
    MIN_WEIGHT,
    MISSING_LEFT,
    PARENT_LOSS,
    clear_result,
    count_known,
)  # fmt: skip
from sapwood.native.runtime.kernel import kernel


@kernel()
def clear_fenwick(tree):
    """Empty a Fenwick tree; its first row holds the totals."""
    for i in range(tree.shape[0]):
        tree[i, 0] = 0.0
        tree[i, 1] = 0.0


@kernel()
def insert_target(tree, rank, weight, target):
    """Add an entry whose target has this rank."""
    n = tree.shape[0] - 1
    tree[0, 0] += weight
    tree[0, 1] += weight * target
    i = rank + 1
    while i <= n:
        tree[i, 0] += weight
        tree[i, 1] += weight * target
        i += i & -i


@kernel()
def loss_around_median(tree, by_rank):
    """Return the absolute error of the inserted entries around their weighted median."""
    n = tree.shape[0] - 1
    half = 0.5 * tree[0, 0]
    step = np.int64(1)
    while 2 * step <= n:
        step *= 2
    position, weight, total = np.int64(0), 0.0, 0.0
    # Descend to the last rank at which the weight up to it is below one half; the median follows it.
    while step > 0:
        after = position + step
        if after <= n and weight + tree[after, 0] < half:
            position = after
            weight += tree[after, 0]
            total += tree[after, 1]
        step //= 2
    median = by_rank[min(position, n - 1)]
    loss = (tree[0, 1] - 2.0 * total) - median * (tree[0, 0] - 2.0 * weight)
    return max(loss, 0.0)


@kernel()
def insert_targets(entries, column, start, stop, rank, tree):
    """Insert the entries of a range of positions of a column; return their weight."""
    total = 0.0
    for i in range(start, stop):
        entry = entries.order[column, i]
        insert_target(tree, np.int64(rank[entry]), entries.weight[entry], entries.target[entry])
        total += entries.weight[entry]
    return total


@kernel()
def scan_medians(entries, column, span, missing_left, limits, rank, by_rank, tree, losses, result):
    """Score the thresholds of a column with missing values on one side, from the left and then from the right."""
    start, known, stop = span
    clear_fenwick(tree)
    left_weight = insert_targets(entries, column, known, stop if missing_left == 1 else known, rank, tree)
    for i in range(start, known):
        left_weight += insert_targets(entries, column, i, i + 1, rank, tree)
        losses[i - start, 0] = loss_around_median(tree, by_rank)
        losses[i - start, 1] = left_weight
    clear_fenwick(tree)
    right_weight = insert_targets(entries, column, known if missing_left == 0 else stop, stop, rank, tree)
    before = stop - known if missing_left == 1 else 0
    best = np.int64(-1)
    for back in range(known - start):
        i = known - 1 - back
        n_left = i + 1 - start + before
        x = entries.values[column, entries.order[column, i]]
        above = entries.values[column, entries.order[column, i + 1]] if i + 1 < known else np.nan
        has_right = i + 1 < known or (stop > known and missing_left == 0)
        is_allowed = has_right and (above > x or i + 1 == known) and n_left >= limits[MIN_ENTRIES]
        is_allowed = is_allowed and stop - start - n_left >= limits[MIN_ENTRIES]
        is_allowed = is_allowed and losses[i - start, 1] >= limits[MIN_WEIGHT] and right_weight >= limits[MIN_WEIGHT]
        if is_allowed:
            loss = losses[i - start, 0] + loss_around_median(tree, by_rank)
            # Of equal losses the first position wins, as in a scan from the left.
            if loss < result[LOSS] or (loss == result[LOSS] and best >= 0):
                best = i
                result[LOSS], result[BELOW], result[ABOVE] = loss, x, above
                result[MISSING_LEFT], result[LEFT_WEIGHT] = np.float64(missing_left), losses[i - start, 1]
        right_weight += insert_targets(entries, column, i, i + 1, rank, tree)


@kernel("SortedEntries, i64, i64, i64[:], f64[:], i32[:], f64[:], f64[:,:], f64[:,:], f64[:,:]")
def scan_columns_absolute(entries, start, stop, columns, limits, rank, by_rank, tree, losses, out):
    """Write the best threshold of each of ``columns`` by absolute error to ``out``, as ``scan_columns`` does.

    The last row of ``entries.order`` is sorted by target. The other arrays are scratch: ``rank`` of all entries, one
    row of ``by_rank`` and ``losses`` per entry of the node, and one more of ``tree``.
    """
    by_target = entries.order.shape[0] - 1
    for i in range(start, stop):
        entry = entries.order[by_target, i]
        rank[entry] = np.int32(i - start)
        by_rank[i - start] = entries.target[entry]
    for c in range(columns.shape[0]):
        column, result = columns[c], out[c]
        known = start + count_known(entries, column, start, stop)
        last = known if limits[KNOWN_ONLY] > 0.0 else stop
        clear_fenwick(tree)
        result[KNOWN_WEIGHT] = insert_targets(entries, column, start, last, rank, tree)
        result[PARENT_LOSS] = loss_around_median(tree, by_rank)
        clear_result(result)
        for missing_left in range(2 if last > known else 1):
            span = (start, known, last)
            scan_medians(entries, column, span, missing_left, limits, rank, by_rank, tree, losses, result)


@kernel("SortedEntries, i64, i64, f64[:]")
def median_of_node(entries, start, stop, facts):
    """Write the weight of a node, its absolute error around the median, and the median to ``facts``.

    Where exactly half of the weight lies on each side, the median is the middle of the two targets next to it.
    """
    by_target = entries.order.shape[0] - 1
    weight = 0.0
    for i in range(start, stop):
        weight += entries.weight[entries.order[by_target, i]]
    below, i = 0.0, start
    while i < stop - 1 and below + entries.weight[entries.order[by_target, i]] < 0.5 * weight:
        below += entries.weight[entries.order[by_target, i]]
        i += 1
    entry = entries.order[by_target, i]
    median = entries.target[entry]
    if i + 1 < stop and below + entries.weight[entry] == 0.5 * weight:
        median = 0.5 * median + 0.5 * entries.target[entries.order[by_target, i + 1]]
    loss = 0.0
    for k in range(start, stop):
        entry = entries.order[by_target, k]
        loss += entries.weight[entry] * abs(entries.target[entry] - median)
    facts[0], facts[1], facts[2] = weight, loss, median
