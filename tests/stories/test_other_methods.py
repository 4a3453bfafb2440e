"""Naive Bayes, support vector machines, logistic regression, Gaussian mixtures, clustering, calibration with Sapwood.

The compositions of docs/composition.md, and what each of them gains.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from sapwood import SapwoodAdaBoostClassifier, SapwoodClassifier, SapwoodRegressor, SapwoodTreeClassifier
from sapwood.classic import GradientBoostingRegressor

QUICK = {"n_estimators": 25, "effort": "fast"}


@pytest.fixture(scope="module")
def trend():
    """A linear trend in the first column and a step in the second; the second half of the rows is beyond the first."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (600, 3))
    X[300:, 0] += 2.0
    score = 2.0 * X[:, 0] + 2.0 * (X[:, 1] > 0.3) - 1.0
    return (
        X,
        score + 0.1 * rng.normal(size=600),
        (rng.uniform(size=600) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(int),
    )


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(600, noise=0.3, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


def test_trees_on_top_of_logistic_regression_follow_a_trend_beyond_the_training_rows(trend):
    """U6: logistic regression as b_0."""
    X, _, y = trend
    plain = SapwoodClassifier(**QUICK).fit(X[:300], y[:300])
    on_top = SapwoodClassifier(init=LogisticRegression(), **QUICK).fit(X[:300], y[:300])
    losses = [log_loss(y[300:], model.predict_proba(X[300:])[:, 1]) for model in (plain, on_top)]
    assert losses[1] < 0.8 * losses[0]


def test_trees_on_top_of_linear_regression_follow_a_trend_beyond_the_training_rows(trend):
    """U6: linear regression as b_0."""
    X, y, _ = trend
    plain = SapwoodRegressor(**QUICK).fit(X[:300], y[:300])
    on_top = SapwoodRegressor(init=LinearRegression(), **QUICK).fit(X[:300], y[:300])
    errors = [np.mean((model.predict(X[300:]) - y[300:]) ** 2) for model in (plain, on_top)]
    assert errors[1] < 0.2 * errors[0]


def test_logistic_regression_stacks_trees_and_support_vectors(moons):
    """U6: SVM by its decision function beside trees, logistic regression above them."""
    X, y, X_test, y_test = moons
    members = [("trees", SapwoodClassifier(**QUICK)), ("machine", make_pipeline(StandardScaler(), SVC()))]
    stack = StackingClassifier(members, LogisticRegression(), cv=3).fit(X, y)
    assert stack.final_estimator_.coef_.shape == (1, 2)
    assert (stack.final_estimator_.coef_ > 0.0).all()
    alone = clone(members[0][1]).fit(X, y)
    assert log_loss(y_test, stack.predict_proba(X_test)) < log_loss(y_test, alone.predict_proba(X_test))


def test_support_vector_regression_is_a_base_model_of_gradient_boosting(moons):
    """U6: SVM as base learner; ten rounds fit better than one machine of the same settings."""
    X, _, X_test, _ = moons
    y, y_test = (np.sin(3.0 * rows[:, 0]) * rows[:, 1] for rows in (X, X_test))
    boosted = GradientBoostingRegressor(SVR(C=0.1), n_estimators=10, learning_rate=0.5).fit(X, y)
    alone = SVR(C=0.1).fit(X, y)
    errors = [np.mean((model.predict(X_test) - y_test) ** 2) for model in (boosted, alone)]
    assert errors[0] < 0.7 * errors[1]


def test_naive_bayes_votes_with_trees(moons):
    """U6: naive Bayes in a vote: the mean probability has a smaller loss than that of either."""
    X, y, X_test, y_test = moons
    vote = VotingClassifier([("trees", SapwoodClassifier(**QUICK)), ("bayes", GaussianNB())], voting="soft").fit(X, y)
    losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (vote, *vote.estimators_)]
    assert losses[0] < min(losses[1:])


def test_naive_bayes_is_a_base_model_of_adaboost_and_a_start_of_boosting(moons):
    """U6: naive Bayes as base learner and as b_0."""
    X, y, X_test, y_test = moons
    alone = GaussianNB().fit(X, y)
    boosted = SapwoodAdaBoostClassifier(GaussianNB(), n_estimators=20).fit(X, y)
    assert boosted.score(X, y) >= alone.score(X, y)
    on_top = SapwoodClassifier(init=GaussianNB(), **QUICK).fit(X, y)
    losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (on_top, alone)]
    assert losses[0] < losses[1]


