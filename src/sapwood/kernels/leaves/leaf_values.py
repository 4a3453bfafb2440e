"""Leaf values from the true gradients of their rows, and their addition to scores."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import (
    BITSET_SPLIT,
    LEAF_BEGIN,
    LEAF_END,
    LEAF_NODE,
    N_LEAVES,
    N_NODES,
    NODE_BIN,
    NODE_COUNT,
    NODE_FEATURE,
    NODE_LEFT,
    NODE_LOWER,
    NODE_MISSING_LEFT,
    NODE_OUTPUTS,
    NODE_PER_OUTPUT,
    NODE_UPPER,
    NODE_WEIGHT,
    UNPENALISED,
)
from sapwood.kernels.split.gain import clip_value, leaf_value
from sapwood.kernels.split.monotone import midpoint
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
ONE, TWO = np.uint64(1), np.uint64(2)
# Rows whose leaves stay in the cache while they are read for every output.
BLOCK = 4096
# Rows ahead of the one that is looked up; hides the latency of memory.
PREFETCH_DISTANCE = np.uint64(32)


@kernel()
def sum_pairs(pairs, weight, rows, start, stop, scale, out):
    """Write the sums of the true pairs of the rows at some positions, in fixed point. One output."""
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    end = np.uint64(stop)
    for i in range(np.uint64(start), end):
        if i + PREFETCH_DISTANCE < end:
            prefetch(pairs, TWO * np.uint64(rows[i + PREFETCH_DISTANCE]))
        row = rows[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        sum_g += np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row)]) * scale[0]))
        sum_h += np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale[1]))
    out[0] = sum_g
    out[1] = sum_h


@kernel()
def sum_weights(weight, rows, start, stop, scale):
    """Return the sum of the weights of the rows at some positions, in fixed point."""
    total = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        total += np.int64(np.rint(weight[rows[i]] * scale))
    return total


@kernel()
def sum_leaf_pairs(member, members, n_leaves, leaf_ints, gradients, rows, exact, leaf_sums):
    """Write the sums of the true pairs and weights of the member's slice of the rows, leaf by leaf."""
    n = rows.shape[0]
    n_outputs = gradients.pairs.shape[0]
    width = 2 * n_outputs + 1
    for leaf in range(n_leaves):
        start = max(leaf_ints[leaf, LEAF_BEGIN], member * n // members)
        stop = max(start, min(leaf_ints[leaf, LEAF_END], (member + 1) * n // members))
        base = leaf * width
        for k in range(n_outputs):
            out = leaf_sums[member, base + 2 * k : base + 2 * k + 2]
            sum_pairs(gradients.pairs[k], gradients.weight, rows, start, stop, exact[k], out)
        if gradients.weight.shape[0] > 0:
            leaf_sums[member, base + width - 1] = sum_weights(
                gradients.weight, rows, start, stop, gradients.weight_scale
            )
        else:
            leaf_sums[member, base + width - 1] = stop - start


@kernel()
def mark_leaves(member, members, n_leaves, spans, rows, leaf_of_row):
    """Write the leaf of each row at the member's slice of positions; ``spans`` begin with the positions of a leaf."""
    n = rows.shape[0]
    for leaf in range(n_leaves):
        start = max(spans[leaf, 0], member * n // members)
        stop = max(start, min(spans[leaf, 1], (member + 1) * n // members))
        for i in range(np.uint64(start), np.uint64(stop)):
            leaf_of_row[rows[i]] = np.uint32(leaf)


@kernel(noinline=True)
def sum_row_by_row(member, members, n_leaves, gradients, leaf_of_row, exact, leaf_sums):
    """Do ``sum_leaf_pairs`` from the leaf of every row, rows in the order of memory, all outputs of a row together."""
    n = leaf_of_row.shape[0]
    n_outputs = np.uint64(gradients.pairs.shape[0])
    width = TWO * n_outputs + ONE
    member_sums = leaf_sums[member]
    for j in range(np.uint64(n_leaves) * width):
        member_sums[j] = 0
    for i in range(np.uint64(member * n // members), np.uint64((member + 1) * n // members)):
        base = np.uint64(leaf_of_row[i]) * width
        w = gradients.weight[i] if gradients.weight.shape[0] > 0 else 1.0
        for k in range(n_outputs):
            member_sums[base + TWO * k] += np.int64(np.rint(w * np.float64(gradients.pairs[k, TWO * i]) * exact[k, 0]))
            member_sums[base + TWO * k + ONE] += np.int64(
                np.rint(w * np.float64(gradients.pairs[k, TWO * i + ONE]) * exact[k, 1])
            )
        member_sums[base + width - ONE] += np.int64(np.rint(w * gradients.weight_scale))


@kernel()
def set_leaf_sums(members, n_leaves, leaf_ints, weight_scale, exact, leaf_sums, nodes):
    """Write the sums over all members to the nodes of the leaves."""
    n_outputs = exact.shape[0]
    width = 2 * n_outputs + 1
    for leaf in range(n_leaves):
        node = leaf_ints[leaf, LEAF_NODE]
        nodes.ints[node, NODE_COUNT] = leaf_ints[leaf, LEAF_END] - leaf_ints[leaf, LEAF_BEGIN]
        for j in range(width):
            total = np.int64(0)
            for t in range(members):
                total += leaf_sums[t, leaf * width + j]
            if j == width - 1:
                nodes.floats[node, NODE_WEIGHT] = np.float64(total) / weight_scale
            else:
                column = NODE_OUTPUTS + NODE_PER_OUTPUT * (j // 2) + j % 2
                nodes.floats[node, column] = np.float64(total) / exact[j // 2, j % 2]


@kernel()
def set_node_values(ints, floats, n_nodes, n_outputs, params, monotone):
    """Sum inner nodes from their children, then give every node its value.

    ``category_lambda`` is added for both children of a bitset split: these rows chose which categories are in the set.
    A split of one of few categories is exempt.
    """
    for back in range(n_nodes):
        node = n_nodes - 1 - back
        if ints[node, NODE_FEATURE] < 0:
            continue
        left = ints[node, NODE_LEFT]
        ints[node, NODE_COUNT] = ints[left, NODE_COUNT] + ints[left + 1, NODE_COUNT]
        floats[node, NODE_WEIGHT] = floats[left, NODE_WEIGHT] + floats[left + 1, NODE_WEIGHT]
        for k in range(n_outputs):
            for j in range(NODE_OUTPUTS + NODE_PER_OUTPUT * k, NODE_OUTPUTS + NODE_PER_OUTPUT * k + 2):
                floats[node, j] = floats[left, j] + floats[left + 1, j]
    for node in range(n_nodes):
        for j in range(NODE_OUTPUTS, NODE_OUTPUTS + NODE_PER_OUTPUT * n_outputs, NODE_PER_OUTPUT):
            floats[node, j + 2] = leaf_value(floats[node, j], floats[node, j + 1], params)
    for node in range(n_nodes):
        is_bitset = ints[node, NODE_FEATURE] >= 0 and ints[node, NODE_BIN] == BITSET_SPLIT
        if is_bitset and ints[node, NODE_MISSING_LEFT] < UNPENALISED:
            left = ints[node, NODE_LEFT]
            for child in range(left, left + 2):
                for j in range(NODE_OUTPUTS, NODE_OUTPUTS + NODE_PER_OUTPUT * n_outputs, NODE_PER_OUTPUT):
                    penalised_h = floats[child, j + 1] + params.category_lambda
                    floats[child, j + 2] = leaf_value(floats[child, j], penalised_h, params)
    if params.has_monotone != 0:
        project_monotone(ints, floats, n_nodes, monotone)


@kernel()
def project_monotone(ints, floats, n_nodes, monotone):
    """Clip values to be monotone, parents first: a child and its subtree stay on their side of the midpoint of the two.

    The midpoint comes from these same values, so that the constraint holds for the predictions of the tree.
    """
    value = NODE_OUTPUTS + 2
    floats[0, NODE_LOWER] = -INFINITE
    floats[0, NODE_UPPER] = INFINITE
    for node in range(n_nodes):
        lower = floats[node, NODE_LOWER]
        upper = floats[node, NODE_UPPER]
        floats[node, value] = clip_value(floats[node, value], lower, upper)
        f = ints[node, NODE_FEATURE]
        if f < 0:
            continue
        left = ints[node, NODE_LEFT]
        for child in range(left, left + 2):
            floats[child, NODE_LOWER] = lower
            floats[child, NODE_UPPER] = upper
        if monotone[f] != 0:
            left_value = clip_value(floats[left, value], lower, upper)
            right_value = clip_value(floats[left + 1, value], lower, upper)
            low_child = left if monotone[f] > 0 else left + 1
            floats[low_child, NODE_UPPER] = midpoint(left_value, right_value)
            floats[2 * left + 1 - low_child, NODE_LOWER] = midpoint(left_value, right_value)


@kernel()
def sum_leaves(member, members, sync, n_leaves, gradients, partition, exact, leaf_ints, leaf_sums):
    """Write the sums of the true pairs and weights of leaves, each member those of some rows; return nonzero to stop.

    The scratch memory of the partition is overwritten.
    """
    # Leaf by leaf, each output and the weights would read the rows once more.
    is_row_wise = gradients.pairs.shape[0] > 1 or gradients.weight.shape[0] > 0
    if is_row_wise and 2 * partition.rows.shape[0] == gradients.pairs.shape[1]:
        mark_leaves(member, members, n_leaves, leaf_ints, partition.rows, partition.scratch)
        if barrier(sync, members) != 0:
            return 1
        sum_row_by_row(member, members, n_leaves, gradients, partition.scratch, exact, leaf_sums)
    else:
        sum_leaf_pairs(member, members, n_leaves, leaf_ints, gradients, partition.rows, exact, leaf_sums)
    return barrier(sync, members)


@kernel()
def set_leaf_values(
    member, members, sync, n_leaves, monotone, params, gradients, partition, scales, scratch, leaves, nodes
):
    """Give the nodes of a grown tree their exact sums and values."""
    exact = scales.exact[: gradients.pairs.shape[0]]
    stop = sum_leaves(
        member, members, sync, n_leaves, gradients, partition, exact, leaves.ints, scratch.leaf_sums
    )  # fmt: skip
    if stop != 0 or member != 0:
        return
    nodes.info[N_LEAVES] = n_leaves
    set_leaf_sums(members, n_leaves, leaves.ints, gradients.weight_scale, exact, scratch.leaf_sums, nodes)
    set_node_values(nodes.ints, nodes.floats, nodes.info[N_NODES], gradients.pairs.shape[0], params, monotone)


@kernel("u32[:], i64[:,:], i64, f64[:,:], i64, f64[:,:]")
def add_leaf_values(member, members, sync, rows, leaf_ints, n_leaves, values, first_output, scores):
    """Add the values of the leaves to the scores of their rows; ``values`` are those of all nodes."""
    n = rows.shape[0]
    for leaf in range(n_leaves):
        start = max(leaf_ints[leaf, LEAF_BEGIN], member * n // members)
        stop = min(leaf_ints[leaf, LEAF_END], (member + 1) * n // members)
        for k in range(values.shape[1]):
            value = values[leaf_ints[leaf, LEAF_NODE], k]
            target = scores[first_output + k]
            for i in range(np.uint64(start), np.uint64(max(start, stop))):
                target[rows[i]] += value


@kernel("u32[:], i64[:,:], f64[:,:], u32[:], f64[:,:]")
def add_leaf_vectors(member, members, sync, rows, span, values, leaf_of_row, scores):
    """Add the values of the leaves (leaves, outputs) to the scores of all rows, in the order of memory."""
    mark_leaves(member, members, span.shape[0], span, rows, leaf_of_row)
    if barrier(sync, members) != 0:
        return
    n = rows.shape[0]
    for a in range(member * n // members, (member + 1) * n // members, BLOCK):
        stop = np.uint64(min(a + BLOCK, (member + 1) * n // members))
        for k in range(values.shape[1]):
            target = scores[k]
            for i in range(np.uint64(a), stop):
                target[i] += values[np.uint64(leaf_of_row[i]), np.uint64(k)]
