"""Splits by hand: ID3 and C4.5 on the play-tennis table, sets of categories, hyperplanes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from sapwood.classic import SapwoodTreeClassifier, SapwoodTreeRegressor
from sapwood.classic.trees.split_search import FoundSplit, middle
from sapwood.classic.trees.splits import CategoryBranches
from tests.classic.trees.play_tennis import play_tennis

# 9 of 14 play: 0.940 bits. Outlook: sunny 2 of 5, overcast 4 of 4, rain 3 of 5: 10/14 · 0.971 = 0.694 bits.
GAINS = {"outlook": 0.24675, "temperature": 0.02922, "humidity": 0.15184, "wind": 0.04813}
# Outlook divides into 5, 4 and 5 rows: 1.577 bits; temperature into 4, 6 and 4; humidity into 7 and 7; wind 8 and 6.
SPLIT_INFORMATION = {"outlook": 1.57741, "temperature": 1.55666, "humidity": 1.0, "wind": 0.98523}


@pytest.fixture
def tennis():
    columns, y = play_tennis()
    return pd.DataFrame(columns), y


@pytest.mark.parametrize("column", GAINS)
def test_the_gain_and_split_information_of_each_column_by_hand(tennis, column):
    """T1: ID3's gain and C4.5's split information on the play-tennis table."""
    X, y = tennis
    root = SapwoodTreeClassifier(criterion="entropy", max_depth=1).fit(X[[column]], y).tree_.nodes[0]
    assert root.impurity == pytest.approx(0.94029, abs=1e-5)
    assert root.decrease / 14.0 == pytest.approx(GAINS[column], abs=1e-5)
    weights = tuple(14.0 * share for share in root.shares)
    assert FoundSplit(root.split, root.decrease, weights).split_information == pytest.approx(
        SPLIT_INFORMATION[column], abs=1e-5
    )


@pytest.mark.parametrize("criterion", ["entropy", "gain_ratio"])
def test_id3_and_c45_grow_the_tree_of_the_textbook(tennis, criterion):
    """T1: outlook first; humidity decides when it is sunny, wind when it rains."""
    tree = SapwoodTreeClassifier(criterion=criterion).fit(*tennis)
    assert tree.to_text().splitlines() == [
        "outlook = overcast: yes (4 rows)",
        "outlook = rain",
        "|   wind = strong: no (2 rows)",
        "|   wind = weak: yes (3 rows)",
        "outlook = sunny",
        "|   humidity = high: no (3 rows)",
        "|   humidity = normal: yes (2 rows)",
    ]
    assert tree.score(*tennis) == 1.0


def test_gain_ratio_is_compared_among_splits_of_at_least_average_gain():
    """T1: gains 0.549 (a), 1 (b), 0.049 (c); ratios 0.575, 0.5, 0.051. Their average is 0.774 without c, else 0.533."""
    y = list("00001111")
    a, b, c = list("llllrrrl"), list("wwxxyyzz"), list("sssttsst")
    X = pd.DataFrame({"a": a, "b": b, "c": c})
    root = SapwoodTreeClassifier(criterion="gain_ratio", max_depth=1).fit(X, y).tree_.nodes[0]
    assert root.split.feature == 0
    assert root.decrease / 8.0 == pytest.approx(0.54880, abs=1e-5)
    assert (
        SapwoodTreeClassifier(criterion="gain_ratio", max_depth=1).fit(X[["a", "b"]], y).tree_.nodes[0].split.feature
        == 1
    )
    assert SapwoodTreeClassifier(criterion="entropy", max_depth=1).fit(X, y).tree_.nodes[0].split.feature == 1


@pytest.fixture
def unknown_outlook(tennis):
    """The table of Quinlan (1993, section 3.2): the outlook of one overcast day is not known."""
    X, y = tennis
    X.loc[11, "outlook"] = None
    return X, y


def test_missing_values_are_divided_as_in_c45_by_hand(unknown_outlook):
    """T1: of 13 known rows 8 play: 0.961 bits, 0.747 after the split; 13/14 · 0.214 = 0.199 bits."""
    X, y = unknown_outlook
    tree = SapwoodTreeClassifier(criterion="entropy", missing="fractional", min_samples_leaf=2).fit(X, y)
    root = tree.tree_.nodes[0]
    assert root.decrease / 14.0 == pytest.approx(0.19904, abs=1e-5)
    found = FoundSplit(root.split, root.decrease, (3.0, 5.0, 5.0, 1.0))
    assert found.split_information == pytest.approx(1.80920, abs=1e-5)
    assert tree.to_text().splitlines() == [
        "outlook = overcast: yes (3.231 rows)",
        "outlook = rain",
        "|   wind = strong: no 83.87% (2.385 rows)",  # 2 / (2 + 5/13)
        "|   wind = weak: yes (3 rows)",
        "outlook = sunny",
        "|   humidity = high: no 88.64% (3.385 rows)",  # 3 / (3 + 5/13)
        "|   humidity = normal: yes (2 rows)",
    ]


def test_a_row_with_a_missing_value_gets_the_mean_of_the_branches(unknown_outlook):
    """T1: shares 3/13, 5/13 and 5/13 of the known rows."""
    X, y = unknown_outlook
    tree = SapwoodTreeClassifier(criterion="entropy", missing="fractional", min_samples_leaf=2).fit(X, y)
    row = pd.DataFrame({"outlook": [None], "temperature": ["hot"], "humidity": ["high"], "wind": ["weak"]})
    part = 5.0 / 13.0
    yes = 3.0 / 13.0 + part + part * part / (3.0 + part)
    np.testing.assert_allclose(tree.predict_proba(row), [[1.0 - yes, yes]], rtol=1e-12)
    assert tree.apply(row)[0] == 2 + 2  # of equal parts the first: rain, weak
    assert tree.decision_path(row).toarray().tolist() == [[1, 1, 1, 0, 1, 1, 1, 0]]


def test_fractional_thresholds_by_hand():
    """Values 1, 2, 3, 4 and one missing; the split at 2.5 is pure among 4 known rows, and the fifth is halved."""
    X, y = [[1.0], [2.0], [3.0], [4.0], [np.nan]], [0, 0, 1, 1, 1]
    tree = SapwoodTreeClassifier(missing="fractional", max_depth=1).fit(X, y)
    assert tree.tree_.nodes[0].decrease == pytest.approx(4.0 * 0.5)
    np.testing.assert_allclose(tree.predict_proba([[0.0], [9.0]]), [[2.0 / 2.5, 0.5 / 2.5], [0.0, 1.0]])
    np.testing.assert_allclose(tree.predict_proba([[np.nan]]), [[0.4, 0.6]])


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "gini", "entropy"])
def test_two_sets_of_categories_are_the_best_of_all_sets(criterion):
    """For squared error and two classes the order by means contains the best sets; medians do in this table."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 6, 60)
    is_class = criterion in ("gini", "entropy")
    y = (rng.uniform(size=60) < codes / 7.0).astype(float) if is_class else rng.integers(0, 9, 60) + 3.0 * (codes % 3)
    Tree = SapwoodTreeClassifier if is_class else SapwoodTreeRegressor

    def loss(rows):
        if criterion == "absolute_error":
            return np.abs(y[rows] - np.median(y[rows])).sum()
        if criterion == "squared_error":
            return ((y[rows] - y[rows].mean()) ** 2).sum()
        p = np.array([y[rows].mean(), 1.0 - y[rows].mean()])
        p = p[p > 0.0]
        return rows.sum() * (1.0 - (p * p).sum() if criterion == "gini" else -(p * np.log2(p)).sum())

    best = min(
        loss(np.isin(codes, chosen)) + loss(~np.isin(codes, chosen))
        for size in range(1, 6)
        for chosen in combinations(range(6), size)
    )
    tree = Tree(criterion=criterion, category_splits="binary", categorical_features=[0], max_depth=1).fit(
        codes[:, None], y
    )
    left, right = tree.tree_.nodes[1:]
    assert left.loss + right.loss == pytest.approx(best)


