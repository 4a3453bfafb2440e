"""Categories of combined columns: their codes, and how well they predict the target.

``codes`` (columns, rows) are the category codes of single columns, each below the column's entry in ``n_codes``. A row
of ``combinations`` (combinations, maximum number of columns) lists the columns of a combination, −1 where it has fewer.
Categories of a combination are numbered in order of appearance. Each member works on whole combinations, with a row of
two workspaces: a hash table in ``tables`` (members, a power of two above the number of rows), which holds code + 1 of
each category and 0 elsewhere, and the ``keys`` (members, rows) of the categories. Members without a row do nothing.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import hash_combine
from sapwood.native.runtime.kernel import kernel


@kernel()
def combination_key(codes, columns, row):
    """Return the 64-bit hash of a row's codes, as ``data.categories.combination_codes.combination_keys`` does."""
    key = np.uint64(0)
    for k in range(columns.shape[0]):
        if columns[k] >= 0:
            key = hash_combine(key, np.uint64(codes[columns[k], row]))
    return key


@kernel()
def count_code_tuples(n_codes, columns):
    """Return the number of possible tuples of codes of a combination, as a float against overflow."""
    n = 1.0
    for k in range(columns.shape[0]):
        if columns[k] >= 0:
            n *= np.float64(n_codes[columns[k]])
    return n


@kernel()
def clear_table(n_codes, columns, table):
    """Empty the entries that a combination needs; return whether every tuple of codes has an entry of its own."""
    n_tuples = count_code_tuples(n_codes, columns)
    is_direct = n_tuples <= np.float64(table.shape[0])
    for s in range(np.int64(n_tuples) if is_direct else table.shape[0]):
        table[s] = 0
    return is_direct


@kernel()
def find_category(codes, n_codes, columns, row, is_direct, n_categories, table, keys):
    """Return the code of a row's category; a new one gets the code ``n_categories`` and is entered into the table.

    Where every tuple of codes has an entry of its own (``is_direct``), no hash is needed.
    """
    if is_direct:
        at = np.uint64(0)
        for k in range(columns.shape[0]):
            if columns[k] >= 0:
                at = at * np.uint64(n_codes[columns[k]]) + np.uint64(codes[columns[k], row])
        if table[at] > 0:
            return np.int64(table[at] - 1)
    else:
        key = combination_key(codes, columns, row)
        mask = np.uint64(table.shape[0] - 1)
        at = key & mask
        while table[at] > 0:
            category = np.uint64(table[at] - 1)
            if keys[category] == key:
                return np.int64(category)
            at = (at + np.uint64(1)) & mask
        keys[np.uint64(n_categories)] = key
    table[at] = np.int32(n_categories + 1)
    return np.int64(n_categories)


@kernel("i32[:,:], i64[:], i32[:,:], i32[:,:], u64[:,:], i32[:,:], i32[:,:], i64[:]")
def encode_combinations(member, members, sync, codes, n_codes, combinations, tables, keys, out, first_rows, counts):
    """Write each row's category in each combination, the first row of each category, and the number of categories."""
    if member >= tables.shape[0]:
        return
    table = tables[member]
    j = np.int64(member)
    while j < combinations.shape[0]:
        is_direct = clear_table(n_codes, combinations[j], table)
        n_categories = np.int64(0)
        for row in range(codes.shape[1]):
            category = find_category(
                codes, n_codes, combinations[j], row, is_direct, n_categories, table, keys[member]
            )  # fmt: skip
            out[j, row] = np.int32(category)
            if category == n_categories:
                first_rows[j, category] = np.int32(row)
                n_categories += 1
        counts[j] = n_categories
        j += np.int64(min(members, tables.shape[0]))


