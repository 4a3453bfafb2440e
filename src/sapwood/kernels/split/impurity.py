"""Impurity of a node of a decision tree: Gini, entropy in bits, variance.

The *loss* of some rows is their weight times their impurity, so that losses of children can be added. Rows are entered
as sums: the weight of each class, or the weighted sum of the target.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.numeric.elementary import log
from sapwood.native.runtime.kernel import kernel, layout

GINI, ENTROPY, SQUARED_ERROR, ABSOLUTE_ERROR = range(4)
PER_LN_2 = 1.4426950408889634


@layout
class SortedEntries(NamedTuple):
    """Rows sorted by each column; a node is a range of positions, the same in every column.

    An entry is a row of the table, or the fraction of a row that went to one of several children.
    """

    values: "f64[:,:]"  # (F, M) value of each entry, NaN where missing
    order: "i32[:,:]"  # (F, M) or (F + 1, M) entries sorted by value inside each node, missing ones last
    target: "f64[:]"  # (M) number of the class, or the target
    weight: "f64[:]"  # (M)


@kernel()
def weighted_impurity(criterion, sums, weight):
    """Return the loss of rows with these sums; that of squared error without its constant part, the sum of w y^2."""
    if weight <= 0.0:
        return 0.0
    total = 0.0
    if criterion == ENTROPY:
        for k in range(sums.shape[0]):
            if sums[k] > 0.0:
                total -= sums[k] * log(sums[k] / weight)
        return total * PER_LN_2
    for k in range(sums.shape[0]):
        total += sums[k] * sums[k]
    return weight - total / weight if criterion == GINI else -total / weight


@kernel()
def add_entry(criterion, target, weight, origin, sums):
    """Add an entry to sums; those of numbers are of their distances from ``origin``."""
    if criterion == SQUARED_ERROR:
        sums[0] += weight * (target - origin)
    else:
        sums[np.int64(target)] += weight


@kernel("i64, SortedEntries, i64, i64, f64[:], f64[:]")
def sum_node(criterion, entries, start, stop, sums, facts):
    """Write the sums of a node, and its weight and loss to ``facts``."""
    for k in range(sums.shape[0]):
        sums[k] = 0.0
    weight = 0.0
    for i in range(start, stop):
        entry = entries.order[0, i]
        weight += entries.weight[entry]
        add_entry(criterion, entries.target[entry], entries.weight[entry], 0.0, sums)
    facts[0] = weight
    facts[1] = 0.0
    if criterion != SQUARED_ERROR:
        facts[1] = weighted_impurity(criterion, sums, weight)
        return
    mean = sums[0] / weight
    for i in range(start, stop):
        entry = entries.order[0, i]
        distance = entries.target[entry] - mean
        facts[1] += entries.weight[entry] * distance * distance


@kernel("i64, SortedEntries, i64, i64, i64, f64, i64[:], f64[:,:], f64[:]")
def sum_categories(criterion, entries, column, start, stop, origin, counts, sums, out):
    """Write the sums of each category of a node, in the order of their codes.

    Group g has ``counts[g]`` entries, the sums ``sums[g, :-1]`` and the weight ``sums[g, -1]``; ``out[g]`` is its code.
    The last of ``counts`` is the number of groups.
    """
    n_sums = sums.shape[1] - 1
    g = np.int64(-1)
    for i in range(start, stop):
        entry = entries.order[column, i]
        code = entries.values[column, entry]
        if g < 0 or code != out[g]:
            g += 1
            out[g] = code
            counts[g] = 0
            for k in range(n_sums + 1):
                sums[g, k] = 0.0
        counts[g] += 1
        sums[g, n_sums] += entries.weight[entry]
        add_entry(criterion, entries.target[entry], entries.weight[entry], origin, sums[g])
    counts[counts.shape[0] - 1] = g + 1


@kernel("i64, f64[:,:], f64[:]")
def category_losses(criterion, sums, out):
    """Write the loss of each category from sums as ``sum_categories`` writes them."""
    n_sums = sums.shape[1] - 1
    for g in range(sums.shape[0]):
        out[g] = weighted_impurity(criterion, sums[g, :n_sums], sums[g, n_sums])
