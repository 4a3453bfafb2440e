"""Conditions of splits in words hold for the rows that go to the children."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood.explain.split_condition import SplitCondition
from sapwood.explain.tree_layout import layout

ENCODINGS = ["partition", "one_hot", "ordered", "greedy", sapwood.Frequency()]


def table(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 7, n)
    names = np.array(["a", "b", "c", "d", "e", "f", None], dtype=object)
    size = rng.normal(size=n)
    size[::11] = np.nan
    return pd.DataFrame({"kind": names[kind], "size": size}), kind % 3 + np.nan_to_num(size, nan=2.0) ** 2


@pytest.mark.parametrize("encoding", ENCODINGS, ids=str)
def test_rows_fulfil_the_conditions_on_their_paths(encoding):
    X, y = table(600)
    model = sapwood.SapwoodRegressor(n_estimators=3, category_encoding=encoding).fit(X, y).model_
    X = pd.concat([table(60, 1)[0], pd.DataFrame({"kind": ["new"], "size": [0.5]})], ignore_index=True)
    leaves = model.leaf_indices(X)
    for k, tree in enumerate(model.ensemble):
        nodes = layout(model, tree)
        by_number = {node.node: index for index, node in enumerate(nodes)}
        for row in range(len(X)):
            node = nodes[by_number[leaves[row, k]]]
            while node.parent >= 0:
                parent = nodes[node.parent]
                assert parent.condition is not None
                assert goes_left(parent.condition, X.iloc[row]) == node.is_left
                node = parent


def goes_left(condition: SplitCondition, row: pd.Series) -> bool:
    """Return whether a row goes left, from the words of the condition."""
    value = row[condition.name]
    if pd.isna(value):
        assert condition.missing_left is not None
        return condition.missing_left
    if condition.name == "size":
        return value <= float(condition.left.removeprefix("≤ ")) * (1 + 1e-9)
    if value in condition.left_categories + condition.right_categories:
        return value in condition.left_categories
    return condition.left.startswith("is not")


def test_descriptions_name_missing_values_once():
    condition = SplitCondition("age", "≤ 38.5", "> 38.5", True, (0,))
    assert condition.describe(True) == "age ≤ 38.5 or missing"
    assert condition.describe(False) == "age > 38.5"
    only_missing = SplitCondition("job", "is missing", "is not missing", True, (0,))
    assert only_missing.describe(True) == "job is missing"


def test_many_categories_are_counted():
    X = pd.DataFrame({"job": [f"job {k:02d}" for k in range(40)] * 20})
    y = np.repeat(np.arange(20), 40) * 0.0 + np.tile(np.arange(40) % 2, 20)
    tree = sapwood.SapwoodRegressor(n_estimators=1, category_encoding="partition").fit(X, y).model_
    condition = layout(tree, tree.ensemble[0])[0].condition
    assert condition is not None
    assert "more" in condition.left
    assert len(condition.left_categories) == len(condition.right_categories) == 20
