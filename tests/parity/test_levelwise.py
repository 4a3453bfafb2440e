"""Level-wise trees are XGBoost's and symmetric ones CatBoost's; where bins differ, training losses are near each other.

Libraries choose different edges when a column has more values than bins. Then trees differ, and losses by about as much
as a peer's own when it gets one bin more or less: one or two per cent. On columns of few levels all have the same bins.
"""

from __future__ import annotations

import numpy as np
import pytest
from bench.parity import Data, Settings, levelwise_losses, loss, ranked, symmetric_losses

from tests.parity.real_tables import REAL_TABLES

SETTINGS = Settings(rounds=50, max_depth=5)


def same_bins(data: Data) -> Data:
    return Data(ranked(data.X), data.y, data.binary)


@pytest.mark.parametrize("name", REAL_TABLES)
def test_levelwise_trees_on_the_same_bins_have_the_training_loss_of_xgboost_hist(name):
    pytest.importorskip("xgboost")
    ours, theirs = levelwise_losses(same_bins(REAL_TABLES[name]), SETTINGS)
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_levelwise_trees_on_their_own_bins_have_nearly_the_training_loss_of_xgboost_hist():
    pytest.importorskip("xgboost")
    ours, theirs = levelwise_losses(REAL_TABLES["adult"], SETTINGS)
    assert ours == pytest.approx(theirs, rel=0.005)


def test_symmetric_trees_for_numbers_on_the_same_bins_are_those_of_catboost_plain():
    """C8: squared error has a constant hessian, so both judge cuts by the same score."""
    pytest.importorskip("catboost")
    data = same_bins(REAL_TABLES["diabetes"])
    ours = SETTINGS.sapwood(data, growth="symmetric", precision="wide", min_child_weight=0.0)
    theirs = SETTINGS.catboost(data).predict(data.X)
    np.testing.assert_allclose(ours.predict(data.X), theirs, rtol=1e-6)


@pytest.mark.parametrize("name", ["adult", "breast_cancer"])
def test_symmetric_trees_for_classes_do_not_fit_worse_than_those_of_catboost_plain(name):
    """CatBoost judges cuts of classes by gradients alone; hessians as well lower the training loss a little more."""
    pytest.importorskip("catboost")
    ours, theirs = symmetric_losses(same_bins(REAL_TABLES[name]), SETTINGS)
    assert ours <= theirs * 1.01


def test_the_loss_of_a_constant_is_what_it_should_be():
    data = REAL_TABLES["breast_cancer"]
    assert loss(data, np.zeros(len(data.y))) == pytest.approx(np.log(2.0))
