"""Leaves of several models that share the structure of their trees.

A *copy* is a row as one of the models sees it. Model m has the copies ``start[m]`` to ``start[m + 1]`` and learns from
the first ``learned[m]`` of them; ``rows`` tells which row each is. The answer of model m at node i stands in the line
``m * nodes + i`` of a table.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import GrowParams  # noqa: F401 (named in a signature)
from sapwood.kernels.split.gain import leaf_value
from sapwood.native.runtime.kernel import kernel


@kernel("f32[:,:,:], f64[:,:]")
def bound_model_pairs(member, members, sync, pairs, out):
    """Put the largest |gradient| and hessian of each output of the member's share into its line; NaN counts as ∞."""
    n = pairs.shape[1]
    for k in range(pairs.shape[0]):
        top_g = np.float32(0.0)
        top_h = np.float32(0.0)
        bad = 0
        for i in range(member * n // members, (member + 1) * n // members):
            g = abs(pairs[k, i, 0])
            h = abs(pairs[k, i, 1])
            bad += 0 if g + h < np.float32(np.inf) else 1
            top_g = max(top_g, g)
            top_h = max(top_h, h)
        out[member, 2 * k] = np.float64(top_g) if bad == 0 else np.inf
        out[member, 2 * k + 1] = np.float64(top_h) if bad == 0 else np.inf


@kernel()
def sum_unweighted(member, members, rows, n, node_of_row, pairs, scale, own):
    """The usual case of ``sum_model_leaves``: one model and output, rows that weigh the same."""
    weight = np.int64(np.rint(scale[1, 0]))
    for i in range(np.uint64(member * n // members), np.uint64((member + 1) * n // members)):
        at = np.uint64(4 * np.int64(node_of_row[np.uint64(rows[i])]))
        own[at] += np.int64(np.rint(np.float64(pairs[i, 0]) * scale[0, 0]))
        own[at + np.uint64(1)] += np.int64(np.rint(np.float64(pairs[i, 1]) * scale[0, 1]))
        own[at + np.uint64(3)] += 1
    for at in range(0, own.shape[0], 4):
        own[at + 2] = own[at + 3] * weight


@kernel("u32[:], i64[:], i64[:], f64[:], i64, f32[:,:,:], f64[:], f64[:,:], i64[:,:]")
def sum_model_leaves(
    member, members, sync, rows, start, learned, node_of_row, n_nodes, pairs, weight, scale, partial
):  # fmt: skip
    """Add the pairs (outputs, copies, 2), weights and numbers of copies to their leaves, a line of ``partial`` each.

    Columns are G and H of each output, the weight and the count, in fixed point by ``scale`` (outputs + 1, 2).
    """
    n_outputs = pairs.shape[0]
    width = 2 * n_outputs + 2
    own = partial[member]
    for j in range(own.shape[0]):
        own[j] = 0
    if n_outputs == 1 and weight.shape[0] == 0 and learned.shape[0] == 1:
        sum_unweighted(member, members, rows, learned[0], node_of_row, pairs[0], scale, own)
        return
    for m in range(learned.shape[0]):
        n = learned[m]
        for i in range(start[m] + member * n // members, start[m] + (member + 1) * n // members):
            at = (m * n_nodes + np.int64(node_of_row[rows[i]])) * width
            w = weight[i] if weight.shape[0] > 0 else 1.0
            for k in range(n_outputs):
                own[at + 2 * k] += np.int64(np.rint(w * np.float64(pairs[k, i, 0]) * scale[k, 0]))
                own[at + 2 * k + 1] += np.int64(np.rint(w * np.float64(pairs[k, i, 1]) * scale[k, 1]))
            own[at + width - 2] += np.int64(np.rint(w * scale[n_outputs, 0]))
            own[at + width - 1] += 1


@kernel("i64[:,:], i64, i32[:], f64[:,:], f64[:,:]")
def merge_sums(partial, n_nodes, left, scale, sums):
    """Add up what the members found, and inner nodes (``left`` above 0) from their children; back to true units."""
    width = sums.shape[1]
    total = partial[0]
    for t in range(1, partial.shape[0]):
        for j in range(total.shape[0]):
            total[j] += partial[t, j]
    for m in range(sums.shape[0] // n_nodes):
        for back in range(n_nodes):
            node = n_nodes - 1 - back
            line = m * n_nodes + node
            for j in range(width):
                if left[node] > 0:
                    child = (m * n_nodes + np.int64(left[node])) * width + j
                    total[line * width + j] = total[child] + total[child + width]
                unit = scale[j // 2, j % 2] if j < width - 1 else 1.0
                sums[line, j] = np.float64(total[line * width + j]) / unit


@kernel()
def newton_step(g, h, old, penalty, rules, bounds):
    """A value after a Newton step of the penalised loss, given G and H at ``old``; ``penalty`` is added to λ.

    ``bounds`` hold values from which steps led up and down. A step beyond them ends halfway between them: the best
    value of a convex loss lies there.
    """
    new = leaf_value(g - h * old, h + penalty, rules)
    bounds[0 if new > old else 1] = old
    if (new <= bounds[0] or new >= bounds[1]) and new != old:
        new = 0.5 * bounds[0] + 0.5 * bounds[1]
    return new


@kernel("f64[:,:], f64[:], GrowParams, f64[:,:,:], f64[:,:]")
def newton_steps(sums, penalty, rules, bounds, values):
    """Move every value by a Newton step; ``penalty`` is by node, ``bounds`` are (lines, outputs, 2)."""
    for line in range(values.shape[0]):
        own = penalty[line % penalty.shape[0]]
        for k in range(values.shape[1]):
            g = sums[line, 2 * k]
            h = sums[line, 2 * k + 1]
            values[line, k] = newton_step(g, h, values[line, k], own, rules, bounds[line, k])


@kernel("f64[:,:], i64, i32[:], f64[:,:]")
def average_children(sums, n_nodes, left, values):
    """Give inner nodes (``left`` above 0) the weighted mean of their children, or the plain one without weight."""
    at = sums.shape[1] - 2
    for m in range(sums.shape[0] // n_nodes):
        for back in range(n_nodes):
            node = n_nodes - 1 - back
            if left[node] > 0:
                line = m * n_nodes + node
                child = m * n_nodes + np.int64(left[node])
                part = sums[child, at] / sums[line, at] if sums[line, at] > 0.0 else 0.5
                for k in range(values.shape[1]):
                    values[line, k] = part * values[child, k] + (1.0 - part) * values[child + 1, k]


@kernel("u32[:], i64[:], f64[:], i64, f64[:,:], i64, f64[:,:]")
def add_model_values(member, members, sync, rows, start, node_of_row, n_nodes, values, first_output, scores):
    """Add the answers of each model to the scores of its copies."""
    for m in range(start.shape[0] - 1):
        n = start[m + 1] - start[m]
        for i in range(start[m] + member * n // members, start[m] + (member + 1) * n // members):
            line = m * n_nodes + np.int64(node_of_row[rows[i]])
            for k in range(values.shape[1]):
                scores[first_output + k, i] += values[line, k]


@kernel("f64[:], f64[:,:], i64, f64[:,:]")
def add_node_values(member, members, sync, node_of_row, values, first_output, scores):
    """Add the values (nodes, outputs) of each row's leaf to its scores."""
    n = node_of_row.shape[0]
    for k in range(values.shape[1]):
        line = scores[first_output + k]
        for i in range(member * n // members, (member + 1) * n // members):
            line[i] += values[np.int64(node_of_row[i]), k]
