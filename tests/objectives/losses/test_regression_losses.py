"""Losses for numbers, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood.errors import InputError, ParameterError
from sapwood.objectives import Absolute, Expectile, Huber, LogCosh, Mape, Quantile, Squared
from tests.objectives.loss_examples import pairs_of


def at(loss, y, score):
    """Loss, gradient and hessian of one row."""
    y, scores = np.array([y]), np.full((loss.n_outputs, 1), score)
    pair = pairs_of(loss, y, scores)[0, 0]
    return loss.loss(y, scores)[0], pair[0], pair[1]


@pytest.mark.parametrize(
    ("loss", "y", "score", "expected"),
    [
        (Squared(), 3.0, 1.0, (2.0, -2.0, 1.0)),
        (Absolute(), 3.0, 1.0, (2.0, -1.0, 1.0)),
        (Absolute(), 1.0, 1.0, (0.0, 0.0, 1.0)),
        (Huber(1.0), 3.0, 2.5, (0.125, -0.5, 1.0)),
        (Huber(1.0), 3.0, 1.0, (1.5, -1.0, 2 / 3)),
        (Huber(2.0), 0.0, 8.0, (14.0, 2.0, 0.4)),
        (Quantile(0.75), 3.0, 1.0, (1.5, -0.75, 1.0)),
        (Quantile(0.75), 1.0, 3.0, (0.5, 0.25, 1.0)),
        (Quantile(0.75), 1.0, 1.0, (0.0, 0.0, 1.0)),
        (Expectile(0.75), 3.0, 1.0, (1.5, -1.5, 0.75)),
        (Expectile(0.75), 1.0, 3.0, (0.5, 0.5, 0.25)),
        (LogCosh(), 0.0, 1.0, (math.log(math.cosh(1)), math.tanh(1), math.tanh(1))),
        (LogCosh(), 2.0, 0.0, (math.log(math.cosh(2)), -math.tanh(2), math.tanh(2) / 2)),
        (LogCosh(), 1.0, 1.0, (0.0, 0.0, 1.0)),
        (Mape(), 4.0, 3.0, (0.25, -0.25, 0.25)),
        (Mape(), -0.5, 1.0, (3.0, 2.0, 2.0)),
    ],
    ids=repr,
)
def test_values_by_hand(loss, y, score, expected):
    assert at(loss, y, score) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", [Huber(0.3), Huber(1.0), LogCosh()], ids=repr)
@pytest.mark.parametrize("start", [-40.0, -1.1, 0.2, 2.0, 7.0])
def test_the_parabola_of_a_pair_lies_above_the_loss_so_that_steps_do_not_overshoot(loss, start):
    height, slope, curvature = at(loss, 0.0, start)
    scores = np.linspace(-60.0, 60.0, 241)
    parabola = height + slope * (scores - start) + 0.5 * curvature * (scores - start) ** 2
    assert (parabola >= loss.loss(np.zeros(241), scores[None]) - 1e-4).all()


def test_the_hessian_of_huber_is_a_number_for_the_largest_delta():
    assert at(Huber(1e308), 0.0, 1.5e308)[2] == pytest.approx(0.8)


def test_several_quantiles_have_a_pair_each():
    found = pairs_of(Quantile([0.25, 0.75]), np.array([2.0]), np.array([[1.0], [3.0]]))
    np.testing.assert_array_equal(found, [[[-0.25, 1.0]], [[0.25, 1.0]]])


def test_several_quantiles_average_their_losses():
    loss = Quantile([0.25, 0.75]).loss(np.array([2.0]), np.array([[1.0], [4.0]]))
    assert loss[0] == pytest.approx((0.25 * 1 + 0.25 * 2) / 2)


def test_predicted_quantiles_do_not_cross():
    scores = np.random.default_rng(0).normal(size=(5, 50))
    prediction = Quantile([0.1, 0.3, 0.5, 0.7, 0.9]).link.predict(scores)
    np.testing.assert_array_equal(prediction, np.sort(scores.T, axis=1))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (Squared(), 3.25),
        (Absolute(), 2.0),
        (Quantile(0.25), 1.0),
        (Quantile(0.76), 8.0),
        (Expectile(0.5), 3.25),
    ],
    ids=repr,
)
def test_best_constants_by_hand(loss, expected):
    assert loss.best_constant(np.array([8.0, 1.0, 3.0, 1.0]))[0] == pytest.approx(expected)


def test_the_best_constant_of_mape_weighs_small_targets_more():
    # Weights 1, 1/2, 1/3, 1/6 sum to 2, half of which the first target has: the median lies halfway to the next.
    assert Mape().best_constant(np.array([6.0, 3.0, 2.0, 1.0]))[0] == pytest.approx(1.5)


def test_the_constant_of_huber_lies_between_mean_and_median():
    y = np.array([0.0, 0.0, 0.5, 100.0])
    assert Huber(1.0).best_constant(y)[0] == pytest.approx(0.5)


def test_mape_refuses_a_target_of_0():
    with pytest.raises(InputError, match="row 1 is 0"):
        Mape().check_target(np.array([1.0, 0.0]))


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, math.nan, [], [0.5, 0.5], [0.1, 1.0]])
def test_quantiles_out_of_range_are_refused(level):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        Quantile(level)


def test_quantiles_are_sorted():
    assert Quantile([0.9, 0.1]).leaf_quantiles == (0.1, 0.9)


@pytest.mark.parametrize("delta", [0.0, -1.0, math.nan, math.inf])
def test_huber_needs_a_positive_delta(delta):
    with pytest.raises(ParameterError, match="delta="):
        Huber(delta)


def test_leaf_weights_of_mape_are_over_the_target():
    np.testing.assert_array_equal(Mape().leaf_weights(np.array([-2.0, 4.0]), np.array([1.0, 3.0])), [0.5, 0.75])


def test_the_metric_of_a_quantile_is_called_as_a_user_would_write_it():
    assert Quantile(0.9).default_metric == "quantile@0.9"
    assert Quantile([0.1, 1 / 3]).default_metric == "quantile@0.1,0.3333333333333333"
