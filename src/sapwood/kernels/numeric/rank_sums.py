"""Sums over pairs of rows that two orders rank the same way."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel


@kernel("i64[:], i64[:], i64[:], i64[:], i64[:]")
def sum_lower_weights(y_rank, first_of_tie, weight, tree, out):
    """Write, for rows in ascending order of prediction, twice the weight of the rows with a lower y and prediction.

    Rows with a lower y and the same prediction count once. ``first_of_tie[i]`` is the first row with the prediction of
    row i, ``y_rank`` numbers the distinct targets from 0. ``tree`` is a Fenwick tree of weights by rank, one cell
    longer than the number of ranks.
    """
    n = y_rank.shape[0]
    for k in range(tree.shape[0]):
        tree[k] = 0
    done = np.int64(0)
    while done < n:
        stop = done
        while stop < n and first_of_tie[stop] == done:
            out[stop] = _sum_below(tree, y_rank[stop])
            stop += 1
        for i in range(done, stop):
            _add(tree, y_rank[i], weight[i])
        for i in range(done, stop):
            out[i] += _sum_below(tree, y_rank[i])
        done = stop


@kernel()
def _sum_below(tree, rank):
    """Return the weight of all ranks below ``rank``."""
    total = np.int64(0)
    k = rank
    while k > 0:
        total += tree[k]
        k -= k & -k
    return total


@kernel()
def _add(tree, rank, weight):
    """Add a weight to a rank."""
    k = rank + 1
    while k < tree.shape[0]:
        tree[k] += weight
        k += k & -k


def lower_weights(y: np.ndarray, prediction: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's integer weight and ``sum_lower_weights`` of it, rows in ascending order of prediction."""
    order = np.lexsort((y, prediction))
    ranked = np.unique(y, return_inverse=True)[1].reshape(-1)[order].astype(np.int64)
    ordered = prediction[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    first_of_tie = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    weight = np.ascontiguousarray(weight[order])
    tree, out = np.empty(int(ranked.max()) + 2, dtype=np.int64), np.empty(len(y), dtype=np.int64)
    sum_lower_weights(ranked, first_of_tie, weight, tree, out)
    return weight, out
