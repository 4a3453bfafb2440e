"""Directions of oblique splits: ridge regressions of the target on the numeric columns in a node."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.leaves.linear import solve_ridge
from sapwood.kernels.split.impurity import SortedEntries  # noqa: F401 (named in a signature)
from sapwood.native.runtime.kernel import kernel

REGRESSION = 0  # instead of a number of classes


@kernel()
def measure_columns(entries, start, stop, columns, units):
    """Write mean and 1 / standard deviation of each column in a node; 0 for a constant or infinite one.

    Entries with a missing value are left out. Return the weight of all entries.
    """
    total = 0.0
    for i in range(start, stop):
        total += entries.weight[entries.order[0, i]]
    for j in range(columns.shape[0]):
        weight, mean, square = 0.0, 0.0, 0.0
        for i in range(start, stop):
            entry = entries.order[0, i]
            x = entries.values[columns[j], entry]
            if x == x:
                weight += entries.weight[entry]
                mean += entries.weight[entry] * x
        mean = mean / weight if weight > 0.0 else 0.0
        for i in range(start, stop):
            entry = entries.order[0, i]
            distance = entries.values[columns[j], entry] - mean
            if distance == distance:
                square += entries.weight[entry] * distance * distance
        is_used = square > 0.0 and square < np.inf and mean - mean == 0.0
        units[j, 0] = mean if is_used else 0.0
        units[j, 1] = 1.0 / np.sqrt(square / weight) if is_used else 0.0
    return total


@kernel()
def scaled_value(entries, column, entry, unit):
    """Return a value less its mean, in standard deviations; 0 where it is missing or the column is not used."""
    u = (entries.values[column, entry] - unit[0]) * unit[1]
    return u if u - u == 0.0 else 0.0


@kernel("SortedEntries, i64, i64, i64[:], i64, f64, f64[:,:], f64[:,:], f64[:,:]")
def fit_directions(entries, start, stop, columns, n_classes, ridge, units, scratch, out):
    """Write a direction per output to ``out``: the slopes of the target, or of the membership in each class.

    Two classes have one output. ``units`` gets mean and 1 / standard deviation of each column, ``scratch`` has 2 rows
    of at least F (F + 1) / 2 + F numbers; ``ridge`` is the penalty as a fraction of the variance.
    """
    n = columns.shape[0]
    size = n * (n + 1) // 2
    weight = measure_columns(entries, start, stop, columns, units)
    matrix, factor, row = scratch[0], scratch[1], scratch[0, size:]
    for j in range(size):
        matrix[j] = 0.0
    for k in range(out.shape[0]):
        for j in range(n):
            out[k, j] = 0.0
    for i in range(start, stop):
        entry = entries.order[0, i]
        w, target = entries.weight[entry], entries.target[entry]
        position = 0
        for j in range(n):
            row[j] = scaled_value(entries, columns[j], entry, units[j])
            for m in range(j + 1):
                matrix[position + m] += w * row[j] * row[m]
            position += j + 1
        for k in range(out.shape[0]):
            if n_classes > 2:
                t = 1.0 if np.int64(target) == k else 0.0
            else:
                t = target
            for j in range(n):
                out[k, j] -= w * row[j] * t
    for k in range(out.shape[0]):
        for j in range(size):
            factor[j] = matrix[j]
        solve_ridge(n, weight, ridge, factor, out[k])
        for j in range(n):
            out[k, j] *= units[j, 1]
