from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.explain.row_paths import leaf_similarity, nearest_rows, row_paths
from tests.explain.test_importance import model_of
from tests.explain.test_shapley import people
from tests.model.forests import leaf_tree, small_tree

ROWS = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 3.0, 0.0]])


def test_a_path_is_told_in_words():
    texts = row_paths(model_of(small_tree()), ROWS)
    assert texts[1] == "f0 > 0.5 and f1 ≤ 2 → 10"
    assert texts[0].startswith("f0 ≤ 0.5") and texts[0].endswith("→ 1")
    assert row_paths(model_of(leaf_tree(2.5)), ROWS[:1]) == ["all rows → 2.5"]


def test_categories_are_named():
    X, y = people()
    model = SapwoodRegressor(n_estimators=1, max_leaves=8, category_encoding="partition").fit(X, y)
    texts = model.row_paths(X)
    assert any("job is" in text for text in texts)
    assert len(set(texts)) == len(np.unique(model.apply(X)))


def test_rows_are_as_similar_as_the_leaves_they_share():
    model = model_of(small_tree(), small_tree(2.0), leaf_tree(1.0))
    expected = [[1, 1 / 3, 1 / 3], [1 / 3, 1, 1 / 3], [1 / 3, 1 / 3, 1]]
    np.testing.assert_allclose(leaf_similarity(model, ROWS), expected)
    np.testing.assert_allclose(leaf_similarity(model, ROWS[:1], ROWS), expected[:1])


def test_the_nearest_rows_share_most_leaves():
    model = model_of(small_tree())
    numbers, similarity = nearest_rows(model, ROWS, ROWS, 2)
    np.testing.assert_array_equal(numbers, [[0, 1], [1, 0], [2, 0]])
    np.testing.assert_array_equal(similarity, [[1, 0], [1, 0], [1, 0]])


def test_trees_and_rows_that_do_not_exist_are_errors():
    with pytest.raises(ParameterError, match="between 0 and 0"):
        row_paths(model_of(small_tree()), ROWS, tree=1)
    with pytest.raises(InputError, match="between 1 and 3"):
        nearest_rows(model_of(small_tree()), ROWS, ROWS, 4)
