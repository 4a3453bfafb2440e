"""Predict raw values with linear leaves."""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.predict.packed_forest import OUT_OFFSET, ROW_BEGIN, ROW_END, TREE_BEGIN
from sapwood.native.runtime.kernel import kernel, layout


@layout
class LinearForest(NamedTuple):
    """Trees whose leaves may be linear models: intercept + Σ slope · (value − centre)."""

    tree_start: "i64[:]"  # (T + 1) first node
    tree_output: "i32[:]"  # (T) output that the tree adds to
    value: "f64[:]"  # (N) value of the leaf where a feature is missing or infinite
    intercept: "f64[:]"  # (N)
    start: "i64[:]"  # (N + 1) first coefficient of the node
    feature: "i32[:]"  # (M)
    centre: "f64[:]"  # (M)
    slope: "f64[:]"  # (M)


@kernel(
    "f32[:], i64, i64, i32[:,:], LinearForest, i64[:], f64[:,:]",
    "f64[:], i64, i64, i32[:,:], LinearForest, i64[:], f64[:,:]",
)
def add_linear_leaves(member, members, sync, x, row_stride, column_stride, leaves, forest, bounds, out):
    """Add the values of trees to the scores ``out`` (outputs, rows).

    ``bounds`` is that of ``packed_forest.add_scores``; ``leaves`` (rows, trees) are the leaf nodes within these bounds.
    """
    n = bounds[ROW_END] - bounds[ROW_BEGIN]
    for i in range(member * n // members, (member + 1) * n // members):
        row = bounds[ROW_BEGIN] + i
        for t in range(leaves.shape[1]):
            tree = bounds[TREE_BEGIN] + t
            node = forest.tree_start[tree] + np.int64(leaves[i, t])
            prediction = forest.intercept[node]
            for k in range(forest.start[node], forest.start[node + 1]):
                value = np.float64(x[row * row_stride + np.int64(forest.feature[k]) * column_stride])
                prediction += forest.slope[k] * (value - forest.centre[k])
            if prediction - prediction != 0.0:
                prediction = forest.value[node]
            out[np.int64(forest.tree_output[tree]), bounds[OUT_OFFSET] + row] += prediction
