"""Leaves of the logistic loss: all Newton steps of a tree's leaves in one call."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import GrowParams  # noqa: F401 (named in a signature)
from sapwood.kernels.leaves.leaf_refit import newton_step
from sapwood.kernels.numeric.elementary import exp
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

BLOCK = 512  # rows at a time, whose numbers stay in the nearest cache


@kernel()
def sum_logistic_pairs(node_of_row, y, scores, weight, values, scale, first, last, room, sums):
    """Add G and H of the logistic loss of some rows, at their scores plus the values of their leaves, to ``sums``.

    ``room`` (2, BLOCK) holds the numbers of a block of rows, so that all but the first and last loop are vector code.
    """
    for begin in range(first, last, BLOCK):
        n = np.uint64(min(BLOCK, last - begin))
        at = np.uint64(begin)
        g = room[0]
        h = room[1]
        for j in range(n):
            g[j] = scores[at + j] + values[np.uint64(np.int64(node_of_row[at + j])), 0]
        for j in range(n):
            f = g[j]
            e = exp(-abs(f))
            d = 1.0 / (1.0 + e)
            w = (weight[at + j] if weight.shape[0] > 0 else 1.0) * scale
            g[j] = np.rint(((d if f >= 0.0 else e * d) - y[at + j]) * w)
            h[j] = np.rint(e * d * d * w)
        for j in range(n):
            node = np.uint64(2 * np.int64(node_of_row[at + j]))
            sums[node] += np.int64(g[j])
            sums[node + np.uint64(1)] += np.int64(h[j])


@kernel()
def sum_node_pairs(node_of_row, pairs, weight, scale, first, last, sums):
    """Add G, H, the weight and the number of some rows to the four places of their leaves in ``sums``, by ``scale``."""
    for i in range(first, last):
        at = np.uint64(4 * np.int64(node_of_row[i]))
        w = (weight[i] if weight.shape[0] > 0 else 1.0) * scale
        sums[at] += np.int64(np.rint(np.float64(pairs[i, 0]) * w))
        sums[at + np.uint64(1)] += np.int64(np.rint(np.float64(pairs[i, 1]) * w))
        sums[at + np.uint64(2)] += np.int64(np.rint(w))
        sums[at + np.uint64(3)] += 1


@kernel()
def clear_sums(part, n):
    """Set the first n places to zero."""
    for j in range(n):
        part[j] = 0


@kernel()
def merge_members(partial, members, n):
    """Add the first n places of all members to those of the first one."""
    for t in range(1, members):
        for j in range(n):
            partial[0, j] += partial[t, j]


@kernel(
    "f64[:], f64[:], f64[:], f64[:], f32[:,:], i64, f64, f64[:], i32[:], GrowParams, f64[:,:,:], i64[:,:], f64[:,:], "
    "f64[:,:]"
)
def fit_logistic(
    member, members, sync, node_of_row, y, scores, weight, pairs, n_steps, scale, penalty, left, rules, room, partial,
    sums, values,
):  # fmt: skip
    """Give each leaf (``left`` is 0) the value that so many Newton steps of the logistic loss of its rows lead to.

    ``pairs`` (rows, 2) are taken at the scores; no gradient is above 1. ``sums`` (nodes, 4) take G, H, the weight and
    the number of rows of every node, ``values`` (nodes, 3) the value and what bounds it; inner nodes have the mean of
    their children. Sums are integers by ``scale``; ``partial`` has a line for each member, four places per node.
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
        for back in range(n_nodes):
            node = n_nodes - 1 - back
            for j in range(4):
                if left[node] > 0:
                    child = 4 * np.int64(left[node]) + j
                    partial[0, 4 * node + j] = partial[0, child] + partial[0, child + 4]
                sums[node, j] = np.float64(partial[0, 4 * node + j]) / (scale if j < 3 else 1.0)
            values[node, 0] = 0.0
            values[node, 1] = -np.inf
            values[node, 2] = np.inf
            values[node, 0] = newton_step(sums[node, 0], sums[node, 1], 0.0, penalty[node], rules, values[node, 1:])
    if barrier(sync, members) != 0:
        return
    for _ in range(1, n_steps):
        clear_sums(partial[member], 2 * n_nodes)
        sum_logistic_pairs(
            node_of_row, y, scores, weight, values, scale, np.int64(first), np.int64(last), room[member],
            partial[member],
        )  # fmt: skip
        if barrier(sync, members) != 0:
            return
        if member == 0:
            merge_members(partial, members, 2 * n_nodes)
            for node in range(n_nodes):
                if left[node] == 0:
                    g = np.float64(partial[0, 2 * node]) / scale
                    h = np.float64(partial[0, 2 * node + 1]) / scale
                    values[node, 0] = newton_step(g, h, values[node, 0], penalty[node], rules, values[node, 1:])
        if barrier(sync, members) != 0:
            return
    if member == 0:
        for back in range(n_nodes):
            node = n_nodes - 1 - back
            if left[node] > 0:
                child = np.int64(left[node])
                part = sums[child, 2] / sums[node, 2] if sums[node, 2] > 0.0 else 0.5
                values[node, 0] = part * values[child, 0] + (1.0 - part) * values[child + 1, 0]
