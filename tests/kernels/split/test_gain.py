"""The formulas of leaf value and gain, by hand and by search (X1, X2)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.split import gain

NUMBERS = st.floats(-100, 100)
POSITIVE = st.floats(0.01, 100)


def make_params(**chosen) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | chosen)


def objective(g, h, value, reg_lambda, reg_alpha):
    """X1, without γ: what a leaf of ``value`` adds."""
    return g * value + 0.5 * (h + reg_lambda) * value * value + reg_alpha * abs(value)


@pytest.mark.parametrize(
    ("g", "alpha", "expected"), [(3.0, 1.0, 2.0), (-3.0, 1.0, -2.0), (0.5, 1.0, 0.0), (-1.0, 1.0, 0.0), (2.0, 0.0, 2.0)]
)
def test_soft_thresholding_moves_toward_zero_and_stops_there(g, alpha, expected):
    assert gain.soft_threshold(g, alpha) == expected


def test_the_value_of_a_leaf_by_hand():
    assert gain.leaf_value(6.0, 2.0, make_params(reg_lambda=1.0)) == -2.0
    assert gain.leaf_value(6.0, 2.0, make_params(reg_lambda=1.0, reg_alpha=3.0)) == -1.0
    assert gain.leaf_value(6.0, 2.0, make_params(reg_lambda=1.0, max_delta_step=0.5)) == -0.5
    assert gain.leaf_value(-6.0, 2.0, make_params(reg_lambda=1.0, max_delta_step=0.5)) == 0.5


def test_the_value_of_a_leaf_without_curvature_is_zero():
    assert gain.leaf_value(6.0, 0.0, make_params()) == 0.0


@given(NUMBERS, POSITIVE, st.floats(0, 5), st.floats(0, 5), st.sampled_from([0.0, 0.7]), st.floats(-5, 5))
def test_no_other_value_within_the_step_is_better(g, h, reg_lambda, reg_alpha, step, other):
    params = make_params(reg_lambda=reg_lambda, reg_alpha=reg_alpha, max_delta_step=step)
    best = gain.leaf_value(g, h, params)
    if step:
        assert abs(best) <= step
        other = min(max(other, -step), step)
    lowest = objective(g, h, best, reg_lambda, reg_alpha)
    assert lowest <= objective(g, h, other, reg_lambda, reg_alpha) + 1e-9


@given(NUMBERS, POSITIVE, NUMBERS, st.floats(0, 5), st.floats(0, 5))
def test_a_score_is_twice_the_decrease_of_the_objective(g, h, value, reg_lambda, reg_alpha):
    score = gain.value_score(g, h, value, make_params(reg_lambda=reg_lambda, reg_alpha=reg_alpha))
    assert score == pytest.approx(-2 * objective(g, h, value, reg_lambda, reg_alpha), rel=1e-9, abs=1e-9)


@given(NUMBERS, POSITIVE, st.floats(0, 5))
def test_the_l2_score_is_that_of_the_best_value(g, h, reg_lambda):
    params = make_params(reg_lambda=reg_lambda)
    best = gain.value_score(g, h, gain.leaf_value(g, h, params), params)
    assert gain.l2_score(g, h, reg_lambda) == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("other", [{"reg_alpha": 0.1}, {"max_delta_step": 1.0}, {"has_monotone": 1}])
def test_anything_but_lambda_needs_more_than_the_l2_score(other):
    assert gain.is_l2_only(make_params(reg_lambda=3.0))
    assert not gain.is_l2_only(make_params(**other))


def test_the_gain_is_half_of_what_the_scores_add_less_gamma():
    assert gain.split_gain(10.0, 4.0, 0.5) == 2.5


def test_a_gain_may_be_negative():
    assert gain.split_gain(10.0, 9.0, 2.0) == -1.5


def test_what_is_only_rounding_is_no_gain():
    assert gain.split_gain(np.nextafter(5.0, 6.0), 5.0, 0.0) == 0.0
    assert gain.split_gain(4.0, 5.0, 0.0) == 0.0


@pytest.mark.parametrize(("value", "expected"), [(-5.0, -1.0), (0.5, 0.5), (9.0, 2.0)])
def test_a_value_is_moved_between_its_bounds(value, expected):
    assert gain.clip_value(value, -1.0, 2.0) == expected
