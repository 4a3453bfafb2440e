"""Plots of partial dependence."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.errors import InputError, ParameterError
from tests.plot.test_plot import texts


def test_the_mean_and_the_curves_of_rows_are_drawn(houses):
    X, _, model = houses
    effect = model.partial_dependence(X, 0, grid=20)
    ax = sapwood.plot.partial_dependence(model, X, "f0", grid=20)
    curves, mean = ax.lines[: len(X)], ax.lines[len(X)]
    np.testing.assert_array_equal(mean.get_ydata(), effect.average)
    np.testing.assert_array_equal([curve.get_ydata() for curve in curves], effect.individual)


def test_large_tables_are_sampled_and_kinds_chosen(houses):
    X, _, model = houses
    assert len(sapwood.plot.partial_dependence(model, X, 0, kind="individual", grid=5, max_rows=30).lines) == 30
    assert len(sapwood.plot.partial_dependence(model.model_, X, 0, kind="average", grid=5).lines) == 1


def test_categories_are_named(people):
    X, _, model = people
    assert "pilot" in texts(sapwood.plot.partial_dependence(model, X, "job", max_rows=50))
    sapwood.plot.partial_dependence(model, X, "age", max_rows=50).figure.canvas.draw()


def test_one_of_several_outputs_is_drawn(letters):
    X, _, model = letters
    ax = sapwood.plot.partial_dependence(model, X, 0, grid=5, max_rows=20, output=3)
    assert ax.get_ylabel() == "score of class number 03"
    with pytest.raises(ParameterError, match="output must be between 0 and 49, got 50"):
        sapwood.plot.partial_dependence(model, X, 0, grid=5, output=50)


def test_wrong_input_is_refused(people):
    X, _, model = people
    with pytest.raises(InputError, match="no column 'wage'"):
        sapwood.plot.partial_dependence(model, X, "wage")
    with pytest.raises(ParameterError, match="draws one feature: call it for each of"):
        sapwood.plot.partial_dependence(model, X, ("age", "job"))
    with pytest.raises(ParameterError, match="kind must be one of 'average', 'individual', 'both', got 'ice'"):
        sapwood.plot.partial_dependence(model, X, "age", kind="ice")
