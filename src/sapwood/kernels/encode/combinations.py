"""Levels of crossed columns: their numbers, and how much they tell of the target.

``codes`` (columns, rows) are the levels of single columns, each below that of ``sizes``. A line of ``chosen``
(crossings, columns at most) lists the columns of a crossing, −1 where it has fewer. Levels of a crossing are numbered
as they appear. Each member takes whole crossings, and has a line of ``slots`` (lines, a power of two above the number
of rows), the table by which it finds the number of a level, and of ``keys`` (lines, rows), the keys of levels that it
has found. Members beyond the lines rest.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import hash_combine
from sapwood.native.runtime.kernel import kernel


@kernel()
def cross_key(codes, columns, row):
    """The number of 64 bits that ``data.crossing.cross_codes`` gives the levels of a row."""
    key = np.uint64(0)
    for k in range(columns.shape[0]):
        if columns[k] >= 0:
            key = hash_combine(key, np.uint64(codes[columns[k], row]))
    return key


@kernel()
def count_places(sizes, columns):
    """How many combinations of codes a crossing can have, as a float: there may be very many."""
    n = 1.0
    for k in range(columns.shape[0]):
        if columns[k] >= 0:
            n *= np.float64(sizes[columns[k]])
    return n


@kernel()
def clear_table(sizes, columns, table):
    """Empty the slots that a crossing needs; tell whether each of its combinations of codes has one of its own."""
    n_places = count_places(sizes, columns)
    is_small = n_places <= np.float64(table.shape[0])
    for s in range(np.int64(n_places) if is_small else table.shape[0]):
        table[s] = 0
    return is_small


@kernel()
def find_level(codes, sizes, columns, row, is_small, n_levels, slots, keys):
    """The number of a row's level, which is ``n_levels`` and is noted down if it is new.

    Where all combinations of codes have a slot of their own (``is_small``), no keys are needed to find it.
    """
    if is_small:
        at = np.uint64(0)
        for k in range(columns.shape[0]):
            if columns[k] >= 0:
                at = at * np.uint64(sizes[columns[k]]) + np.uint64(codes[columns[k], row])
        if slots[at] > 0:
            return np.int64(slots[at] - 1)
    else:
        key = cross_key(codes, columns, row)
        mask = np.uint64(slots.shape[0] - 1)
        at = key & mask
        while slots[at] > 0:
            level = np.uint64(slots[at] - 1)
            if keys[level] == key:
                return np.int64(level)
            at = (at + np.uint64(1)) & mask
        keys[np.uint64(n_levels)] = key
    slots[at] = np.int32(n_levels + 1)
    return np.int64(n_levels)


@kernel("i32[:,:], i64[:], i32[:,:], i32[:,:], u64[:,:], i32[:,:], i32[:,:], i64[:]")
def number_crossings(member, members, sync, codes, sizes, chosen, slots, keys, out, firsts, counts):
    """Write the level of every row of each crossing to ``out``, the first row of each level and the count of levels."""
    if member >= slots.shape[0]:
        return
    table = slots[member]
    j = np.int64(member)
    while j < chosen.shape[0]:
        is_small = clear_table(sizes, chosen[j], table)
        n_levels = np.int64(0)
        for row in range(codes.shape[1]):
            level = find_level(codes, sizes, chosen[j], row, is_small, n_levels, table, keys[member])
            out[j, row] = np.int32(level)
            if level == n_levels:
                firsts[j, level] = np.int32(row)
                n_levels += 1
        counts[j] = n_levels
        j += np.int64(min(members, slots.shape[0]))


@kernel("i32[:,:], i64[:], i32[:,:], i64[:,:], i64[:], f64[:], f64[:], i32[:,:], u64[:,:], i64[:,:,:], f64[:], i64[:]")
def judge_crossings(
    member, members, sync, codes, sizes, chosen, amounts, weights, units, priors, slots, keys, sums, errors, counts
):  # fmt: skip
    """Take the ordered statistic of each crossing for a prediction of the target; write its error and its levels.

    A row is predicted by the rows before it, with the weight 1 for the prior of each target. The error is the sum of
    weight·(statistic − y)² over rows and targets without the constant weight·y². ``amounts`` are weight·y (targets,
    rows), integers in ``units``, the weight's last. ``sums`` are (lines, rows, targets + 1).
    """
    if member >= slots.shape[0]:
        return
    n_targets = amounts.shape[0]
    table = slots[member]
    lines = sums[member]
    j = np.int64(member)
    while j < chosen.shape[0]:
        is_small = clear_table(sizes, chosen[j], table)
        n_levels = np.int64(0)
        error = 0.0
        for row in range(codes.shape[1]):
            level = find_level(codes, sizes, chosen[j], row, is_small, n_levels, table, keys[member])
            line = lines[np.uint64(level)]
            if level == n_levels:
                n_levels += 1
                for k in range(n_targets + 1):
                    line[k] = 0
            weight = np.float64(line[n_targets]) * units[n_targets] + 1.0
            own = np.float64(weights[row]) * units[n_targets]
            for k in range(n_targets):
                told = (np.float64(line[k]) * units[k] + priors[k]) / weight
                error += told * (own * told - 2.0 * (np.float64(amounts[k, row]) * units[k]))
                line[k] += amounts[k, row]
            line[n_targets] += weights[row]
        errors[j] = error
        counts[j] = n_levels
        j += np.int64(min(members, slots.shape[0]))
