"""Losses for counts and amounts, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood.errors import InputError, ParameterError
from sapwood.objectives import Gamma, Msle, Poisson, Tweedie
from tests.objectives.loss_examples import pairs_of

LOG_2 = math.log(2)


@pytest.mark.parametrize(
    ("loss", "y", "expected"),
    [
        (Poisson(), 3.0, (2 - 3 * LOG_2, -1.0, 2.0)),
        (Poisson(), 0.0, (2.0, 2.0, 2.0)),
        (Gamma(), 3.0, (LOG_2 + 1.5, -0.5, 1.5)),
        (
            Tweedie(1.5),
            3.0,
            (2 * math.sqrt(2) + 6 / math.sqrt(2), math.sqrt(2) - 3 / math.sqrt(2), 1.25 * math.sqrt(2)),
        ),
        (Tweedie(1.5), 0.0, (2 * math.sqrt(2), math.sqrt(2), math.sqrt(2) / 2)),
        (Msle(), 3.0, (LOG_2**2 / 2, -LOG_2, 1.0)),
    ],
    ids=repr,
)
def test_values_at_a_score_of_log_2_by_hand(loss, y, expected):
    targets, scores = np.array([y]), np.array([[LOG_2]])
    pair = pairs_of(loss, targets, scores)[0, 0]
    assert (loss.loss(targets, scores)[0], pair[0], pair[1]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Tweedie(1.3)], ids=repr)
def test_the_best_constant_is_the_logarithm_of_the_mean(loss):
    assert loss.best_constant(np.array([1.0, 3.0]), np.array([1.0, 3.0]))[0] == pytest.approx(math.log(2.5))


def test_the_best_constant_of_msle_is_the_mean_logarithm():
    assert Msle().best_constant(np.array([0.0, 3.0]))[0] == pytest.approx(LOG_2)


@pytest.mark.parametrize(
    ("loss", "value"),
    [(Poisson(), -1.0), (Gamma(), 0.0), (Gamma(), -1.0), (Tweedie(), -0.5), (Msle(), -1.0)],
    ids=repr,
)
def test_targets_out_of_range_are_refused_by_row(loss, value):
    with pytest.raises(InputError, match=rf"{loss.name}.*row 1 is {value:g}; allowed is"):
        loss.check_target(np.array([1.0, value, value]))


def test_counts_that_are_all_0_have_no_logarithm():
    with pytest.raises(InputError, match="every target is 0"):
        Poisson().best_constant(np.zeros(4))


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0, math.nan])
def test_the_power_lies_between_1_and_2(power):
    with pytest.raises(ParameterError, match="for 1 use 'poisson'"):
        Tweedie(power)
