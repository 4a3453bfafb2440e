"""What leaves answer: values from the true gradients of their rows, added to the scores."""

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
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.intrinsics import prefetch
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
ONE, TWO = np.uint64(1), np.uint64(2)
# Rows whose leaves stay near while they are read for every output.
BLOCK = 4096
# Rows ahead of the one that is looked up; hides the time it takes to come from memory.
PREFETCH_DISTANCE = np.uint64(32)


@kernel()
def sum_pairs(pairs, weight, order, start, stop, scale, out):
    """Add the true pairs of the rows at some positions in fixed point. One output."""
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    end = np.uint64(stop)
    for i in range(np.uint64(start), end):
        if i + PREFETCH_DISTANCE < end:
            prefetch(pairs, TWO * np.uint64(order[i + PREFETCH_DISTANCE]))
        row = order[i]
        w = weight[row] if weight.shape[0] > 0 else 1.0
        sum_g += np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row)]) * scale[0]))
        sum_h += np.int64(np.rint(w * np.float64(pairs[TWO * np.uint64(row) + ONE]) * scale[1]))
    out[0] = sum_g
    out[1] = sum_h


@kernel()
def sum_weights(weight, order, start, stop, scale):
    """Add the weights of the rows at some positions in fixed point."""
    total = np.int64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        total += np.int64(np.rint(weight[order[i]] * scale))
    return total