def test_several_classes_are_tried_in_the_order_of_each_class():
    """Class 2 is all of category "b": its order alone separates it."""
    X = pd.DataFrame({"x": list("aabbccdd")})
    tree = SapwoodTreeClassifier(max_depth=1).fit(X, [0, 1, 2, 2, 1, 0, 0, 1])
    assert tree.tree_.nodes[0].split.condition(0, tree._columns) in ("x in {b}", "x in {a, c, d}")


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_numbers_can_be_split_into_one_branch_per_category(criterion):
    X = pd.DataFrame({"x": list("aabbcc")})
    y = [1.0, 2.0, 5.0, 6.0, 9.0, 9.0]
    tree = SapwoodTreeRegressor(criterion=criterion, category_splits="multiway").fit(X, y)
    assert isinstance(tree.tree_.nodes[0].split, CategoryBranches)
    np.testing.assert_allclose(tree.predict(X), [1.5, 1.5, 5.5, 5.5, 9.0, 9.0])
    assert tree.predict(pd.DataFrame({"x": ["unknown"]}))[0] == tree.tree_.nodes[0].value[0]
    assert tree.apply(pd.DataFrame({"x": ["unknown"]}))[0] == 0


def test_missing_is_a_branch_of_its_own_unless_rows_are_divided():
    X = pd.DataFrame({"x": ["a", "a", "b", "b", None, None]})
    tree = SapwoodTreeClassifier(criterion="entropy").fit(X, [0, 0, 1, 1, 2, 2])
    assert tree.to_text().splitlines() == ["x is missing: 2 (2 rows)", "x = a: 0 (2 rows)", "x = b: 1 (2 rows)"]


