"""The counts behind statistics of categories are those that CatBoost writes into its JSON export."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from sapwood import SapwoodClassifier
from sapwood.data.categories.derived_feature import STATISTIC, DerivedFeature
from sapwood.params.encodings import Ordered

UNUSED = str(2**64 - 1)  # the key of a place of CatBoost's hash table that no level has

catboost = pytest.importorskip("catboost")


def table(n_classes: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(n_classes)
    codes = np.column_stack([random.integers(0, 12, n), random.integers(0, 7, n)])
    signal = (codes[:, 0] % 3 + codes[:, 1] % 2) / 3.0 * (n_classes - 1) + 0.4 * random.normal(size=n)
    return np.char.add("level ", codes.astype(str)).astype(object), np.clip(np.rint(signal), 0, n_classes - 1)


def of_catboost(X: np.ndarray, y: np.ndarray, path) -> dict[tuple[int, ...], Counter]:
    """Per column or crossing, how often each line of counts in the classes occurs."""
    model = catboost.CatBoostClassifier(
        iterations=30, depth=3, simple_ctr=["Borders:Prior=0.5/1"], combinations_ctr=["Borders:Prior=0.5/1"],
        max_ctr_complexity=2, one_hot_max_size=1, verbose=0, allow_writing_files=False, cat_features=[0, 1],
        thread_count=1,
    )  # fmt: skip
    model.fit(X, y)
    model.save_model(str(path), format="json", pool=catboost.Pool(X, y, cat_features=[0, 1]))
    found = {}
    for key, table in json.loads(path.read_text())["ctr_data"].items():
        sources = tuple(part["cat_feature_index"] for part in json.loads(key)["identifier"])
        stride, cells = table["hash_stride"], table["hash_map"]
        lines = [cells[at + 1 : at + stride] for at in range(0, len(cells), stride) if cells[at] != UNUSED]
        found[sources] = Counter(tuple(line) for line in lines)
    return found


def of_sapwood(X: np.ndarray, y: np.ndarray) -> dict[tuple[int, ...], Counter]:
    """Return the same from the transformer of a model: (count, countInClass) of every category that has rows."""
    model = SapwoodClassifier(
        category_encoding=Ordered(priors=(0.5,)), max_combination=2, n_estimators=20, min_child_samples=1
    ).fit(X, y)
    classes, counts = {}, {}
    for column in model.model_.transformer.columns:
        if isinstance(column, DerivedFeature) and column.kind == STATISTIC:
            classes.setdefault(column.sources, []).append(column.sums)
            counts[column.sources] = column.counts
    found = {}
    for sources, sums in classes.items():
        if len(np.unique(y)) == 2:
            sums = [counts[sources] - sums[0], sums[0]]
        lines = np.rint(np.stack(sums, axis=1)).astype(int)
        np.testing.assert_allclose(lines.sum(axis=1), counts[sources], atol=1e-6)
        found[sources] = Counter(tuple(line) for line in lines.tolist() if sum(line))
    return found


@pytest.mark.parametrize("n_classes", [2, 3])
def test_counts_of_categories_and_combinations_are_those_of_catboost(n_classes, tmp_path):
    X, y = table(n_classes)
    ours, theirs = of_sapwood(X, y), of_catboost(X, y, tmp_path / "model.json")
    assert set(ours) & set(theirs) >= {(0,), (1,)} or (0, 1) in set(ours) & set(theirs)
    for sources in set(ours) & set(theirs):
        assert ours[sources] == theirs[sources]
