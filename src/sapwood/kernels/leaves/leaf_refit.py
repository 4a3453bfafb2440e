"""Refit the leaves of several models that share the structure of their trees, as those of ordered boosting do.

Model m has the entries ``start[m]`` to ``start[m + 1]`` of ``rows``, and learns from the first ``n_learned[m]`` of
them; a row may be an entry of several models. The sums and the values of node i in model m are in row
``m * n_nodes + i`` of their tables.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.gradient_scales import clamped_scale, exponent_of
from sapwood.kernels.layout import GrowParams  # noqa: F401 (named in a signature)
from sapwood.kernels.split.gain import leaf_value
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

MIN_BOUND = 1e-290  # of gradients, so that scales stay finite
MAX_SUM = 2.0**61  # bound of sums in fixed point, rounding included


@kernel("f32[:,:,:], f64[:,:]")
def bound_model_pairs(member, members, sync, pairs, out):
    """Write the largest |gradient| and |hessian| of each output of the member's slice to its row; NaN counts as ∞."""
    n = pairs.shape[1]
    for k in range(pairs.shape[0]):
        max_g = np.float32(0.0)
        max_h = np.float32(0.0)
        n_infinite = 0
        for i in range(member * n // members, (member + 1) * n // members):
            g = abs(pairs[k, i, 0])
            h = abs(pairs[k, i, 1])
            n_infinite += 0 if g + h < np.float32(np.inf) else 1
            max_g = max(max_g, g)
            max_h = max(max_h, h)
        out[member, 2 * k] = np.float64(max_g) if n_infinite == 0 else np.inf
        out[member, 2 * k + 1] = np.float64(max_h) if n_infinite == 0 else np.inf


@kernel()
def sum_unweighted(member, members, rows, n, node_of_row, pairs, scale, member_sums):
    """Do ``sum_model_leaves`` for one model, one output and rows of equal weight."""
    weight = np.int64(np.rint(scale[1, 0]))
    for i in range(np.uint64(member * n // members), np.uint64((member + 1) * n // members)):
        base = np.uint64(4 * np.int64(node_of_row[np.uint64(rows[i])]))
        member_sums[base] += np.int64(np.rint(np.float64(pairs[i, 0]) * scale[0, 0]))
        member_sums[base + np.uint64(1)] += np.int64(np.rint(np.float64(pairs[i, 1]) * scale[0, 1]))
        member_sums[base + np.uint64(3)] += 1
    for base in range(0, member_sums.shape[0], 4):
        member_sums[base + 2] = member_sums[base + 3] * weight


@kernel("u32[:], i64[:], i64[:], f64[:], i64, f32[:,:,:], f64[:], f64[:,:], i64[:,:]")
def sum_model_leaves(
    member, members, sync, rows, start, n_learned, node_of_row, n_nodes, pairs, weight, scale, partial
):  # fmt: skip
    """Write the sums of pairs (outputs, entries, 2) and weights and the number of entries of each leaf to ``partial``.

    A member has one row of ``partial``: for every model and node G and H of each output, the weight and the count, in
    fixed point by ``scale`` (outputs + 1, 2).
    """
    n_outputs = pairs.shape[0]
    width = 2 * n_outputs + 2
    member_sums = partial[member]
    for j in range(member_sums.shape[0]):
        member_sums[j] = 0
    if n_outputs == 1 and weight.shape[0] == 0 and n_learned.shape[0] == 1:
        sum_unweighted(member, members, rows, n_learned[0], node_of_row, pairs[0], scale, member_sums)
        return
    for m in range(n_learned.shape[0]):
        n = n_learned[m]
        for i in range(start[m] + member * n // members, start[m] + (member + 1) * n // members):
            base = (m * n_nodes + np.int64(node_of_row[rows[i]])) * width
            w = weight[i] if weight.shape[0] > 0 else 1.0
            for k in range(n_outputs):
                member_sums[base + 2 * k] += np.int64(np.rint(w * np.float64(pairs[k, i, 0]) * scale[k, 0]))
                member_sums[base + 2 * k + 1] += np.int64(np.rint(w * np.float64(pairs[k, i, 1]) * scale[k, 1]))
            member_sums[base + width - 2] += np.int64(np.rint(w * scale[n_outputs, 0]))
            member_sums[base + width - 1] += 1


@kernel("i64[:,:], i64, i32[:], f64[:,:], f64[:,:]")
def merge_sums(partial, n_nodes, left, scale, sums):
    """Sum over the members, and inner nodes (``left`` above 0) over their children; divide by the scales."""
    width = sums.shape[1]
    total = partial[0]
    for t in range(1, partial.shape[0]):
        for j in range(total.shape[0]):
            total[j] += partial[t, j]
    for m in range(sums.shape[0] // n_nodes):
        for k in range(n_nodes):
            node = n_nodes - 1 - k
            model_node = m * n_nodes + node
            for j in range(width):
                if left[node] > 0:
                    child = (m * n_nodes + np.int64(left[node])) * width + j
                    total[model_node * width + j] = total[child] + total[child + width]
                unit = scale[j // 2, j % 2] if j < width - 1 else 1.0
                sums[model_node, j] = np.float64(total[model_node * width + j]) / unit


@kernel()
def newton_step(g, h, value, penalty, params, bounds):
    """Return a value after a Newton step of the regularised loss, from G and H at ``value``; ``penalty`` is added to λ.

    ``bounds`` are the values from which earlier steps led up and down. The minimum of a convex loss lies between them,
    so that a step beyond them is replaced by bisection.
    """
    next_value = leaf_value(g - h * value, h + penalty, params)
    bounds[0 if next_value > value else 1] = value
    if (next_value <= bounds[0] or next_value >= bounds[1]) and next_value != value:
        next_value = 0.5 * bounds[0] + 0.5 * bounds[1]
    return next_value


@kernel("f64[:,:], f64[:], GrowParams, f64[:,:,:], f64[:,:]")
def newton_steps(sums, penalty, params, bounds, values):
    """Move every value by a Newton step; ``penalty`` is by node, ``bounds`` are (models * nodes, outputs, 2)."""
    for model_node in range(values.shape[0]):
        node_penalty = penalty[model_node % penalty.shape[0]]
        for k in range(values.shape[1]):
            g = sums[model_node, 2 * k]
            h = sums[model_node, 2 * k + 1]
            values[model_node, k] = newton_step(
                g, h, values[model_node, k], node_penalty, params, bounds[model_node, k]
            )


@kernel()
def find_sum_scales(bounds, members, max_weight, n_entries, scale):
    """Write the scales of G and H of each output, then of the weight; return whether all ``bounds`` are finite.

    They are powers of two with which no sum of ``n_entries`` overflows. Each member has a row of bounds.
    """
    n_outputs = scale.shape[0] - 1
    n_infinite = 0
    for j in range(2 * n_outputs + 2):
        bound = 1.0
        if j < 2 * n_outputs:
            bound = bounds[0, j]
            for t in range(1, members):
                bound = max(bound, bounds[t, j])
        largest = max(bound * max_weight, MIN_BOUND)
        n_infinite += 0 if largest < np.inf else 1
        scale[j // 2, j % 2] = clamped_scale(exponent_of(MAX_SUM / (largest * np.float64(n_entries))))
    return n_infinite == 0


@kernel(
    "u32[:], i64[:], i64[:], f64[:], f32[:,:,:], f64[:], f64, i64, f64[:], i32[:], GrowParams, f64[:,:], f64[:,:], "
    "i64[:,:], f64[:,:], f64[:,:,:], f64[:,:], i64[:]"
)
def fit_leaves(
    member, members, sync, rows, start, n_learned, node_of_row, pairs, weight, max_weight, n_entries, penalty, left,
    params, bounds, scale, partial, sums, value_bounds, values, is_finite,
):  # fmt: skip
    """Give every node its sums, as ``merge_sums`` does, and its value after a Newton step from 0.

    ``n_entries`` is the largest number of entries that a model learns from. ``is_finite`` tells whether all pairs are;
    otherwise nothing is fitted.
    """
    bound_model_pairs(member, members, sync, pairs, bounds)
    if barrier(sync, members) != 0:
        return
    if member == 0:
        is_finite[0] = 1 if find_sum_scales(bounds, members, max_weight, n_entries, scale) else 0
    if barrier(sync, members) != 0 or is_finite[0] == 0:
        return
    n_nodes = left.shape[0]
    sum_model_leaves(
        member, members, sync, rows, start, n_learned, node_of_row, n_nodes, pairs, weight, scale, partial
    )  # fmt: skip
    if barrier(sync, members) != 0 or member != 0:
        return
    merge_sums(partial[:members], n_nodes, left, scale, sums)
    for model_node in range(values.shape[0]):
        for k in range(values.shape[1]):
            values[model_node, k] = 0.0
            value_bounds[model_node, k, 0] = -np.inf
            value_bounds[model_node, k, 1] = np.inf
    newton_steps(sums, penalty, params, value_bounds, values)


@kernel()
def mean_value(left, right, left_weight, weight):
    """Return the weighted mean of the values of two children; ``weight`` is the sum of both weights."""
    left_fraction = left_weight / weight if weight > 0.0 else 0.5
    return left_fraction * left + (1.0 - left_fraction) * right


@kernel("f64[:,:], i64, i32[:], f64[:,:]")
def average_children(sums, n_nodes, left, values):
    """Give inner nodes (``left`` above 0) the weighted mean of their children, or the plain mean without weight."""
    weight_column = sums.shape[1] - 2
    for m in range(sums.shape[0] // n_nodes):
        for back in range(n_nodes):
            node = n_nodes - 1 - back
            if left[node] > 0:
                model_node = m * n_nodes + node
                child = m * n_nodes + np.int64(left[node])
                left_weight = sums[child, weight_column]
                weight = sums[model_node, weight_column]
                for k in range(values.shape[1]):
                    values[model_node, k] = mean_value(values[child, k], values[child + 1, k], left_weight, weight)


@kernel("u32[:], i64[:], f64[:], i64, f64[:,:], i64, f64[:,:]")
def add_model_values(member, members, sync, rows, start, node_of_row, n_nodes, values, first_output, scores):
    """Add the values of each model to the scores of its entries."""
    for m in range(start.shape[0] - 1):
        n = start[m + 1] - start[m]
        for i in range(start[m] + member * n // members, start[m] + (member + 1) * n // members):
            model_node = m * n_nodes + np.int64(node_of_row[rows[i]])
            for k in range(values.shape[1]):
                scores[first_output + k, i] += values[model_node, k]


@kernel("f64[:], f64[:,:], i64, f64[:,:]")
def add_node_values(member, members, sync, node_of_row, values, first_output, scores):
    """Add the values (nodes, outputs) of each row's leaf to its scores."""
    n = node_of_row.shape[0]
    for k in range(values.shape[1]):
        output_scores = scores[first_output + k]
        for i in range(member * n // members, (member + 1) * n // members):
            output_scores[i] += values[np.int64(node_of_row[i]), k]
