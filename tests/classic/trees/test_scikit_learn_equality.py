"""Trees against scikit-learn's: structure, thresholds, predictions, pruning, importances."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification, make_friedman1
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from sapwood.classic import SapwoodTreeClassifier, SapwoodTreeRegressor

CLASS_CRITERIA, NUMBER_CRITERIA = ("gini", "entropy"), ("squared_error", "absolute_error")


def _table(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows that float32 holds exactly, targets and random weights.

    With such weights two splits tie only if they divide the rows alike, which continuous columns and a few rows per
    leaf exclude. Sums of the weights are exact, so that pure nodes have an impurity of 0 in both libraries.
    """
    rng = np.random.default_rng(7)
    if name == "informative":
        X, y = make_classification(400, 6, n_informative=5, n_redundant=0, random_state=0)
    elif name == "three classes":
        X, y = make_classification(300, 5, n_informative=5, n_redundant=0, n_classes=3, random_state=1)
    elif name == "one column":
        X = rng.normal(size=(300, 1))
        y = (np.sin(4.0 * X[:, 0]) + 0.3 * rng.normal(size=300) > 0.0).astype(int)
    elif name == "friedman":
        X, y = make_friedman1(300, 6, random_state=0)
    elif name == "steps":
        X = rng.normal(size=(300, 2))
        y = np.round(3.0 * X[:, 0]) + rng.normal(size=300)
    else:
        X, y = {"breast cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}[name](
            return_X_y=True
        )
        X = X + rng.normal(size=X.shape) * X.std(axis=0)
    return X.astype(np.float32).astype(np.float64), y, rng.integers(512, 2048, len(y)) / 1024.0


def _assert_equal(ours, theirs, node: int = 0, other: int = 0) -> int:
    """Compare the subtrees of two nodes; return the number of compared splits."""
    mine, tree = ours.tree_.nodes[node], theirs.tree_
    assert mine.count == tree.n_node_samples[other]
    assert mine.impurity == pytest.approx(tree.impurity[other], rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(mine.value, tree.value[other, 0], rtol=1e-12)
    left = tree.children_left[other]
    assert mine.is_leaf == (left < 0)
    if mine.is_leaf:
        return 0
    assert (mine.split.feature, mine.split.threshold) == (tree.feature[other], tree.threshold[other])
    right = tree.children_right[other]
    return (
        1 + _assert_equal(ours, theirs, mine.children[0], left) + _assert_equal(ours, theirs, mine.children[1], right)
    )


LIMITS = [
    {"min_samples_leaf": 8},
    {"max_depth": 4, "min_samples_leaf": 6},
    {"max_leaf_nodes": 9, "min_samples_leaf": 8},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
@pytest.mark.parametrize("name", ["informative", "three classes", "one column", "breast cancer", "wine"])
def test_a_classification_tree_equals_that_of_scikit_learn(name, criterion, limits):
    """T1: structure, thresholds, impurities, probabilities, importances."""
    X, y, weight = _table(name)
    ours = SapwoodTreeClassifier(criterion=criterion, **limits).fit(X, y, weight)
    theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y, weight)
    assert _assert_equal(ours, theirs) >= 3
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-14)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
@pytest.mark.parametrize("name", ["friedman", "steps", "diabetes", "one column", "informative"])
def test_a_regression_tree_equals_that_of_scikit_learn(name, criterion, limits):
    """T1: structure, thresholds, impurities, values; targets that are not 0 and 1."""
    X, y, weight = _table(name)
    y = y + np.random.default_rng(1).normal(size=len(y))
    ours = SapwoodTreeRegressor(criterion=criterion, **limits).fit(X, y, weight)
    theirs = DecisionTreeRegressor(criterion=criterion, random_state=0, **limits).fit(X, y, weight)
    assert _assert_equal(ours, theirs) >= 3
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("estimators", [(SapwoodTreeClassifier, DecisionTreeClassifier, "informative"),
                                        (SapwoodTreeClassifier, DecisionTreeClassifier, "three classes"),
                                        (SapwoodTreeRegressor, DecisionTreeRegressor, "friedman")])  # fmt: skip
