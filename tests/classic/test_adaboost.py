"""AdaBoost: by hand, against scikit-learn, and as gradient boosting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sapwood import SapwoodAdaBoostClassifier, SapwoodClassifier
from sapwood.classic import GradientBoostingClassifier, SignRegressor
from sapwood.errors import ParameterError, TrainingError

STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    score = X[:, 0] * X[:, 1] + X[:, 2]
    return X, (score > 0.0).astype(int), np.digitize(score, [-0.7, 0.7])


def test_the_first_round_by_hand():
    """T4: one of five rows is wrong, e = 1/5, a = ln(4) / 2 = ln 2; its weight becomes 1/2, those of the others 1/8."""
    X, y = np.arange(5.0)[:, None], np.array([0, 0, 1, 1, 0])
    model = SapwoodAdaBoostClassifier(STUMP, n_estimators=2).fit(X, y)
    assert model.estimator_errors_[0] == pytest.approx(0.2)
    assert model.estimator_weights_[0] == pytest.approx(math.log(2.0))
    # The second stump separates the last row at the price of the two rows of class 1: e = 2/8.
    assert model.estimator_errors_[1] == pytest.approx(0.25)


def test_the_weight_of_samme_by_hand():
    """T4: three classes, one of four rows wrong: a = ln(3) + ln(2)."""
    X, y = np.array([[0.0], [1.0], [2.0], [2.0]]), np.array([0, 0, 1, 2])
    model = SapwoodAdaBoostClassifier(STUMP, n_estimators=1).fit(X, y)
    assert model.algorithm_ == "SAMME"
    assert model.estimator_weights_[0] == pytest.approx(math.log(6.0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_samme_equals_scikit_learn(table, n_classes):
    """T4."""
    X, y = table[0], table[n_classes - 1]
    theirs = AdaBoostClassifier(STUMP, n_estimators=30).fit(X, y)
    ours = SapwoodAdaBoostClassifier(STUMP, n_estimators=30, algorithm="SAMME").fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)
    for mine, scikit in zip(ours.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, scikit)


def test_discrete_adaboost_is_gradient_boosting_with_the_exponential_loss(table):
    """T4: classifiers with the values -1 and 1, a line search for exp(-yF)."""
    X, y, _ = table
    ada = SapwoodAdaBoostClassifier(STUMP, n_estimators=10).fit(X, y)
    boosting = GradientBoostingClassifier(
        SignRegressor(STUMP), loss="exponential", init=0.0, learning_rate=1.0, n_estimators=10
    ).fit(X, y)
    np.testing.assert_allclose([stage.steps[0] for stage in boosting.stages_], ada.estimator_weights_, atol=1e-6)
    np.testing.assert_allclose(boosting.predict_proba(X), ada.predict_proba(X), atol=1e-6)


def test_newton_steps_on_the_exponential_loss_are_gentle_adaboost(table):
    """T4: the leaf is the weighted mean of y = -1, 1 with the weights exp(-yF); two stumps of the engine."""
    X, y, _ = table
    sign, scores = 2.0 * y - 1.0, np.zeros(len(y))
    model = SapwoodClassifier(
        objective="exponential", init=0.0, n_estimators=2, learning_rate=1.0, max_leaves=2, reg_lambda=0.0,
        min_child_samples=1, min_child_weight=0.0, precision="wide",
    ).fit(X, y)  # fmt: skip
    leaves = model.apply(X)
    for round, raw in enumerate(model.model_.staged_predict_raw(X)):
        weight = np.exp(-sign * scores)
        for leaf in np.unique(leaves[:, round]):
            rows = leaves[:, round] == leaf
            gentle = np.sum(weight[rows] * sign[rows]) / np.sum(weight[rows])
            np.testing.assert_allclose(raw[rows] - scores[rows], gentle, rtol=1e-4)
        scores = raw


def test_any_weighted_classifier_can_be_boosted(table):
    X, y, _ = table
    assert SapwoodAdaBoostClassifier(GaussianNB(), n_estimators=20).fit(X, y).score(X, y) > 0.7


def test_a_perfect_classifier_ends_training():
    X, y = np.arange(6.0)[:, None], np.array(list("aaabbb"))
    model = SapwoodAdaBoostClassifier(STUMP).fit(X, y)
    assert len(model.estimators_) == 1
    np.testing.assert_array_equal(model.predict(X), y)


def test_a_first_classifier_that_guesses_is_an_error():
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    with pytest.raises(TrainingError, match=r"weighted error of 0\.5, no better than guessing"):
        SapwoodAdaBoostClassifier(STUMP).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"algorithm": "real"}, "algorithm must be one of 'auto', 'discrete', 'SAMME', got 'real'"),
        (
            {"base": KNeighborsClassifier()},
            "base=KNeighborsClassifier is not supported: its fit must take sample_weight",
        ),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must be above 0"),
    ],
)
def test_wrong_parameters_are_named(table, params, message):
    with pytest.raises(ParameterError, match=message):
        SapwoodAdaBoostClassifier(**params).fit(table[0], table[1])


def test_the_discrete_algorithm_is_for_two_classes(table):
    with pytest.raises(ParameterError, match="algorithm='discrete' is for two classes, y has 3; use 'SAMME'"):
        SapwoodAdaBoostClassifier(algorithm="discrete").fit(table[0], table[2])


# As for scikit-learn's AdaBoost: removing a row and giving it no weight break ties between splits differently.
EXPECTED = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "sample_weight is not equivalent to removing or repeating rows",
)


@parametrize_with_checks(
    [SapwoodAdaBoostClassifier(n_estimators=5, random_state=0)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
