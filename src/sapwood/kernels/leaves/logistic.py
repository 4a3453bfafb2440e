"""Leaf values of the logistic loss: all Newton steps of the leaves of a tree in one call."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import GrowParams  # noqa: F401 (named in a signature)
from sapwood.kernels.leaves.leaf_refit import mean_value, newton_step
from sapwood.kernels.numeric.elementary import exp
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

BLOCK = 512  # rows at a time, whose pairs stay in the first-level cache


@kernel()
def sum_logistic_pairs(node_of_row, y, scores, weight, values, scale, first, last, buffer, sums):
    """Add G and H of the logistic loss of some rows, at their scores plus the values of their leaves, to ``sums``.

    ``buffer`` (2, BLOCK) holds the pairs of a block of rows, so that the middle loop becomes vector code.
    """
    for begin in range(first, last, BLOCK):
        n = np.uint64(min(BLOCK, last - begin))
        start = np.uint64(begin)
        g = buffer[0]
        h = buffer[1]
        for j in range(n):
            g[j] = scores[start + j] + values[np.uint64(np.int64(node_of_row[start + j])), 0]
        for j in range(n):
            score = g[j]
            e = exp(-abs(score))
            inverse = 1.0 / (1.0 + e)
            w = (weight[start + j] if weight.shape[0] > 0 else 1.0) * scale
            g[j] = np.rint(((inverse if score >= 0.0 else e * inverse) - y[start + j]) * w)
            h[j] = np.rint(e * inverse * inverse * w)
        for j in range(n):
            node = np.uint64(2 * np.int64(node_of_row[start + j]))
            sums[node] += np.int64(g[j])
            sums[node + np.uint64(1)] += np.int64(h[j])


@kernel()
def sum_node_pairs(node_of_row, pairs, weight, scale, first, last, sums):
    """Add G, H, weight and number of some rows to the four sums of their leaves, in fixed point by ``scale``."""
    if weight.shape[0] == 0:
        for i in range(first, last):
            base = np.uint64(4 * np.int64(node_of_row[i]))
            sums[base] += np.int64(np.rint(np.float64(pairs[i, 0]) * scale))
            sums[base + np.uint64(1)] += np.int64(np.rint(np.float64(pairs[i, 1]) * scale))
            sums[base + np.uint64(3)] += 1
        row_weight = np.int64(np.rint(scale))
        for base in range(np.uint64(0), np.uint64(sums.shape[0]), np.uint64(4)):
            sums[base + np.uint64(2)] = sums[base + np.uint64(3)] * row_weight
        return
    for i in range(first, last):
        base = np.uint64(4 * np.int64(node_of_row[i]))
        w = weight[i] * scale
        sums[base] += np.int64(np.rint(np.float64(pairs[i, 0]) * w))
        sums[base + np.uint64(1)] += np.int64(np.rint(np.float64(pairs[i, 1]) * w))
        sums[base + np.uint64(2)] += np.int64(np.rint(w))
        sums[base + np.uint64(3)] += 1


@kernel()
def clear_sums(sums, n):
    """Set the first n sums to zero."""
    for j in range(n):
        sums[j] = 0


@kernel()
def merge_members(partial, members, n):
    """Add the first n sums of all members to those of the first one."""
    for t in range(1, members):
        for j in range(n):
            partial[0, j] += partial[t, j]


@kernel()
def take_first_step(totals, scale, penalty, left, params, sums, values):
    """Add up the four sums of inner nodes, and give every node its value after a Newton step from 0."""
    n_nodes = values.shape[0]
    for k in range(n_nodes):
        node = n_nodes - 1 - k
        for j in range(4):
            if left[node] > 0:
                child = 4 * np.int64(left[node]) + j
                totals[4 * node + j] = totals[child] + totals[child + 4]
            sums[node, j] = np.float64(totals[4 * node + j]) / (scale if j < 3 else 1.0)
        values[node, 0] = 0.0
        values[node, 1] = -np.inf
        values[node, 2] = np.inf
        values[node, 0] = newton_step(sums[node, 0], sums[node, 1], 0.0, penalty[node], params, values[node, 1:])


@kernel()
def take_next_step(totals, scale, penalty, left, params, values):
    """Move the value of each leaf by a Newton step, by its two sums."""
    for node in range(values.shape[0]):
        if left[node] == 0:
            g = np.float64(totals[2 * node]) / scale
            h = np.float64(totals[2 * node + 1]) / scale
            values[node, 0] = newton_step(g, h, values[node, 0], penalty[node], params, values[node, 1:])


@kernel()
def average_logistic(left, sums, values):
    """Give inner nodes the weighted mean of their children."""
    n_nodes = values.shape[0]
    for k in range(n_nodes):
        node = n_nodes - 1 - k
        if left[node] > 0:
            child = np.int64(left[node])
            values[node, 0] = mean_value(values[child, 0], values[child + 1, 0], sums[child, 2], sums[node, 2])


@kernel(
    "f64[:], f64[:], f64[:], f64[:], f32[:,:], i64, f64, f64[:], i32[:], GrowParams, f64[:,:,:], i64[:,:], f64[:,:], "
    "f64[:,:]"
)
def fit_logistic(
    member, members, sync, node_of_row, y, scores, weight, pairs, n_steps, scale, penalty, left, params, buffer,
    partial, sums, values,
):  # fmt: skip
    """Give each leaf (``left`` is 0) its value after ``n_steps`` Newton steps of the logistic loss of its rows.

    ``pairs`` (rows, 2) are those at the scores; no gradient is above 1. ``sums`` (nodes, 4) take G, H, the weight and
    the number of rows of every node, ``values`` (nodes, 3) the value and its bounds; inner nodes get the mean of their
    children. Sums are in fixed point by ``scale``; ``partial`` has a row for each member, four sums per node.
    """
    n = y.shape[0]
    n_nodes = values.shape[0]
    first = np.uint64(member * n // members)
    last = np.uint64((member + 1) * n // members)
    clear_sums(partial[member], 4 * n_nodes)
    sum_node_pairs(node_of_row, pairs, weight, scale, first, last, partial[member])
    if barrier(sync, members) != 0:
        return
    if member == 0:
        merge_members(partial, members, 4 * n_nodes)
        take_first_step(partial[0], scale, penalty, left, params, sums, values)
    if barrier(sync, members) != 0:
        return
    for _ in range(1, n_steps):
        clear_sums(partial[member], 2 * n_nodes)
        sum_logistic_pairs(
            node_of_row, y, scores, weight, values, scale, np.int64(first), np.int64(last), buffer[member],
            partial[member],
        )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        if member == 0:
            merge_members(partial, members, 2 * n_nodes)
            take_next_step(partial[0], scale, penalty, left, params, values)
        if barrier(sync, members) != 0:
            return
    if member == 0:
        average_logistic(left, sums, values)


# --- steps that workers take together ---------------------------------------------------------------------------------


@kernel("f64[:], f64[:], f64[:], f64[:], f32[:,:], i64, f64, f64[:,:], f64[:,:,:], i64[:,:]")
def sum_logistic_step(
    member, members, sync, node_of_row, y, scores, weight, pairs, step, scale, values, buffer, partial
):  # fmt: skip
    """Sum what a Newton step of ``fit_logistic`` needs over the rows of this worker, into the first row of ``partial``.

    The first step has four sums per node, others have two.
    """
    n = y.shape[0]
    first = np.int64(member * n // members)
    last = np.int64((member + 1) * n // members)
    n_sums = (4 if step == 0 else 2) * values.shape[0]
    clear_sums(partial[member], n_sums)
    if step == 0:
        sum_node_pairs(node_of_row, pairs, weight, scale, np.uint64(first), np.uint64(last), partial[member])
    else:
        sum_logistic_pairs(
            node_of_row, y, scores, weight, values, scale, first, last, buffer[member], partial[member]
        )  # fmt: skip
    if barrier(sync, members) != 0 or member != 0:
        return
    merge_members(partial, members, n_sums)


@kernel("i64[:], i64, f64, f64[:], i32[:], GrowParams, f64[:,:], f64[:,:]")
def take_logistic_step(totals, step, scale, penalty, left, params, sums, values):
    """Take a Newton step of ``fit_logistic`` with the sums of all workers."""
    if step == 0:
        take_first_step(totals, scale, penalty, left, params, sums, values)
    else:
        take_next_step(totals, scale, penalty, left, params, values)
    average_logistic(left, sums, values)