@kernel()
def sum_leaf_pairs(member, members, n_leaves, leaf_integers, grad, order, exact, partial):
    """Add the true pairs and weights of the member's share of the rows, leaf by leaf."""
    n = order.shape[0]
    n_outputs = grad.pairs.shape[0]
    width = 2 * n_outputs + 1
    for leaf in range(n_leaves):
        start = max(leaf_integers[leaf, LEAF_BEGIN], member * n // members)
        stop = max(start, min(leaf_integers[leaf, LEAF_END], (member + 1) * n // members))
        at = leaf * width
        for k in range(n_outputs):
            out = partial[member, at + 2 * k : at + 2 * k + 2]
            sum_pairs(grad.pairs[k], grad.weight, order, start, stop, exact[k], out)
        if grad.weight.shape[0] > 0:
            partial[member, at + width - 1] = sum_weights(grad.weight, order, start, stop, grad.weight_scale)
        else:
            partial[member, at + width - 1] = stop - start


@kernel()
def mark_leaves(member, members, n_leaves, spans, order, leaf_of_row):
    """Write down the leaf of the rows at the member's share of positions; ``spans`` begin with first and last."""
    n = order.shape[0]
    for leaf in range(n_leaves):
        start = max(spans[leaf, 0], member * n // members)
        stop = max(start, min(spans[leaf, 1], (member + 1) * n // members))
        for i in range(np.uint64(start), np.uint64(stop)):
            leaf_of_row[order[i]] = np.uint32(leaf)


@kernel(noinline=True)
def sum_row_by_row(member, members, n_leaves, grad, leaf_of_row, exact, partial):
    """``sum_leaf_pairs`` from the leaf of every row: a row's outputs together, rows as they lie in memory."""
    n = leaf_of_row.shape[0]
    n_outputs = np.uint64(grad.pairs.shape[0])
    width = TWO * n_outputs + ONE
    own = partial[member]
    for j in range(np.uint64(n_leaves) * width):
        own[j] = 0
    for i in range(np.uint64(member * n // members), np.uint64((member + 1) * n // members)):
        at = np.uint64(leaf_of_row[i]) * width
        w = grad.weight[i] if grad.weight.shape[0] > 0 else 1.0
        for k in range(n_outputs):
            own[at + TWO * k] += np.int64(np.rint(w * np.float64(grad.pairs[k, TWO * i]) * exact[k, 0]))
            own[at + TWO * k + ONE] += np.int64(np.rint(w * np.float64(grad.pairs[k, TWO * i + ONE]) * exact[k, 1]))
        own[at + width - ONE] += np.int64(np.rint(w * grad.weight_scale))


@kernel()
def set_leaf_sums(members, n_leaves, leaf_integers, weight_scale, exact, partial, nodes):
    """Merge the members' sums into the leaves' nodes."""
    n_outputs = exact.shape[0]
    width = 2 * n_outputs + 1
    for leaf in range(n_leaves):
        node = leaf_integers[leaf, LEAF_NODE]
        nodes.ints[node, NODE_COUNT] = leaf_integers[leaf, LEAF_END] - leaf_integers[leaf, LEAF_BEGIN]
        for j in range(width):
            total = np.int64(0)
            for t in range(members):
                total += partial[t, leaf * width + j]
            if j == width - 1:
                nodes.floats[node, NODE_WEIGHT] = np.float64(total) / weight_scale
            else:
                at = NODE_OUTPUTS + NODE_PER_OUTPUT * (j // 2) + j % 2
                nodes.floats[node, at] = np.float64(total) / exact[j // 2, j % 2]


@kernel()
def set_node_values(integers, numbers, n_nodes, n_outputs, rules, monotone):
    """Sum up inner nodes from their children, then give every node its value.

    Both sides of a split by a set of levels pay the penalty of sets: which levels are in it was chosen by these rows.
    One of few levels pays none.
    """
    for back in range(n_nodes):
        node = n_nodes - 1 - back
        if integers[node, NODE_FEATURE] < 0:
            continue
        left = integers[node, NODE_LEFT]
        integers[node, NODE_COUNT] = integers[left, NODE_COUNT] + integers[left + 1, NODE_COUNT]
        numbers[node, NODE_WEIGHT] = numbers[left, NODE_WEIGHT] + numbers[left + 1, NODE_WEIGHT]
        for k in range(n_outputs):
            for j in range(NODE_OUTPUTS + NODE_PER_OUTPUT * k, NODE_OUTPUTS + NODE_PER_OUTPUT * k + 2):
                numbers[node, j] = numbers[left, j] + numbers[left + 1, j]
    for node in range(n_nodes):
        for j in range(NODE_OUTPUTS, NODE_OUTPUTS + NODE_PER_OUTPUT * n_outputs, NODE_PER_OUTPUT):
            numbers[node, j + 2] = leaf_value(numbers[node, j], numbers[node, j + 1], rules)
    for node in range(n_nodes):
        is_set = integers[node, NODE_FEATURE] >= 0 and integers[node, NODE_BIN] == BITSET_SPLIT
        if is_set and integers[node, NODE_MISSING_LEFT] < UNPENALISED:
            left = integers[node, NODE_LEFT]
            for child in range(left, left + 2):
                for j in range(NODE_OUTPUTS, NODE_OUTPUTS + NODE_PER_OUTPUT * n_outputs, NODE_PER_OUTPUT):
                    h = numbers[child, j + 1] + rules.category_lambda
                    numbers[child, j + 2] = leaf_value(numbers[child, j], h, rules)
    if rules.has_monotone != 0:
        project_monotone(integers, numbers, n_nodes, monotone)


@kernel()
def project_monotone(integers, numbers, n_nodes, monotone):
    """Keep values monotone, parents first: a child stays on its side of the middle of the two, with all its subtree.

    The middle comes from these same values, so that the constraint holds for what the tree answers.
    """
    value = NODE_OUTPUTS + 2
    numbers[0, NODE_LOWER] = -INFINITE
    numbers[0, NODE_UPPER] = INFINITE
    for node in range(n_nodes):
        low = numbers[node, NODE_LOWER]
        high = numbers[node, NODE_UPPER]
        numbers[node, value] = clip_value(numbers[node, value], low, high)
        f = integers[node, NODE_FEATURE]
        if f < 0:
            continue
        left = integers[node, NODE_LEFT]
        for child in range(left, left + 2):
            numbers[child, NODE_LOWER] = low
            numbers[child, NODE_UPPER] = high
        if monotone[f] != 0:
            first = clip_value(numbers[left, value], low, high)
            second = clip_value(numbers[left + 1, value], low, high)
            lower = left if monotone[f] > 0 else left + 1
            numbers[lower, NODE_UPPER] = 0.5 * first + 0.5 * second
            numbers[2 * left + 1 - lower, NODE_LOWER] = 0.5 * first + 0.5 * second


@kernel()
def set_leaf_values(member, members, sync, n_leaves, monotone, rules, grad, rows, scales, scratch, leaves, nodes):
    """Give the nodes of a grown tree their true sums and values."""
    has_places = grad.pairs.shape[0] > 1 or grad.weight.shape[0] > 0  # of more than one number each
    if has_places and 2 * rows.rows.shape[0] == grad.pairs.shape[1]:
        mark_leaves(member, members, n_leaves, leaves.ints, rows.rows, rows.scratch)
        if barrier(sync, members) != 0:
            return
        sum_row_by_row(member, members, n_leaves, grad, rows.scratch, scales.exact, scratch.leaf_sums)
    else:
        sum_leaf_pairs(member, members, n_leaves, leaves.ints, grad, rows.rows, scales.exact, scratch.leaf_sums)
    if barrier(sync, members) != 0 or member != 0:
        return
    nodes.info[N_LEAVES] = n_leaves
    set_leaf_sums(members, n_leaves, leaves.ints, grad.weight_scale, scales.exact, scratch.leaf_sums, nodes)
    set_node_values(nodes.ints, nodes.floats, nodes.info[N_NODES], grad.pairs.shape[0], rules, monotone)


@kernel("u32[:], i64[:,:], i64, f64[:,:], i64, f64[:,:]")
def add_leaf_values(member, members, sync, order, leaves, n_leaves, values, first_output, scores):
    """Add what the nodes of the leaves answer, ``values`` of all nodes, to the scores of their rows in ``order``."""
    n = order.shape[0]
    for leaf in range(n_leaves):
        start = max(leaves[leaf, LEAF_BEGIN], member * n // members)
        stop = min(leaves[leaf, LEAF_END], (member + 1) * n // members)
        for k in range(values.shape[1]):
            value = values[leaves[leaf, LEAF_NODE], k]
            target = scores[first_output + k]
            for i in range(np.uint64(start), np.uint64(max(start, stop))):
                target[order[i]] += value


@kernel("u32[:], i64[:,:], f64[:,:], u32[:], f64[:,:]")
def add_leaf_vectors(member, members, sync, order, span, values, leaf_of_row, scores):
    """Add the values of leaves to all outputs of their rows, which are all rows; scores are gone through in order."""
    mark_leaves(member, members, span.shape[0], span, order, leaf_of_row)
    if barrier(sync, members) != 0:
        return
    n = order.shape[0]
    for a in range(member * n // members, (member + 1) * n // members, BLOCK):
        stop = np.uint64(min(a + BLOCK, (member + 1) * n // members))
        for k in range(values.shape[1]):
            target = scores[k]
            for i in range(np.uint64(a), stop):
                target[i] += values[np.uint64(leaf_of_row[i]), np.uint64(k)]
