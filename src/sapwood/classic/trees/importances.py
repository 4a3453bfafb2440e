"""Importance of columns in a decision tree."""

from __future__ import annotations

import numpy as np

from sapwood.classic.trees.tree import DecisionTree


def column_decreases(tree: DecisionTree) -> np.ndarray:
    """Return the total decrease of the loss by splits on each column; that of an oblique split is divided equally."""
    decreases = np.zeros(tree.n_features)
    for node in tree.nodes:
        if node.split is not None:
            decreases[list(node.split.features)] += node.decrease / len(node.split.features)
    return decreases
