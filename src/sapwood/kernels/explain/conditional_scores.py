"""Expected scores of rows of which some players are known: other splits send a row to both sides, by cover."""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.predict.packed_forest import OUT_OFFSET, ROW_BEGIN, ROW_END, bitset_word
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel, layout

U1 = np.uint64(1)


@layout
class CoverTrees(NamedTuple):
    """Trees with the fraction of the cover that goes left at each split."""

    tree_start: "i64[:]"  # (T + 1)
    tree_output: "i32[:]"  # (T)
    column: "i64[:]"  # (N) column of the table, -1 for leaves
    bit: "i64[:]"  # (N) bit of a category bitset, -1 for a threshold
    player: "i64[:]"  # (N)
    left: "i64[:]"  # (N) left child, counted over all trees
    threshold: "f64[:]"  # (N)
    missing_left: "u8[:]"  # (N)
    goes_left: "f64[:]"  # (N)
    values: "f64[:,:]"  # (N, width)
    start: "i64[:]"  # (N + 1) coefficients of linear leaves; empty if all leaves are constant
    intercept: "f64[:]"  # (N)
    coefficient_column: "i64[:]"  # (M)
    coefficient_player: "i64[:]"  # (M)
    centre: "f64[:]"  # (M)
    slope: "f64[:]"  # (M)


@kernel()
def known_leaf_value(trees, node, is_known, x, origin, column_stride):
    """Return the prediction of a linear leaf with the mean of the leaf in place of unknown features."""
    value = trees.intercept[node]
    n_missing, n_known_missing = 0, 0
    for k in range(trees.start[node], trees.start[node + 1]):
        one = np.float64(x[origin + trees.coefficient_column[k] * column_stride])
        known = is_known[trees.coefficient_player[k]] == 1
        if one - one != 0.0:
            n_missing += 1
            n_known_missing += 1 if known else 0
        elif known:
            value += trees.slope[k] * (one - trees.centre[k])
    if n_missing == 0:
        return value
    part = np.float64(n_known_missing) / np.float64(n_missing)
    return trees.intercept[node] + part * (trees.values[node, 0] - trees.intercept[node])


@kernel()
def row_goes_left(trees, node, value):
    """Return whether a value goes to the left child."""
    if trees.bit[node] >= 0:
        return (bitset_word(value) >> np.uint64(trees.bit[node])) & U1 == np.uint64(0)
    if value != value:
        return trees.missing_left[node] == 1
    return value <= trees.threshold[node]


@kernel(
    "f32[:], i64, i64, CoverTrees, u8[:], i64[:,:], f64[:,:], i64[:], f64[:,:]",
    "f64[:], i64, i64, CoverTrees, u8[:], i64[:,:], f64[:,:], i64[:], f64[:,:]",
)
def add_conditional_scores(
    member, members, sync, x, row_stride, column_stride, trees, is_known, waiting, weights, bounds, out
):
    """Add the expected values of all trees to ``out`` (outputs, rows), given the players of which ``is_known`` is 1.

    ``bounds`` is that of ``packed_forest.add_scores``, without trees. ``waiting`` and ``weights`` (members, levels) are
    workspaces: the nodes that a row may still reach, and with what probability.
    """
    n = bounds[ROW_END] - bounds[ROW_BEGIN]
    nodes, probabilities = waiting[member], weights[member]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        origin = (bounds[ROW_BEGIN] + np.int64(i)) * row_stride
        row = bounds[OUT_OFFSET] + bounds[ROW_BEGIN] + np.int64(i)
        for tree in range(trees.tree_output.shape[0]):
            output = np.int64(trees.tree_output[tree])
            nodes[0], probabilities[0] = trees.tree_start[tree], 1.0
            n_waiting = 1
            while n_waiting > 0:
                n_waiting -= 1
                node, weight = nodes[n_waiting], probabilities[n_waiting]
                while trees.column[node] >= 0:
                    child = trees.left[node]
                    if is_known[trees.player[node]] == 1:
                        value = np.float64(x[origin + trees.column[node] * column_stride])
                        node = child if row_goes_left(trees, node, value) else child + 1
                    else:
                        nodes[n_waiting] = child + 1
                        probabilities[n_waiting] = weight * (1.0 - trees.goes_left[node])
                        n_waiting += 1
                        weight *= trees.goes_left[node]
                        node = child
                if trees.start.shape[0] > 0:
                    out[output, row] += weight * known_leaf_value(trees, node, is_known, x, origin, column_stride)
                else:
                    for k in range(trees.values.shape[1]):
                        out[output + k, row] += weight * trees.values[node, k]
