"""Plots of Shapley values."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.errors import InputError, InputTypeError, ParameterError
from sapwood.plot.contributions import _ranks, _stack
from tests.plot.test_plot import texts


def test_dots_of_a_beeswarm_are_contributions(people):
    X, _, model = people
    explanation = model.explain(X)
    ax = sapwood.plot.beeswarm(explanation)
    order = np.argsort(-np.abs(explanation.values).mean(axis=0))
    for dots, f in zip(ax.collections, order, strict=False):
        np.testing.assert_array_equal(dots.get_offsets()[:, 0], explanation.values[:, f])
    assert ax.get_yticklabels()[0].get_text() == X.columns[order[0]]
    of_model = sapwood.plot.beeswarm(model.model_, X)
    assert texts(of_model) == texts(ax)


def test_many_features_are_limited(houses):
    X, _, model = houses
    assert len(sapwood.plot.beeswarm(model, X, max_features=2).get_yticklabels()) == 2


def test_bars_of_a_waterfall_lead_from_the_base_to_the_score(people):
    X, _, model = people
    explanation, scores = model.explain(X), model.predict_raw(X)
    ax = sapwood.plot.waterfall(model, X, 5, max_features=2)
    bars = ax.patches
    assert bars[0].get_x() + bars[0].get_width() == pytest.approx(scores[5])
    assert bars[-1].get_x() == pytest.approx(explanation.base_values[5])
    assert [bar.get_width() for bar in bars[:2]] == sorted(explanation.values[5], key=abs, reverse=True)[:2]
    assert "1 other features" in texts(ax)
    assert texts(sapwood.plot.waterfall(explanation[5])).count("Row 0") == 1


def test_dependence_shows_numbers_categories_and_missing_values(people):
    X, _, model = people
    assert "missing (36 rows)" in texts(sapwood.plot.dependence(model, X, "age", color_by="job"))
    by_job = sapwood.plot.dependence(model, X, "job")
    assert "pilot" in texts(by_job)
    assert texts(sapwood.plot.dependence(model, X, -1)).count("a column whose name")


def test_one_of_several_outputs_is_shown(letters):
    X, _, model = letters
    assert "of class number 49" in texts(sapwood.plot.beeswarm(model, X))
    assert "of class number 03" in texts(sapwood.plot.waterfall(model, X, output="class number 03"))
    with pytest.raises(ParameterError, match="output 'other' does not exist; allowed are class number 00"):
        sapwood.plot.beeswarm(model, X, output="other")


def test_wrong_input_is_refused(people):
    X, _, model = people
    with pytest.raises(InputError, match=r"plot.beeswarm explains rows: pass X"):
        sapwood.plot.beeswarm(model)
    with pytest.raises(InputError, match="row 600 does not exist, there are 600 rows"):
        sapwood.plot.waterfall(model, X, 600)
    with pytest.raises(InputError, match="no feature 'wage'; the first are age, job"):
        sapwood.plot.dependence(model, X, "wage")
    with pytest.raises(InputTypeError, match="given by name or number, got None"):
        sapwood.plot.dependence(model, X, None)
    with pytest.raises(ParameterError, match="the model has a single output"):
        sapwood.plot.beeswarm(model, X, output=0)


def test_names_of_shap_are_ours(people):
    for theirs, ours in (("summary_plot", "beeswarm"), ("waterfall_plot", "waterfall"), ("scatter", "dependence")):
        assert getattr(sapwood.plot, theirs) is getattr(sapwood.plot, ours)
    with pytest.raises(AttributeError, match=r"use sapwood.plot.waterfall\(model, X, row\)"):
        _ = sapwood.plot.force_plot


def test_stacked_dots_of_equal_values_lie_on_both_sides():
    offset = _stack(np.zeros(5), 0.0, 1.0)
    assert offset[0] == 0.0
    assert sorted(np.sign(offset)) == [-1, -1, 0, 1, 1]
    assert np.abs(_stack(np.zeros(1000), 0.0, 1.0)).max() < 0.41


def test_ranks_of_values_are_between_0_and_1():
    np.testing.assert_allclose(_ranks(np.array([3.0, 1.0, np.nan, 2.0])), [5 / 6, 1 / 6, np.nan, 0.5])
    np.testing.assert_allclose(_ranks(np.array([2.0, 2.0])), [0.5, 0.5])
