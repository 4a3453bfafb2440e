"""Trees in words and as drawings."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood.classic import SapwoodTreeClassifier, SapwoodTreeRegressor
from sapwood.errors import ParameterError
from tests.classic.trees.play_tennis import play_tennis


@pytest.fixture
def tennis():
    columns, y = play_tennis()
    return SapwoodTreeClassifier(criterion="entropy").fit(pd.DataFrame(columns), y)


def test_text_ends_at_a_depth_and_counts_what_lies_below(tennis):
    assert tennis.to_text(max_depth=1).splitlines() == [
        "outlook = overcast: yes (4 rows)",
        "outlook = rain: yes 60.00% (5 rows, 2 leaves below)",
        "outlook = sunny: no 60.00% (5 rows, 2 leaves below)",
    ]
    assert tennis.to_text(max_depth=0) == "yes 64.29% (14 rows, 5 leaves below)"
    with pytest.raises(ParameterError, match="max_depth must be a number of splits"):
        tennis.to_text(max_depth=-1)


def test_text_names_the_side_of_missing_values_and_sets_of_categories():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan], "c": list("aabb")})
    assert SapwoodTreeRegressor(max_depth=1).fit(X[["x"]], [1.0, 1.0, 5.0, 5.0]).to_text().splitlines() == [
        "x <= 2.5: 1 (2 rows)",
        "x > 2.5 or missing: 5 (2 rows)",
    ]
    assert SapwoodTreeRegressor().fit(X[["c"]], [1.0, 1.0, 5.0, 5.0]).to_text().splitlines() == [
        "c in {a}: 1 (2 rows)",
        "c in {b}: 5 (2 rows)",
    ]
    assert SapwoodTreeRegressor().fit(X[["x"]], [1.0, 1.0, 1.0, 5.0]).to_text().splitlines() == [
        "x is not missing: 1 (3 rows)",
        "x is missing: 5 (1 row)",
    ]


def test_every_branch_of_a_tree_is_drawn(tennis):
    ax = sapwood.plot.tree(tennis)
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == len(tennis.tree_.nodes) == 8
    assert any("outlook = overcast" in text and "yes · 4 rows" in text for text in texts)
    assert "SapwoodTreeClassifier: 5 leaves" in ax.get_title(loc="left")
    plt.close(ax.figure)


def test_a_drawing_ends_at_a_depth(tennis):
    ax = sapwood.plot.tree(tennis, max_depth=1)
    assert sum("2 leaves below" in text.get_text() for text in ax.texts) == 2
    plt.close(ax.figure)
    with pytest.raises(ParameterError, match="has one tree"):
        sapwood.plot.tree(tennis, 1)


def test_leaves_are_coloured_by_their_distance_from_the_root():
    tree = SapwoodTreeRegressor().fit([[0.0], [1.0]], [1.0, 3.0])
    ax = sapwood.plot.tree(tree)
    _, low, high = (text.get_bbox_patch().get_facecolor() for text in ax.texts)
    assert low[2] > low[0]  # blue
    assert high[0] > high[2]  # orange
    plt.close(ax.figure)


def test_long_numbers_keep_their_digits():
    tree = SapwoodTreeRegressor().fit([[2023001.0], [2023002.0], [2023003.0]], [1234567.25, -0.00001, 0.12345])
    assert tree.to_text().splitlines() == [
        "f0 <= 2023001.5: 1234567.25 (1 row)",
        "f0 > 2023001.5",
        "|   f0 <= 2023002.5: 0 (1 row)",
        "|   f0 > 2023002.5: 0.1235 (1 row)",
    ]
    assert "1234567 (1 row)" in tree.to_text(decimals=0)
    for wrong in (-1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match="decimals must be an integer of at least 0"):
            tree.to_text(decimals=wrong)
