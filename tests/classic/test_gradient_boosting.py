"""Friedman's machine: against scikit-learn's, by hand, and over models that are not trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier as ScikitClassifier
from sklearn.ensemble import GradientBoostingRegressor as ScikitRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from sapwood.classic import GradientBoostingClassifier, GradientBoostingRegressor, SignRegressor
from sapwood.errors import ParameterError
from sapwood.objectives import Quantile


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    return X, X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.1 * rng.normal(size=400)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_squared_error_equals_scikit_learn(table, depth):
    """A2: least-squares trees with the mean of each leaf."""
    X, y = table
    theirs = ScikitRegressor(max_depth=depth, n_estimators=40).fit(X, y)
    ours = GradientBoostingRegressor(DecisionTreeRegressor(max_depth=depth), n_estimators=40).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_logistic_loss_equals_scikit_learn(table, depth):
    """A2: one Newton step per leaf."""
    X, y = table[0], (table[1] > 0.0).astype(int)
    theirs = ScikitClassifier(max_depth=depth, n_estimators=40).fit(X, y)
    ours = GradientBoostingClassifier(DecisionTreeRegressor(max_depth=depth), n_estimators=40).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-6)


def test_absolute_error_has_the_training_loss_of_scikit_learn():
    """A2: the median of each leaf; random weights make ties between splits, and medians between two rows, unlikely."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(2000, 4)), rng.uniform(0.5, 1.5, 2000)
    y = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.1 * rng.normal(size=2000)
    theirs = ScikitRegressor(loss="absolute_error", n_estimators=20, random_state=0).fit(X, y, sample_weight=weight)
    ours = GradientBoostingRegressor(loss="absolute", n_estimators=20, random_state=0).fit(X, y, sample_weight=weight)
    losses = [np.average(np.abs(y - model.predict(X)), weights=weight) for model in (ours, theirs)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)


def test_two_rounds_by_hand():
    """A7: f_k fits y - F_{k-1}; F_0 = 3, the stump of round 1 has the leaves -2 and 2, each halved by the rate."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 2.0, 4.0, 6.0])
    model = GradientBoostingRegressor(DecisionTreeRegressor(max_depth=1), n_estimators=2, learning_rate=0.5).fit(X, y)
    first, second = model.staged_predict(X)
    np.testing.assert_array_equal(first, [2.0, 2.0, 4.0, 4.0])
    # Residuals -2, 0, 0, 2: the splits x <= 0.5 and x <= 2.5 tie; one row moves by 2/2, three by 2/3/2.
    np.testing.assert_allclose(sorted(np.abs(second - first)), [1 / 3, 1 / 3, 1 / 3, 1.0])


@pytest.mark.parametrize(
    "base", [SVR(), KNeighborsRegressor(), LinearRegression()], ids=lambda base: type(base).__name__
)
def test_any_regressor_can_be_boosted(table, base):
    """A3: the step is found by line search, so the training loss never rises."""
    X, y = table
    model = GradientBoostingRegressor(base, n_estimators=8).fit(X, y)
    assert all(later <= earlier for earlier, later in zip(model.train_loss_, model.train_loss_[1:], strict=False))
    assert model.train_loss_[-1] < model.train_loss_[0]


def test_a_line_search_on_squared_error_takes_the_least_squares_step(table):
    X, y = table
    model = GradientBoostingRegressor(KNeighborsRegressor(3), n_estimators=1, learning_rate=1.0).fit(X, y)
    direction, residual = KNeighborsRegressor(3).fit(X, y - y.mean()).predict(X), y - y.mean()
    assert model.stages_[0].steps[0] == pytest.approx(direction @ residual / (direction @ direction), rel=1e-6)


def test_a_linear_start_extrapolates_and_trees_alone_do_not():
    """A3: trees on y - b_0(x)."""
    x = np.linspace(0.0, 10.0, 200)[:, None]
    y = 3.0 * x[:, 0] + np.sin(3.0 * x[:, 0])
    far = np.array([[20.0]])
    with_line = GradientBoostingRegressor(init=LinearRegression()).fit(x, y).predict(far)[0]
    assert with_line == pytest.approx(60.0, abs=2.0)
    assert GradientBoostingRegressor().fit(x, y).predict(far)[0] < 33.0


def test_a_classifier_can_be_the_start(table):
    X, y = table[0], (table[1] > 0.0).astype(int)
    start = LogisticRegression().fit(X, y)
    model = GradientBoostingClassifier(init=LogisticRegression(), n_estimators=1, learning_rate=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), start.predict_proba(X), atol=1e-6)


def test_quantile_leaves_are_quantiles():
    X, y = np.array([[0.0]] * 5 + [[1.0]] * 5), np.arange(10.0)
    model = GradientBoostingRegressor(loss=Quantile(0.5), n_estimators=1, learning_rate=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [2.0, 7.0])


def test_early_stopping_keeps_the_best_round(table):
    X, y = table
    model = GradientBoostingRegressor(n_estimators=300, learning_rate=0.5, early_stopping_rounds=5, random_state=3)
    model.fit(X, y)
    best = int(np.argmin(model.validation_loss_))
    assert model.n_iter_ == best + 1 < 300
    assert len(model.validation_loss_) == best + 6


def test_subsampling_depends_on_the_seed_alone(table):
    X, y = table
    model = GradientBoostingRegressor(n_estimators=5, subsample=0.5, random_state=1)
    first, again = model.fit(X, y).predict(X), clone(model).fit(X, y).predict(X)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, clone(model).set_params(random_state=2).fit(X, y).predict(X))


def test_three_classes_and_text_labels(table):
    X = table[0]
    y = np.array(["low", "mid", "top"])[np.digitize(table[1], [-0.5, 0.5])]
    model = GradientBoostingClassifier(n_estimators=40).fit(X, y)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"step": "leaves"}, "step must be one of 'auto', 'leaf', 'line', 'none', got 'leaves'"),
        ({"step": "leaf", "base": LinearRegression()}, "not supported with base=LinearRegression, which is not a tree"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1, got 0"),
        ({"subsample": 1.5}, "subsample must be above 0 and at most 1, got 1.5"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0, got 0.0"),
        ({"base": "tree"}, "base must be a regressor with fit and predict, got 'tree'"),
        ({"loss": "squard"}, "squared"),
    ],
)
def test_wrong_parameters_are_named(table, params, message):
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(**params).fit(*table)


def test_weights_need_a_base_that_takes_them(table):
    X, y = table
    with pytest.raises(ParameterError, match="sample_weight is not supported with base=KNeighborsRegressor"):
        GradientBoostingRegressor(KNeighborsRegressor()).fit(X, y, sample_weight=np.ones(len(y)))


@parametrize_with_checks(
    [
        GradientBoostingRegressor(n_estimators=5, random_state=0),
        GradientBoostingClassifier(n_estimators=5, random_state=0),
        SignRegressor(DecisionTreeClassifier(max_depth=1, random_state=0)),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