def test_an_oblique_split_separates_what_thresholds_cannot():
    """T2: y = [x0 + x1 > 0] needs one oblique split, and many thresholds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X = X[np.abs(X.sum(axis=1)) > 0.3]
    y = X.sum(axis=1) > 0.0
    oblique = SapwoodTreeClassifier(oblique=True).fit(X, y)
    assert oblique.get_n_leaves() == 2
    assert oblique.score(X, y) == 1.0
    assert SapwoodTreeClassifier().fit(X, y).get_n_leaves() > 8
    split = oblique.tree_.nodes[0].split
    assert split.coefficients[0] == pytest.approx(split.coefficients[1], rel=0.2)


def test_an_oblique_regression_tree_follows_a_ramp_better():
    """T2: the same number of leaves, a smaller error; missing values count as the mean of the node."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4))
    y = np.tanh(X @ [1.0, -2.0, 0.5, 0.0]) + 0.05 * rng.normal(size=500)
    X[rng.uniform(size=X.shape) < 0.02] = np.nan
    oblique, plain = (SapwoodTreeRegressor(max_leaf_nodes=8, oblique=o).fit(X, y) for o in (True, False))
    errors = [np.mean((model.predict(X) - y) ** 2) for model in (oblique, plain)]
    assert errors[0] < 0.6 * errors[1]
    assert "*f0" in oblique.to_text()


def test_oblique_splits_of_several_classes():
    """T2: three classes around a circle, cut into sectors."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = np.floor((np.arctan2(X[:, 1], X[:, 0]) + np.pi) / (2.0 * np.pi) * 3.0)
    oblique, plain = (SapwoodTreeClassifier(oblique=o, min_samples_leaf=5).fit(X, y) for o in (True, False))
    assert oblique.get_n_leaves() < plain.get_n_leaves()
    assert oblique.score(X, y) > 0.95


def test_a_single_numeric_column_has_no_oblique_splits():
    X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    assert SapwoodTreeClassifier(oblique=True).fit(X, y).model_.ensemble.n_nodes == 3


def test_thresholds_lie_between_the_values_that_they_separate():
    assert middle(1.0, 2.0) == 1.5
    assert middle(1.0, np.nextafter(1.0, 2.0)) == 1.0
    assert middle(1.0, np.inf) == 1.0
    assert middle(-np.inf, np.inf) == -np.inf
    assert middle(-np.inf, 3.0) == -np.inf
    assert middle(1e308, 1.5e308) == 1.25e308
    assert middle(7.0, np.nan) == np.inf


def test_infinite_values_are_ordered_with_the_others():
    X, y = [[-np.inf], [0.0], [1.0], [np.inf]], [3, 1, 1, 2]
    assert SapwoodTreeClassifier().fit(X, y).predict(X).tolist() == y


def test_columns_are_drawn_by_the_seed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 10)), rng.integers(0, 2, 200)
    models = [SapwoodTreeClassifier(max_features=3, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    first, again, other = (model.model_.fingerprint() for model in models)
    assert first == again != other
    assert models[0].score(X, y) == 1.0  # a node without a split among the drawn columns draws further ones


def test_gain_ratio_draws_further_columns_until_one_has_a_gain():
    X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]  # the first column says nothing about the second
    for seed in range(8):
        tree = SapwoodTreeClassifier(criterion="gain_ratio", max_features=1, random_state=seed)
        assert tree.fit(X, [0, 1, 0, 1]).score(X, [0, 1, 0, 1]) == 1.0
