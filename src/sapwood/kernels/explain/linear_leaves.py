"""Shapley values of linear leaves.

A linear leaf predicts b + Σ a_j, a_j = slope · (x_j − centre). The centre is the mean of the leaf's rows, so the
expectation without feature j leaves a_j out. At a point t, player j of the leaf counts with t·o_j/f_j, therefore

    G = b + Σ a_j · t · o_j / f_j       and       φ_j += o_j · a_j · r_j · Σ_t w(t) · P(t) / f_j(t)²

in addition to what the splits above the leaf add. A row in which features of the leaf are missing has the constant
value v instead; each of the m missing features then has a_j = (v − b)/m, the others 0.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.explain.path_pairs import add_pairs
from sapwood.kernels.explain.path_records import (
    BLOCK,
    FOLLOWS,
    LEFT_SUM,
    OLD,
    OWN,
    POINT_SIZE,
    POINTS,
    PRODUCT,
    TOTAL,
    record_size,
)
from sapwood.native.runtime.kernel import kernel, layout


@layout
class LinearPaths(NamedTuple):
    """Coefficients of linear leaves; ``start`` is empty if all leaves are constant."""

    root: "i64[:]"  # (T) node of the root of each tree
    start: "i64[:]"  # (N + 1) first coefficient of each node
    intercept: "f64[:]"  # (N)
    level: "i64[:]"  # (N) level of the leaf
    slot: "i64[:]"  # (M) slot of the feature in a block of rows
    player: "i64[:]"  # (M)
    edge: "i64[:]"  # (M) level of the player's last edge on the path to the leaf, 0 if there is none
    remains: "f64[:]"  # (M) fraction of the cover that follows the player's splits on the path
    centre: "f64[:]"  # (M)
    slope: "f64[:]"  # (M)


@kernel()
def count_leaf_missing(leaves, node, block, records, out):
    """Write the number of missing or infinite features of a leaf for each row, from ``records[out]`` on."""
    for i in range(BLOCK):
        records[np.uint64(out + i)] = 0.0
    for k in range(leaves.start[node], leaves.start[node + 1]):
        for i in range(BLOCK):
            x = block[leaves.slot[k], i]
            records[np.uint64(out + i)] += 1.0 if x - x != 0.0 else 0.0


@kernel()
def fill_steps(leaves, k, node, constant, values, records, child, follows):
    """Write o_j · a_j of coefficient k for each row into the totals of the record ``child``."""
    jump = constant - leaves.intercept[node]
    for i in range(BLOCK):
        x, n_missing = values[np.uint64(i)], records[np.uint64(child + OWN + i)]
        is_missing = x - x != 0.0
        step = leaves.slope[k] * (x - leaves.centre[k]) if n_missing == 0.0 else 0.0
        step = jump / n_missing if is_missing else step
        records[np.uint64(child + TOTAL + i)] = step if records[np.uint64(follows + i)] > 0.0 else 0.0


@kernel()
def fill_linear_sums(paths, leaves, tree, node, sums, child, work, member):
    """Write the sums of a linear leaf, and add its own terms to ``phi`` and ``pairs``.

    The record ``child`` has the products and o of the leaf's edge; its other entries are overwritten.
    """
    n_points, records, block = paths.n_points[tree], work.records[member], work.blocks[member]
    size, phi = record_size(n_points), work.phi[member]
    count_leaf_missing(leaves, node, block, records, child + OWN)
    for q in range(n_points):
        for i in range(BLOCK):
            records[np.uint64(sums + q * POINT_SIZE + i)] = leaves.intercept[node]
    for k in range(leaves.start[node], leaves.start[node + 1]):
        follows = leaves.edge[k] * size + FOLLOWS
        fill_steps(leaves, k, node, paths.values[node, 0], block[leaves.slot[k]], records, child, follows)
        for i in range(BLOCK):
            records[np.uint64(child + OLD + i)] = 0.0
        for q in range(n_points):
            t = paths.points[n_points, q]
            above = 1.0 / (t + (1.0 - t) * leaves.remains[k])
            point = child + POINTS + q * POINT_SIZE
            for i in range(BLOCK):
                step = records[np.uint64(child + TOTAL + i)]
                term = step * leaves.remains[k] * above * above * records[np.uint64(point + PRODUCT + i)]
                records[np.uint64(point + LEFT_SUM + i)] = term
                records[np.uint64(child + OLD + i)] += term
                records[np.uint64(sums + q * POINT_SIZE + i)] += step * t * above
        for i in range(BLOCK):
            phi[leaves.player[k], i] += records[np.uint64(child + OLD + i)]
        if work.pairs.shape[1] > 0:
            add_pairs(
                paths, leaves.player[k], leaves.level[node], n_points, records, child, work.path[member],
                work.active[member], work.pairs[member],
            )  # fmt: skip
