"""Target statistics of categories: sums over all rows, and ordered statistics.

Targets times weights are integers in fixed point, so that sums do not depend on the order of the rows. Members work on
whole columns. ``codes`` (columns, rows) are category codes; category c of column j has row ``start[j] + c`` of ``sums``
(categories, targets + 1), the weight last.
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
