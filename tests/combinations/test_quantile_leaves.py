"""A quantile leaf has the quantile of the residuals of its own rows, whether or not other leaves are empty."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.model.tree import LEAF


def leaf_of_rows(tree, X: np.ndarray) -> np.ndarray:
    """Walk every row down a tree without missing values."""
    found = np.zeros(len(X), dtype=np.int64)
    for row, values in enumerate(X):
        node = 0
        while tree.feature[node] != LEAF:
            node = tree.left[node] + int(values[tree.feature[node]] > tree.threshold[node])
        found[row] = node
    return found


@pytest.mark.parametrize("growth", ["leafwise", "levelwise", "symmetric"])
def test_a_leaf_answers_the_median_of_its_rows(growth):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 1))  # one column: most sides of a symmetric cut are empty
    y = np.sin(3 * X[:, 0])
    limits = {} if growth == "symmetric" else {"min_child_samples": 1}
    fitted = SapwoodRegressor(
        objective="absolute", growth=growth, n_estimators=1, learning_rate=1.0, max_depth=5, reg_lambda=0.0, **limits
    ).fit(X, y)
    tree = fitted.model_.ensemble[0]
    leaf_of_row, residual = leaf_of_rows(tree, X), y - fitted.model_.base_scores[0]
    for leaf in np.unique(leaf_of_row):
        assert tree.value[leaf, 0] == pytest.approx(np.median(residual[leaf_of_row == leaf]), abs=1e-12)
    empty = np.setdiff1d(np.flatnonzero(tree.feature == LEAF), leaf_of_row)
    assert (tree.value[empty] == 0.0).all()
    assert len(empty) > 0 or growth != "symmetric"
