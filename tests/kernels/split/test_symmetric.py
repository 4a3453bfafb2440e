"""The best cut of a level: which of two is taken, and who of the members has it."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.split.symmetric import (
    BEST_FEATURE,
    BEST_NOISELESS_SCORE,
    BEST_SCORE,
    choose_level_split,
    is_better,
)

NUMBER = np.array([2, 0, 1])
RULES = layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | {"reg_lambda": 1.0})


def best_of(worth: float, feature: int) -> np.ndarray:
    best = np.zeros(8)
    best[[BEST_SCORE, BEST_NOISELESS_SCORE]] = worth
    best[BEST_FEATURE] = feature
    return best


@pytest.mark.parametrize(
    ("worth", "f", "expected"),
    [(5.0, 0, True), (3.0, 1, False), (4.0, 0, False), (4.0, 1, True), (4.0, 2, False), (np.nan, 1, False)],
)
def test_of_cuts_that_are_worth_the_same_that_of_the_least_number_is_better(worth, f, expected):
    """The best so far is of feature 2, whose number is 1; a later cut of the same feature is not better."""
    assert is_better(worth, f, best_of(4.0, 2), NUMBER) == expected


@pytest.mark.parametrize(("worth", "expected"), [(-3.0, True), (-np.inf, False)])
def test_any_cut_is_better_than_none(worth, expected):
    assert is_better(worth, 1, best_of(-np.inf, -1), NUMBER) == expected


@pytest.mark.parametrize(
    ("bests", "winner"),
    [
        ([(4.0, 0), (5.0, 1), (5.0, 2)], 1),
        ([(5.0, 0), (5.0, 2), (5.0, 1)], 2),
        ([(-np.inf, -1), (2.0, 0), (-np.inf, -1)], 1),
        ([(5.0, 2), (-np.inf, -1), (4.0, 1)], 0),
        ([(0.5, 2), (0.25, 0), (0.25, 1)], -1),
        ([(-np.inf, -1)] * 3, -1),
    ],
)
def test_members_agree_on_the_best_cut_if_it_gains_anything(bests, winner):
    """The leaf is worth 2² / (3 + 1) as it is."""
    leaves = layout.LeafTable(np.zeros((1, layout.LEAF_SUMS + 2), np.int64), np.zeros((1, layout.LEAF_FLOATS)))
    leaves.ints[0, layout.LEAF_SUMS] = (2 << 32) + 3
    leaves.floats[0, [layout.LEAF_LOWER, layout.LEAF_UPPER]] = -np.inf, np.inf
    scratch, own = np.zeros(4), np.stack([best_of(*one) for one in bests])
    assert choose_level_split(3, 1, 1, NUMBER, RULES, np.ones((1, 2)), leaves, scratch, own) == winner
    assert (scratch[2] > 0.0) == (winner >= 0)
