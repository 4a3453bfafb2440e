"""Target statistics of categories: sums over all rows, and ordered statistics.

Targets times weights are integers in fixed point, so that sums do not depend on the order of the rows. Members work on
whole columns. ``codes`` (columns, rows) are category codes; category c of column j has row ``start[j] + c`` of ``sums``
(categories, targets + 1), the weight last. The statistic of target k with prior p is column ``k * priors + p`` of those
of a column of codes.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel


@kernel()
def clear_categories(sums, begin, end):
    """Set the rows ``begin`` to ``end`` to zero."""
    for i in range(begin, end):
        for k in range(sums.shape[1]):
            sums[i, k] = 0


@kernel("i32[:,:], u32[:], i64[:,:], i64[:], i64[:], i64[:,:]")
def sum_targets(member, members, sync, codes, rows, targets, weights, start, sums):
    """Sum the targets (targets, rows) and weights of ``rows`` by category."""
    n_targets = targets.shape[0]
    j = np.int64(member)
    while j < codes.shape[0]:
        clear_categories(sums, start[j], start[j + 1])
        for i in range(rows.shape[0]):
            row = np.uint64(rows[i])
            category = np.uint64(start[j] + np.int64(codes[j, row]))
            for k in range(n_targets):
                sums[category, k] += targets[k, row]
            sums[category, n_targets] += weights[row]
        j += np.int64(members)


@kernel("i32[:,:], u32[:], i64[:,:], i64[:], i64[:], i64[:,:], f64[:], f64[:,:], f64, f64[:,:,:]")
def ordered_statistics(
    member, members, sync, codes, order, targets, weights, start, sums, units, priors, prior_weight, out
):  # fmt: skip
    """Write (Σ target + a·p) / (Σ weight + a) over the rows of the same category before each row in ``order``.

    ``sums`` begins with the sums of the rows that precede ``order``, and ends with those of its rows added. a is
    ``prior_weight``. The statistic of target k with prior p, ``priors[k, p]``, of column j goes to
    ``out[j, k * priors + p, row]``. ``units`` are the values of 1 for each target, then for the weight.
    """
    n_targets = targets.shape[0]
    n_priors = priors.shape[1]
    j = np.int64(member)
    while j < codes.shape[0]:
        for i in range(order.shape[0]):
            row = np.uint64(order[i])
            category = np.uint64(start[j] + np.int64(codes[j, row]))
            weight = np.float64(sums[category, n_targets]) * units[n_targets] + prior_weight
            for k in range(n_targets):
                total = np.float64(sums[category, k]) * units[k]
                for p in range(n_priors):
                    out[j, k * n_priors + p, row] = (total + prior_weight * priors[k, p]) / weight
                sums[category, k] += targets[k, row]
            sums[category, n_targets] += weights[row]
        j += np.int64(members)


# Bins of equal width are found by a division if values differ enough for its rounding not to matter.
MIN_RELATIVE_RANGE = 1e-9


@kernel()
def sum_rows_before(codes, order, targets, units, sums, totals):
    """Write the sums (targets + 1, rows) over the rows of the same category before each row, by places in ``order``.

    ``targets`` (targets + 1, rows) are also by places, the weights last. ``sums``, those of each category one after the
    other, begins with zeros.
    """
    n_rows = np.uint64(order.shape[0])
    if targets.shape[0] == 2:
        for i in range(n_rows):
            at = np.uint64(2 * codes[np.uint64(order[i])])
            target = sums[at]
            weight = sums[at + np.uint64(1)]
            totals[0, i] = np.float64(target) * units[0]
            totals[1, i] = np.float64(weight) * units[1]
            sums[at] = target + targets[0, i]
            sums[at + np.uint64(1)] = weight + targets[1, i]
        return
    width = np.uint64(targets.shape[0])
    for i in range(n_rows):
        at = np.uint64(codes[np.uint64(order[i])]) * width
        for k in range(width):
            totals[k, i] = np.float64(sums[at + k]) * units[k]
            sums[at + k] += targets[k, i]


@kernel()
def take_statistic(totals, weights, prior, prior_weight, values):
    """Write the statistics (total + a·p) / (weight + a), a the weight of the prior p."""
    for i in range(np.uint64(values.shape[0])):
        values[i] = (totals[i] + prior_weight * prior) / (weights[i] + prior_weight)


@kernel()
def widen_range(values, low, high):
    """Return the smaller of ``low`` and all values, and the larger of ``high`` and all values."""
    # Four of each, so that a comparison does not wait for the one before.
    n = np.uint64(values.shape[0])
    whole = n - n % np.uint64(4)
    low_0 = low_1 = low_2 = low_3 = low
    high_0 = high_1 = high_2 = high_3 = high
    for i in range(np.uint64(0), whole, np.uint64(4)):
        a, b = values[i], values[i + np.uint64(1)]
        c, d = values[i + np.uint64(2)], values[i + np.uint64(3)]
        low_0, high_0 = min(a, low_0), max(a, high_0)
        low_1, high_1 = min(b, low_1), max(b, high_1)
        low_2, high_2 = min(c, low_2), max(c, high_2)
        low_3, high_3 = min(d, low_3), max(d, high_3)
    for i in range(whole, n):
        low_0, high_0 = min(values[i], low_0), max(values[i], high_0)
    return min(min(low_0, low_1), min(low_2, low_3)), max(max(high_0, high_1), max(high_2, high_3))


@kernel()
def find_range(sums, k, units, prior, prior_weight):
    """Return the smallest and the largest statistic of target k that new rows have, by the sums of all rows."""
    low = np.inf
    high = -np.inf
    width = units.shape[0]
    for at in range(0, sums.shape[0], width):
        weight = np.float64(sums[at + width - 1]) * units[width - 1] + prior_weight
        value = (np.float64(sums[at + k]) * units[k] + prior_weight * prior) / weight
        low, high = min(value, low), max(value, high)
    return low, high


@kernel()
def space_edges(low, high, edges):
    """Write the edges between bins of equal width, as ``np.linspace`` computes them, each once; return how many.

    ``edges[0]`` is minus infinity; infinity follows the last one.
    """
    n_bins = np.float64(edges.shape[0] - 1)
    width = (high - low) / n_bins
    n_edges = np.int64(0)
    edges[0] = -np.inf
    for k in range(1, edges.shape[0] - 1):
        step = np.float64(k) * width if width != 0.0 else np.float64(k) / n_bins * (high - low)
        edge = step + low
        if edge > edges[n_edges]:
            n_edges += 1
            edges[n_edges] = edge
    edges[n_edges + 1] = np.inf
    return n_edges


@kernel()
def bin_evenly(values, order, edges, n_edges, low, high, out):
    """Write 1 + (number of edges below each value) to its row; ``edges`` are those of ``space_edges``."""
    n_bins = edges.shape[0] - 1
    if n_edges + 1 == n_bins and high - low > MIN_RELATIVE_RANGE * max(abs(low), abs(high)):
        per_width = np.float64(n_bins) / (high - low)
        for i in range(np.uint64(values.shape[0])):
            x = values[i]
            # Rounding can put a value into the bin before or after its own.
            near = np.uint64(min(np.int64((x - low) * per_width), n_edges))
            above = near + np.uint64(edges[near + np.uint64(1)] < x)
            out[np.uint64(order[i])] = above + np.uint64(1) - np.uint64(edges[near] >= x)
        return
    for i in range(np.uint64(values.shape[0])):
        b = 1
        while edges[b] < values[i]:
            b += 1
        out[np.uint64(order[i])] = b


@kernel(
    "i32[:,:], u32[:,:], i64[:,:,:], i64[:], i64[:], f64[:], f64[:,:], f64, f64[:,:,:], f64[:,:,:], f64[:,:,:], "
    "i64[:,:], u8[:,:,:,:]"
)
def bin_ordered_statistics(
    member, members, sync, codes, orders, targets, start, sums, units, priors, prior_weight, totals, values, edges,
    n_edges, out,
):  # fmt: skip
    """Write the bins of ordered statistics in several orders (orders, rows) to ``out`` (orders, columns, ..., rows).

    The bins divide the range of a statistic, in all orders and of new rows, into equal parts. ``n_edges`` of the edges
    between them differ: those of ``edges`` (columns, targets · priors, bins + 1) after the first. ``targets`` (orders,
    targets + 1, rows) are in the order of each, the weights last. ``sums`` of the categories one after the other end
    with those of all rows. ``totals`` (members, orders · (targets + 1), rows) and ``values`` (members, orders, rows)
    are workspaces, and members without a row do nothing.
    """
    if member >= values.shape[0]:
        return
    n_sums = targets.shape[1]
    j = np.int64(member)
    while j < codes.shape[0]:
        own_sums = sums[n_sums * start[j] : n_sums * start[j + 1]]
        for s in range(orders.shape[0]):
            for i in range(own_sums.shape[0]):
                own_sums[i] = 0
            order_totals = totals[member, n_sums * s : n_sums * (s + 1)]
            sum_rows_before(codes[j], orders[s], targets[s], units, own_sums, order_totals)
        for q in range(priors.size):
            k = q // priors.shape[1]
            prior = priors[k, q % priors.shape[1]]
            low, high = find_range(own_sums, k, units, prior, prior_weight)
            for s in range(orders.shape[0]):
                column = values[member, s]
                last = n_sums * (s + 1) - 1
                take_statistic(totals[member, n_sums * s + k], totals[member, last], prior, prior_weight, column)
                low, high = widen_range(column, low, high)
            n_edges[j, q] = space_edges(low, high, edges[j, q])
            for s in range(orders.shape[0]):
                bin_evenly(values[member, s], orders[s], edges[j, q], n_edges[j, q], low, high, out[s, j, q])
        j += np.int64(min(members, values.shape[0]))
