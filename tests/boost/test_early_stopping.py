"""The best round, and when to give up on a better one."""

from __future__ import annotations

import math

import pytest

from sapwood.boost.early_stopping import BestRound
from sapwood.errors import TrainingError


def after(scores, greater_is_better=False, patience=None) -> BestRound:
    best = BestRound(greater_is_better, patience)
    for done, score in enumerate(scores, 1):
        best.update(done, score, "rmse of validation")
    return best


def test_the_best_is_the_first_of_equals():
    best = after([3.0, 1.0, 2.0, 1.0])
    assert (best.round, best.score) == (2, 1.0)


def test_more_can_be_better():
    assert after([3.0, 1.0, 4.0], greater_is_better=True).round == 3


@pytest.mark.parametrize("done, stale", [(2, False), (3, False), (4, True)])
def test_it_is_stale_when_nothing_was_better_for_as_many_rounds_as_allowed(done, stale):
    assert after([3.0, 1.0, 2.0, 2.0][:done], patience=2).should_stop(done) is stale


def test_without_patience_it_is_never_stale():
    assert not after([1.0] + [2.0] * 50).should_stop(51)


def test_a_score_that_is_not_a_number_cannot_stop_training():
    with pytest.raises(TrainingError, match="rmse of validation is not a number after round 1"):
        after([math.nan], patience=3)


def test_a_score_that_is_not_a_number_is_never_the_best():
    assert after([math.nan, 2.0, math.nan, 3.0]).round == 2
