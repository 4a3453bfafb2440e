"""Plots of importances."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.errors import ParameterError
from tests.plot.test_plot import texts


def test_bars_are_sorted_and_labeled(people):
    model = people[2]
    ax = sapwood.plot.importance(model, "weight")
    expected = model.importance("weight").items()
    assert [bar.get_width() for bar in ax.patches] == [value for _, value in expected]
    assert ax.get_yticklabels()[0].get_text() == expected[0][0]


def test_many_columns_are_summed_in_one_bar():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2000))
    model = sapwood.SapwoodRegressor(n_estimators=3).fit(X, X[:, 7] + 0.1 * rng.normal(size=300))
    ax = sapwood.plot.importance(model, max_features=10)
    assert len(ax.patches) == 11
    assert "1990 more, together" in texts(ax)
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(model.importance().sum())


@pytest.mark.filterwarnings("ignore::sapwood.errors.NoSplitWarning")
def test_a_model_without_splits_has_bars_of_zero():
    model = sapwood.SapwoodRegressor(n_estimators=2).fit(np.zeros((50, 3)), np.arange(50.0))
    assert [bar.get_width() for bar in sapwood.plot.importance(model).patches] == [0.0, 0.0, 0.0]


def test_standard_errors_are_drawn(houses):
    X, y, model = houses
    table = model.importance("permutation", X, y)
    ax = sapwood.plot.importance(model, "permutation", X, y)
    order = np.argsort(-np.asarray(table))
    lines = [segment for bars in ax.containers for segment in bars.get_children() if hasattr(segment, "get_segments")]
    drawn = [(end[0] - start[0]) / 2 for start, end in lines[0].get_segments()]
    np.testing.assert_allclose(drawn, table.errors[order])
    assert texts(sapwood.plot.importance(table)) == texts(ax)


def test_a_wrong_number_of_features_is_refused(people):
    with pytest.raises(ParameterError, match="max_features must be a positive integer, got 0"):
        sapwood.plot.importance(people[2], max_features=0)
