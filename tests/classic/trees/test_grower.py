"""Growth of single trees: the same bits everywhere, properties of their nodes, use inside ensembles."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from sapwood import SapwoodAdaBoostClassifier
from sapwood.classic import GradientBoostingRegressor, SapwoodTreeClassifier, SapwoodTreeRegressor
from tests.processes import PYTHONPATH

KINDS = {
    "gini": SapwoodTreeClassifier(min_samples_leaf=3),
    "C4.5": SapwoodTreeClassifier(criterion="gain_ratio", missing="fractional", min_samples_leaf=3),
    "squared error": SapwoodTreeRegressor(max_leaf_nodes=12),
    "absolute error": SapwoodTreeRegressor(criterion="absolute_error", max_depth=3, category_splits="multiway"),
    "oblique": SapwoodTreeClassifier(criterion="entropy", oblique=True, max_depth=3),
    "drawn columns": SapwoodTreeRegressor(max_features=2, random_state=3, max_depth=4),
}


def make_table(n_rows: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc"))
    X["d"] = rng.choice(["x", "y", "z"], n_rows)
    X = X.mask(rng.uniform(size=X.shape) < 0.08)
    return X, np.round(X.a.fillna(0.0) + (X.d == "x") + rng.normal(size=n_rows))


def digest_of(kind: str) -> str:
    """Return a digest of all that decides the predictions of a tree."""
    X, y = make_table()
    model = KINDS[kind]
    tree = model.fit(X, y > 0.0 if isinstance(model, SapwoodTreeClassifier) else y).tree_
    text = "".join(f"{node.split}{node.children}{node.shares}" for node in tree.nodes)
    return hashlib.sha256(text.encode() + tree.values.tobytes()).hexdigest()


@pytest.mark.parametrize("environment", [{"SAPWOOD_KERNELS": "python"}, {"SAPWOOD_TEAM": "8"}], ids=str)
def test_trees_have_the_same_bits_with_interpreted_kernels_and_with_many_threads(environment):
    code = f"from tests.classic.trees.test_grower import digest_of\nfor kind in {list(KINDS)}: print(digest_of(kind))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": f"{PYTHONPATH}{os.pathsep}{os.getcwd()}"} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest_of(kind) for kind in KINDS]


def test_two_fits_at_the_same_time_do_not_disturb_each_other():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 5)), rng.normal(size=3000)

    def fit(_):
        return SapwoodTreeRegressor(min_samples_leaf=5).fit(X, y).model_.fingerprint()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(fit, range(8)))) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_split_decreases_the_loss_by_what_it_says(kind):
    X, y = make_table()
    model = KINDS[kind]
    tree = model.fit(X, y > 0.0 if isinstance(model, SapwoodTreeClassifier) else y).tree_
    for node in tree.nodes:
        if node.is_leaf:
            continue
        children = [tree.nodes[child] for child in node.children]
        assert sum(child.weight for child in children) == pytest.approx(node.weight)
        assert sum(node.shares) == pytest.approx(1.0)
        if not tree.is_fractional:
            assert sum(child.count for child in children) == node.count
            assert node.decrease == pytest.approx(node.loss - sum(child.loss for child in children), abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=25), st.randoms()
)
@settings(max_examples=40, deadline=None)
def test_a_tree_of_counts_does_not_depend_on_the_order_of_rows(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)

    def fit(table):
        return SapwoodTreeClassifier().fit([row[:2] for row in table], [row[2] for row in table])

    assert fit(rows).model_.fingerprint() == fit(shuffled).model_.fingerprint()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=20))
@settings(max_examples=40, deadline=None)
def test_a_row_of_weight_k_is_k_rows(rows):
    """Of those that limits do not count; a target of integers has exact sums."""
    weight = np.array([row[2] for row in rows], dtype=float)
    X, y = [[float(row[0])] for row in rows], [float(row[1]) for row in rows]
    if not weight.any():
        return
    repeated = np.repeat(np.arange(len(rows)), weight.astype(int))
    by_weight = SapwoodTreeRegressor().fit(X, y, weight)
    by_rows = SapwoodTreeRegressor().fit(np.array(X)[repeated], np.array(y)[repeated])
    np.testing.assert_array_equal(by_weight.predict(X), by_rows.predict(X))


def test_trees_are_base_models_of_boosting_and_bagging():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * X[:, 1]
    ours = GradientBoostingRegressor(SapwoodTreeRegressor(max_depth=2, min_samples_leaf=8), n_estimators=10).fit(X, y)
    theirs = GradientBoostingRegressor(DecisionTreeRegressor(max_depth=2, min_samples_leaf=8), n_estimators=10).fit(
        X, y
    )
    assert ours.train_loss_[-1] < 0.9 * ours.train_loss_[0]
    assert ours.train_loss_[-1] == pytest.approx(theirs.train_loss_[-1], rel=0.05)
    labels = y > 0.0
    boosted = SapwoodAdaBoostClassifier(SapwoodTreeClassifier(max_depth=2), n_estimators=20).fit(X, labels)
    assert boosted.score(X, labels) > SapwoodTreeClassifier(max_depth=2).fit(X, labels).score(X, labels)
    bagged = BaggingClassifier(SapwoodTreeClassifier(max_features=2), n_estimators=5, random_state=0).fit(X, labels)
    assert bagged.score(X, labels) > 0.9


def test_the_price_of_leaves_is_found_by_cross_validation():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0.0) ^ (rng.uniform(size=300) < 0.1)
    path = SapwoodTreeClassifier().cost_complexity_pruning_path(X, y)
    search = GridSearchCV(SapwoodTreeClassifier(), {"ccp_alpha": path.ccp_alphas[::5]}, cv=3).fit(X, y)
    assert search.best_estimator_.get_n_leaves() <= 4
    assert search.best_score_ > 0.8


def test_fractional_parts_of_light_rows_are_kept_beside_heavy_ones():
    X, y = [[0.0], [0.0], [1.0], [1.0], [np.nan], [np.nan]], [0, 0, 1, 1, 1, 0]
    weight = [1e6, 1.0, 1e6, 1.0, 1.0, 1.0]
    root, *children = SapwoodTreeClassifier(missing="fractional", max_depth=1).fit(X, y, weight).tree_.nodes
    assert [child.count for child in children] == [4, 4]
    assert sum(child.weight for child in children) == pytest.approx(root.weight, rel=1e-12)


def test_a_fractional_leaf_of_exactly_the_least_number_of_rows_is_allowed():
    X = np.arange(100.0)[:, None]
    tree = SapwoodTreeClassifier(missing="fractional", min_samples_leaf=7).fit(X, X[:, 0] < 7.0)
    assert [node.count for node in tree.tree_.nodes] == [100, 7, 93]


def test_the_path_of_zero_rows_is_empty():
    tree = SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0])
    assert tree.decision_path(np.empty((0, 1))).shape == (0, 3)
