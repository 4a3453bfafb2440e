"""Find the best threshold of each numeric column for a node of a decision tree, among its sorted entries."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.split.impurity import SortedEntries, add_entry, weighted_impurity  # noqa: F401
from sapwood.native.runtime.kernel import kernel

# Columns of the result: the loss of the children (infinite without a split), the values below and above the threshold
# (above is NaN where all values go left and missing ones right), the side of missing values, the weight of the left
# child, and the loss and weight of the entries that were divided.
LOSS, BELOW, ABOVE, MISSING_LEFT, LEFT_WEIGHT, PARENT_LOSS, KNOWN_WEIGHT, RESULT = range(8)
# Limits: entries and weight of a child at least, whether entries with a missing value are left out, and the number from
# which targets are measured.
MIN_ENTRIES, MIN_WEIGHT, KNOWN_ONLY, ORIGIN, LIMITS = range(5)


@kernel()
def count_known(entries, column, start, stop):
    """Return the number of entries of a node that have a value of the column; they come first."""
    n = stop
    while n > start and np.isnan(entries.values[column, entries.order[column, n - 1]]):
        n -= 1
    return n - start


@kernel()
def clear_result(result):
    """Write that no split was found."""
    result[LOSS], result[BELOW], result[ABOVE], result[MISSING_LEFT], result[LEFT_WEIGHT] = np.inf, 0.0, 0.0, 0.0, 0.0


@kernel()
def sum_range(criterion, entries, column, start, stop, origin, sums):
    """Write the sums of a range of positions of a column; return their weight."""
    weight = 0.0
    for k in range(sums.shape[0]):
        sums[k] = 0.0
    for i in range(start, stop):
        entry = entries.order[column, i]
        weight += entries.weight[entry]
        add_entry(criterion, entries.target[entry], entries.weight[entry], origin, sums)
    return weight


@kernel()
def scan_thresholds(criterion, entries, column, span, missing_left, limits, sums, result):
    """Score the thresholds of a column with missing values on one side; update ``result`` where the loss is smaller.

    ``span`` is (start, end of known entries, stop); ``sums`` are those of all divided entries, and scratch for the left
    and the right side.
    """
    start, known, stop = span
    total, left, right = sums[0], sums[1], sums[2]
    n_missing, origin = stop - known, limits[ORIGIN]
    left_weight = sum_range(criterion, entries, column, known, stop if missing_left == 1 else known, origin, left)
    before = n_missing if missing_left == 1 else 0
    # With missing values on the right, the last split has all values on the left.
    end = known if n_missing > 0 and missing_left == 0 else known - 1
    for i in range(start, end):
        entry = entries.order[column, i]
        left_weight += entries.weight[entry]
        add_entry(criterion, entries.target[entry], entries.weight[entry], origin, left)
        x = entries.values[column, entry]
        above = entries.values[column, entries.order[column, i + 1]] if i + 1 < known else np.nan
        n_left = i + 1 - start + before
        if (not above > x and i + 1 < known) or n_left < limits[MIN_ENTRIES]:
            continue
        if stop - start - n_left < limits[MIN_ENTRIES]:
            break
        right_weight = result[KNOWN_WEIGHT] - left_weight
        if left_weight < limits[MIN_WEIGHT] or right_weight < limits[MIN_WEIGHT]:
            continue
        for k in range(total.shape[0]):
            right[k] = total[k] - left[k]
        loss = weighted_impurity(criterion, left, left_weight) + weighted_impurity(criterion, right, right_weight)
        if loss < result[LOSS]:
            result[LOSS], result[BELOW], result[ABOVE] = loss, x, above
            result[MISSING_LEFT], result[LEFT_WEIGHT] = np.float64(missing_left), left_weight


@kernel("i64, SortedEntries, i64, i64, i64[:], f64[:], f64[:,:], f64[:,:]")
def scan_columns(criterion, entries, start, stop, columns, limits, sums, out):
    """Write the best threshold of each of ``columns`` to ``out``; of equal ones the first.

    Missing values are tried on both sides, the right one first, or left out (``KNOWN_ONLY``). ``sums`` is scratch.
    """
    for c in range(columns.shape[0]):
        column, result = columns[c], out[c]
        known = start + count_known(entries, column, start, stop)
        last = known if limits[KNOWN_ONLY] > 0.0 else stop
        result[KNOWN_WEIGHT] = sum_range(criterion, entries, column, start, last, limits[ORIGIN], sums[0])
        result[PARENT_LOSS] = weighted_impurity(criterion, sums[0], result[KNOWN_WEIGHT])
        clear_result(result)
        for missing_left in range(2 if last > known else 1):
            scan_thresholds(criterion, entries, column, (start, known, last), missing_left, limits, sums, result)
