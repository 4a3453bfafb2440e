"""Self-training with few labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification

from sapwood import SapwoodClassifier
from sapwood.errors import InputError, ParameterError
from sapwood.practice import SelfTraining

TREES = SapwoodClassifier(n_estimators=15, min_child_samples=3, learning_rate=0.2, random_state=0, n_jobs=1)


@pytest.mark.parametrize("name", ["digits", "clusters"])
def test_unlabelled_rows_help_when_5_percent_have_labels(name):
    """U5: better than the labelled rows alone, in the mean over three splits."""
    X, y = load_digits(return_X_y=True) if name == "digits" else clusters()
    gains = []
    for seed in (1, 2, 3):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: len(y) * 2 // 3], order[len(y) * 2 // 3 :]
        n_labelled = len(train) // 20
        few = np.where(np.arange(len(train)) < n_labelled, y[train], -1)
        supervised = clone(TREES).fit(X[train[:n_labelled]], few[:n_labelled])
        model = SelfTraining(TREES, random_state=0).fit(X[train], few)
        assert model.n_used_ == sorted(model.n_used_)
        gains.append(model.score(X[test], y[test]) - supervised.score(X[test], y[test]))
    assert np.mean(gains) > 0.0


def clusters():
    return make_classification(2000, 20, n_informative=8, n_classes=3, random_state=0)


def test_labels_that_were_given_are_kept_and_others_filled():
    X = np.linspace(0.0, 1.0, 200)[:, None]
    y = np.array(["low", "high"], dtype=object)[(X[:, 0] > 0.5).astype(int)]
    hidden = y.copy()
    hidden[np.arange(200) % 4 > 0] = None
    model = SelfTraining(TREES, n_members=2, random_state=0).fit(X, hidden)
    np.testing.assert_array_equal(model.labels_[::4], y[::4])
    assert (model.labels_ == y).mean() > 0.95
    np.testing.assert_array_equal(model.classes_, ["high", "low"])


def test_a_threshold_keeps_doubtful_rows_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), np.where(np.arange(300) < 60, rng.integers(0, 2, 300), -1)
    assert SelfTraining(TREES, threshold=1.0, n_members=2, random_state=0).fit(X, y).n_used_ == [0, 0, 0]


def test_the_model_depends_on_the_seed_alone():
    X, y = clusters()
    y = np.where(np.arange(len(y)) % 20 == 0, y, -1)
    first, again = (SelfTraining(TREES, n_members=2, random_state=4).fit(X, y) for _ in range(2))
    assert first.estimator_.model_.fingerprint() == again.estimator_.model_.fingerprint()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"threshold": 2.0}, "threshold must be between 0 and 1, got 2.0"),
        ({"n_rounds": 0}, "n_rounds must be an integer of at least 1, got 0"),
        ({"n_members": 1.5}, "n_members must be an integer of at least 1, got 1.5"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ParameterError, match=message):
        SelfTraining(TREES, **params).fit(np.zeros((4, 1)), [0, 1, -1, -1])


def test_labels_of_one_class_are_an_error():
    with pytest.raises(InputError, match="labels of 1 class: self-training needs at least two"):
        SelfTraining(TREES).fit(np.zeros((4, 1)), [1, 1, -1, -1])
