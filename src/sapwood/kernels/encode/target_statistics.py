"""Statistics of the target per level, for rows in a given order.

Amounts are integers in fixed point, so that sums do not depend on the order of the rows. The members of the team take
whole columns. ``codes`` (columns, rows) are the levels; level c of column j has the line ``start[j] + c`` of ``sums``
(lines, targets + 1), where the weight comes last.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel


@kernel()
def clear_lines(sums, first, last):
    """Set the lines ``first`` to ``last`` to zero."""
    for line in range(first, last):
        for k in range(sums.shape[1]):
            sums[line, k] = 0


@kernel("i32[:,:], u32[:], i64[:,:], i64[:], i64[:], i64[:,:]")
def sum_levels(member, members, sync, codes, rows, amounts, weights, start, sums):
    """Add the amounts (targets, rows) and weights of ``rows`` to their levels."""
    n_targets = amounts.shape[0]
    j = np.int64(member)
    while j < codes.shape[0]:
        clear_lines(sums, start[j], start[j + 1])
        for i in range(rows.shape[0]):
            row = np.uint64(rows[i])
            line = np.uint64(start[j] + np.int64(codes[j, row]))
            for k in range(n_targets):
                sums[line, k] += amounts[k, row]
            sums[line, n_targets] += weights[row]
        j += np.int64(members)


@kernel("i32[:,:], u32[:], i64[:,:], i64[:], i64[:], i64[:,:], f64[:], f64[:,:], f64, f64[:,:,:]")
def ordered_statistics(member, members, sync, codes, order, amounts, weights, start, sums, units, priors, a, out):
    """Write (Σ amount + a·p) / (Σ weight + a) over the rows of the same level before each row in ``order``.

    The statistic of target k with prior p, ``priors[k, p]``, of column j goes to ``out[j, k * priors + p, row]``.
    ``units`` are what an integer of each target stands for, the weight's last. ``sums`` ends as in ``sum_levels``.
    """
    n_targets = amounts.shape[0]
    n_priors = priors.shape[1]
    j = np.int64(member)
    while j < codes.shape[0]:
        clear_lines(sums, start[j], start[j + 1])
        for i in range(order.shape[0]):
            row = np.uint64(order[i])
            line = np.uint64(start[j] + np.int64(codes[j, row]))
            weight = np.float64(sums[line, n_targets]) * units[n_targets] + a
            for k in range(n_targets):
                total = np.float64(sums[line, k]) * units[k]
                for p in range(n_priors):
                    out[j, k * n_priors + p, row] = (total + a * priors[k, p]) / weight
                sums[line, k] += amounts[k, row]
            sums[line, n_targets] += weights[row]
        j += np.int64(members)
