"""Validation of the trees of a checkpoint, with the tests of model files, before they are added to scores."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.grown_tree import FittedTree
from sapwood.kernels import layout
from sapwood.model.io.validation import coefficient_fault, node_fault
from sapwood.model.tree import LEAF


def tree_fault(tree: FittedTree, dataset: BinnedDataset, n_outputs: int) -> str | None:
    """Return why a tree cannot be added to scores safely; None if it can."""
    integers, numbers, value = tree.grown.integers, tree.grown.numbers, tree.value
    n_nodes, width = len(integers), value.shape[1] if value.ndim == 2 else 0
    shapes = (integers.shape, numbers.shape, len(value))
    expected = ((n_nodes, layout.NODE_BITSET), (n_nodes, layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT * width), n_nodes)
    has_types = integers.dtype == np.int64 and numbers.dtype == np.float64
    if width == 0 or shapes != expected or not has_types:
        return "the arrays of a tree do not have the same number of nodes"
    if not 0 <= tree.output <= n_outputs - width:
        return f"a tree adds to an output outside 0 to {n_outputs - 1}"
    feature, left = integers[:, layout.NODE_FEATURE], integers[:, layout.NODE_LEFT]
    if (fault := node_fault(feature, left, np.array([0, n_nodes]), dataset.n_features)) is not None:
        return fault
    inner, bins = feature != LEAF, integers[:, layout.NODE_BIN]
    if tree.grown.sets is not None:
        inner = inner & (bins != layout.BITSET_SPLIT)
    n_bins = np.asarray(dataset.n_bins, dtype=np.int64)
    if tree.grown.threshold is None and np.any((bins[inner] < 0) | (bins[inner] > n_bins[feature[inner]])):
        return "a split is at a bin that its feature does not have"
    if not np.isfinite(value).all():
        return "a leaf value is not finite"
    for name, array, shape in (
        ("threshold", tree.grown.threshold, (n_nodes,)),
        ("sets", tree.grown.sets, (n_nodes, layout.BITSET_WORDS)),
    ):
        if array is not None and array.shape != shape:
            return f"the {name} of a tree do not have one row per node"
    coefficients = tree.grown.leaf_coefficients
    return None if coefficients is None else coefficient_fault(coefficients, feature == LEAF, dataset.n_features)
