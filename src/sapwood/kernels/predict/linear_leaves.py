"""Add what linear leaves answer to scores."""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.native.runtime.kernel import kernel, layout


@layout
class LinearForest(NamedTuple):
    """Trees whose leaves may have slopes."""

    tree_start: "i64[:]"  # (T + 1) first node
    tree_output: "i32[:]"  # (T) the score that the tree adds to
    value: "f64[:]"  # (N) the answer where there are no slopes, or a value is missing or infinite
    intercept: "f64[:]"  # (N)
    start: "i64[:]"  # (N + 1) first term of the node
    feature: "i32[:]"  # (M)
    centre: "f64[:]"  # (M)
    slope: "f64[:]"  # (M)


@kernel(
    "f32[:], i64, i64, i32[:,:], LinearForest, i64[:], f64[:,:]",
    "f64[:], i64, i64, i32[:,:], LinearForest, i64[:], f64[:,:]",
)
def add_linear(member, members, sync, x, row_stride, column_stride, leaves, forest, bounds, out):
    """Add the answers of trees to ``out`` (outputs, rows).

    ``bounds`` holds the first and last row, the line of ``out`` of row 0, and the first tree; ``leaves`` the node of
    each row from the first on, per tree from the first on.
    """
    n = bounds[1] - bounds[0]
    for i in range(member * n // members, (member + 1) * n // members):
        row = bounds[0] + i
        for t in range(leaves.shape[1]):
            tree = bounds[3] + t
            node = forest.tree_start[tree] + np.int64(leaves[i, t])
            answer = forest.intercept[node]
            for k in range(forest.start[node], forest.start[node + 1]):
                value = np.float64(x[row * row_stride + np.int64(forest.feature[k]) * column_stride])
                answer += forest.slope[k] * (value - forest.centre[k])
            if answer - answer != 0.0:
                answer = forest.value[node]
            out[np.int64(forest.tree_output[tree]), bounds[2] + row] += answer