class MixtureColumns(TransformerMixin, BaseEstimator):
    """The memberships of a mixture and its log-density as columns."""

    def __init__(self, mixture):
        self.mixture = mixture

    def fit(self, X, y=None):
        self.mixture_ = clone(self.mixture).fit(X)
        return self

    def transform(self, X):
        return np.column_stack([self.mixture_.predict_proba(X), self.mixture_.score_samples(X)])


def test_memberships_of_a_mixture_are_columns_of_trees():
    """U6: Gaussian mixtures; the class is that of a component, which two splits on a membership find."""
    rng = np.random.default_rng(1)
    component = rng.integers(0, 3, 400)
    X = rng.normal(size=(400, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]]) + np.array([[0, 0], [1, 3], [3, 1]])[component]
    tree = SapwoodTreeClassifier(max_leaf_nodes=3)
    mixed = make_pipeline(MixtureColumns(GaussianMixture(3, random_state=0)), clone(tree)).fit(X[:200], component[:200])
    plain = clone(tree).fit(X[:200], component[:200])
    assert mixed.score(X[200:], component[200:]) > plain.score(X[200:], component[200:])
    boosted = make_pipeline(
        make_union(FunctionTransformer(), MixtureColumns(GaussianMixture(3, random_state=0))),
        SapwoodClassifier(**QUICK),
    ).fit(X[:200], component[:200])
    assert boosted.score(X[200:], component[200:]) > 0.9


def test_distances_from_clusters_are_columns_of_trees():
    """U6: k-means; the class is the nearest of five points, which thresholds of coordinates approximate only."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(5, 2)) * 3.0
    nearest = rng.integers(0, 5, 500)
    X = centres[nearest] + 0.8 * rng.normal(size=(500, 2))
    y = np.argmin(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
    distances = KMeans(5, n_init=5, random_state=0)
    with_distances = make_pipeline(make_union(FunctionTransformer(), distances), SapwoodClassifier(**QUICK))
    with_distances.fit(X[:150], y[:150])
    plain = SapwoodClassifier(**QUICK).fit(X[:150], y[:150])
    assert with_distances.score(X[150:], y[150:]) > plain.score(X[150:], y[150:])


def test_clusters_are_groups_that_validation_does_not_divide():
    """U6: clustering; rows of one cluster are all in training or all in validation."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(30, 2)), 10, axis=0) + 0.01 * rng.normal(size=(300, 2))
    y = np.repeat(rng.normal(size=30), 10)  # a value per cluster, without relation to its place
    clusters = KMeans(30, n_init=3, random_state=0).fit_predict(X)
    settings = {"early_stopping_rounds": 5, "validation_fraction": 0.3, "n_estimators": 200, "random_state": 0}
    careful = SapwoodRegressor(min_child_samples=2, **settings).fit(X, y, groups=clusters)
    careless = SapwoodRegressor(min_child_samples=2, **settings).fit(X, y)
    assert careful.best_score_ > 3.0 * careless.best_score_  # neighbours in validation make any model look good


def test_calibration_restores_probabilities_after_class_weights():
    """U6: calibration."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 4))
    y = (rng.uniform(size=2000) < 1.0 / (1.0 + np.exp(3.0 - X[:, 0] - X[:, 1]))).astype(int)
    weighted = SapwoodClassifier(class_weight="balanced", **QUICK)
    calibrated = CalibratedClassifierCV(clone(weighted), method="sigmoid", cv=3).fit(X[:1000], y[:1000])
    weighted.fit(X[:1000], y[:1000])
    scores = [brier_score_loss(y[1000:], model.predict_proba(X[1000:])[:, 1]) for model in (calibrated, weighted)]
    assert scores[0] < 0.8 * scores[1]
    assert calibrated.predict_proba(X[1000:])[:, 1].mean() == pytest.approx(y[1000:].mean(), abs=0.03)