def test_missing_values_go_to_the_sides_that_scikit_learn_chooses(estimators):
    Ours, Theirs, name = estimators
    X, y, weight = _table(name)
    X[np.random.default_rng(3).uniform(size=X.shape) < 0.1] = np.nan
    ours = Ours(min_samples_leaf=8).fit(X, y, weight)
    theirs = Theirs(min_samples_leaf=8, random_state=0).fit(X, y, weight)
    assert _assert_equal(ours, theirs) >= 3
    for node, left, right in zip(
        ours.tree_.nodes, theirs.tree_.children_left, theirs.tree_.children_right, strict=True
    ):
        assert node.children == ((left, right) if left >= 0 else ())
    expected = theirs.tree_.missing_go_to_left.astype(bool).tolist()
    assert [node.split.missing_left for node in ours.tree_.nodes if not node.is_leaf] == [
        side for side, node in zip(expected, ours.tree_.nodes, strict=True) if not node.is_leaf
    ]
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


@pytest.mark.parametrize("name", ["informative", "three classes", "breast cancer"])
@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
def test_the_pruning_path_of_a_classifier_equals_that_of_scikit_learn(name, criterion):
    """T1: pruning."""
    X, y, weight = _table(name)
    ours = SapwoodTreeClassifier(criterion=criterion, min_samples_leaf=5)
    theirs = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=5, random_state=0)
    path, expected = (model.cost_complexity_pruning_path(X, y, weight) for model in (ours, theirs))
    np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path.impurities, expected.impurities, atol=1e-12)
    alpha = float(expected.ccp_alphas[len(expected.ccp_alphas) // 2]) * 1.001
    ours, theirs = (model.set_params(ccp_alpha=alpha).fit(X, y, weight) for model in (ours, theirs))
    assert _assert_equal(ours, theirs) >= 1


@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
def test_the_pruning_path_of_a_regressor_equals_that_of_scikit_learn(criterion):
    X, y, weight = _table("friedman")
    ours = SapwoodTreeRegressor(criterion=criterion, min_samples_leaf=5)
    theirs = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=5, random_state=0)
    path, expected = (model.cost_complexity_pruning_path(X, y, weight) for model in (ours, theirs))
    np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path.impurities, expected.impurities, atol=1e-10)


def test_limits_are_read_as_scikit_learn_reads_them():
    X, y, weight = _table("informative")
    for limits in (
        {"min_samples_leaf": 0.05},
        {"min_samples_split": 0.2, "min_samples_leaf": 8},
        {"min_weight_fraction_leaf": 0.04},
        {"min_impurity_decrease": 0.01, "min_samples_leaf": 8},
        {"class_weight": {0: 3.0}, "min_samples_leaf": 8},
    ):
        ours = SapwoodTreeClassifier(**limits).fit(X, y, weight)
        assert _assert_equal(ours, DecisionTreeClassifier(random_state=0, **limits).fit(X, y, weight)) >= 2


def test_the_arrays_of_a_tree_have_the_names_and_values_of_scikit_learn():
    X, y, weight = _table("informative")
    ours = SapwoodTreeClassifier(min_samples_leaf=8).fit(X, y, weight).tree_
    theirs = DecisionTreeClassifier(min_samples_leaf=8, random_state=0).fit(X, y, weight).tree_
    for name in (
        "feature",
        "threshold",
        "children_left",
        "children_right",
        "n_node_samples",
        "weighted_n_node_samples",
    ):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_allclose(ours.impurity, theirs.impurity, atol=1e-12)
    assert (ours.node_count, ours.max_depth, ours.n_leaves) == (theirs.node_count, theirs.max_depth, theirs.n_leaves)
    branches = SapwoodTreeClassifier(criterion="entropy").fit([["a"], ["b"], ["c"]], [0, 1, 2]).tree_
    with pytest.raises(AttributeError, match="of the kind CategoryBranches"):
        branches.feature  # noqa: B018
    with pytest.raises(AttributeError, match="has 3 children"):
        branches.children_left  # noqa: B018


def test_decision_paths_and_leaves_have_the_numbers_of_scikit_learn():
    X, y, weight = _table("friedman")
    ours = SapwoodTreeRegressor(min_samples_leaf=8).fit(X, y, weight)
    theirs = DecisionTreeRegressor(min_samples_leaf=8, random_state=0).fit(X, y, weight)
    np.testing.assert_array_equal(ours.decision_path(X).toarray(), theirs.decision_path(X).toarray())
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


@parametrize_with_checks([
    SapwoodTreeClassifier(), SapwoodTreeRegressor(), SapwoodTreeRegressor(criterion="absolute_error", oblique=True),
    SapwoodTreeClassifier(criterion="gain_ratio", missing="fractional"),
])  # fmt: skip
def test_scikit_learn_checks(estimator, check):
    check(estimator)
