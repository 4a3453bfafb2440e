"""scikit-learn's own checks, with no expected failure."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sapwood import SapwoodClassifier, SapwoodRegressor


@pytest.mark.filterwarnings("ignore:y has one class")  # a constant model
# Leaves of one row: a minimum counts rows, and a row of weight 2 is not two rows, as one of the checks wants.
@parametrize_with_checks([SapwoodClassifier(min_child_samples=1), SapwoodRegressor(min_child_samples=1)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
