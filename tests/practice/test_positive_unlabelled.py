"""Learning from positive and unlabelled rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

from sapwood import SapwoodClassifier
from sapwood.errors import InputError
from sapwood.practice import PositiveUnlabelled

TREES = SapwoodClassifier(n_estimators=40, random_state=0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    is_positive = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=3000) > 0.8
    return X, is_positive, is_positive & (rng.random(3000) < 0.4)


def test_it_is_better_than_taking_unlabelled_rows_for_negatives(table):
    """U5."""
    X, is_positive, is_labelled = table
    naive = SapwoodClassifier(n_estimators=40, random_state=0).fit(X[:2000], is_labelled[:2000])
    model = PositiveUnlabelled(TREES).fit(X[:2000], is_labelled[:2000])
    test = X[2000:], is_positive[2000:]
    assert log_loss(test[1], model.predict_proba(test[0])) < 0.5 * log_loss(test[1], naive.predict_proba(test[0]))
    assert model.score(*test) > naive.score(*test) + 0.1


def test_the_fraction_of_labelled_positives_is_estimated(table):
    assert PositiveUnlabelled(TREES).fit(table[0], table[2]).label_frequency_ == pytest.approx(0.4, abs=0.05)


def test_a_real_table():
    """U5: breast cancer, 30 % of the benign rows labelled."""
    X, y = load_breast_cancer(return_X_y=True)
    is_labelled = (y == 1) & (np.random.default_rng(0).random(len(y)) < 0.3)
    naive = SapwoodClassifier(n_estimators=40, random_state=0).fit(X[::2], is_labelled[::2])
    model = PositiveUnlabelled(TREES).fit(X[::2], is_labelled[::2])
    assert model.score(X[1::2], y[1::2]) > naive.score(X[1::2], y[1::2])


@pytest.mark.parametrize(
    ("y", "message"),
    [([0, 1, 2, 0], "y has the values"), ([1, 1, 1, 1], "both are needed"), ([0, 0, -1, 0], "both are needed")],
)
def test_wrong_labels_are_errors(y, message):
    with pytest.raises(InputError, match=message):
        PositiveUnlabelled(TREES).fit(np.zeros((4, 1)), y)