@kernel("i32[:,:], i64[:], i32[:,:], i64[:,:], i64[:], f64[:], f64[:], i32[:,:], u64[:,:], i64[:,:,:], f64[:], i64[:]")
def score_combinations(
    member, members, sync, codes, n_codes, combinations, targets, weights, units, priors,
    tables, keys, sums, errors, counts,
):  # fmt: skip
    """Write the squared error of each combination's ordered target statistic, and its number of categories.

    A row is predicted from the rows before it, with the weight 1 for the prior of each target. The error is the sum of
    weight·(statistic − y)² over rows and targets without the constant weight·y². ``targets`` are weight·y (targets,
    rows) in fixed point; ``units`` are the values of 1 for each target, then for the weight. ``sums`` (members, rows,
    targets + 1) is a workspace.
    """
    if member >= tables.shape[0]:
        return
    n_targets = targets.shape[0]
    table = tables[member]
    my_sums = sums[member]
    j = np.int64(member)
    while j < combinations.shape[0]:
        is_direct = clear_table(n_codes, combinations[j], table)
        n_categories = np.int64(0)
        error = 0.0
        for row in range(codes.shape[1]):
            category = find_category(
                codes, n_codes, combinations[j], row, is_direct, n_categories, table, keys[member]
            )  # fmt: skip
            category_sums = my_sums[np.uint64(category)]
            if category == n_categories:
                n_categories += 1
                for k in range(n_targets + 1):
                    category_sums[k] = 0
            weight = np.float64(category_sums[n_targets]) * units[n_targets] + 1.0
            row_weight = np.float64(weights[row]) * units[n_targets]
            for k in range(n_targets):
                statistic = (np.float64(category_sums[k]) * units[k] + priors[k]) / weight
                error += statistic * (row_weight * statistic - 2.0 * (np.float64(targets[k, row]) * units[k]))
                category_sums[k] += targets[k, row]
            category_sums[n_targets] += weights[row]
        errors[j] = error
        counts[j] = n_categories
        j += np.int64(min(members, tables.shape[0]))


@kernel("i32[:,:], i32[:,:], i32[:,:], i64[:], u64[:]")
def hash_categories(member, members, sync, codes, combinations, first_rows, start, out):
    """Write the key of each category: ``out[start[j] : start[j + 1]]`` are those of combination j, by their codes."""
    j = np.int64(member)
    while j < combinations.shape[0]:
        for k in range(start[j + 1] - start[j]):
            out[start[j] + k] = combination_key(codes, combinations[j], np.uint64(first_rows[j, k]))
        j += np.int64(members)


@kernel()
def place_by_first_bits(keys, shift, counts, order):
    """Write the numbers of the keys to ``order``, ascending by the bits from ``shift`` on; ``counts`` is a workspace.

    ``counts`` has an entry per number of these bits, and one more.
    """
    for b in range(np.uint64(counts.shape[0])):
        counts[b] = 0
    for i in range(np.uint64(keys.shape[0])):
        counts[(keys[i] >> shift) + np.uint64(1)] += 1
    for b in range(np.uint64(1), np.uint64(counts.shape[0])):
        counts[b] += counts[b - np.uint64(1)]
    for i in range(np.uint64(keys.shape[0])):
        at = keys[i] >> shift
        order[np.uint64(counts[at])] = np.int32(i)
        counts[at] += 1


@kernel("u64[:], i64[:], i64[:,:], i32[:]")
def sort_combination_keys(member, members, sync, keys, start, counts, order):
    """Write the order of the keys of each combination, ascending, as numbers from 0 on in each combination.

    Keys ``start[j]`` to ``start[j + 1]`` are those of combination j. They are hashes: sorted by as many first bits as
    there are keys, few are out of place. ``counts`` (members, 1 + twice the largest number of keys) is a workspace;
    members without a row do nothing.
    """
    if member >= counts.shape[0]:
        return
    j = np.int64(member)
    while j < start.shape[0] - 1:
        own_keys = keys[start[j] : start[j + 1]]
        own_order = order[start[j] : start[j + 1]]
        n_bits = np.int64(1)
        while (np.int64(1) << n_bits) < own_keys.shape[0]:
            n_bits += 1
        own_counts = counts[member][: (np.int64(1) << n_bits) + 1]
        place_by_first_bits(own_keys, np.uint64(64 - n_bits), own_counts, own_order)
        for i in range(1, own_order.shape[0]):
            number = own_order[i]
            k = i
            while k > 0 and own_keys[own_order[k - 1]] > own_keys[number]:
                own_order[k] = own_order[k - 1]
                k -= 1
            own_order[k] = number
        j += np.int64(min(members, counts.shape[0]))
