"""The best split of a level: which of two is taken, and which member has it."""

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

FEATURE_IDS = np.array([2, 0, 1])
PARAMS = layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | {"reg_lambda": 1.0})


def best_of(score: float, feature: int) -> np.ndarray:
    best = np.zeros(8)
    best[[BEST_SCORE, BEST_NOISELESS_SCORE]] = score
    best[BEST_FEATURE] = feature
    return best


@pytest.mark.parametrize(
    ("score", "f", "expected"),
    [(5.0, 0, True), (3.0, 1, False), (4.0, 0, False), (4.0, 1, True), (4.0, 2, False), (np.nan, 1, False)],
)
def test_of_splits_of_equal_score_that_of_the_smallest_id_is_better(score, f, expected):
    """The best so far is of feature 2, whose id is 1; a later split of the same feature is not better."""
    assert is_better(score, f, best_of(4.0, 2), FEATURE_IDS) == expected


@pytest.mark.parametrize(("score", "expected"), [(-3.0, True), (-np.inf, False)])
def test_any_split_is_better_than_none(score, expected):
    assert is_better(score, 1, best_of(-np.inf, -1), FEATURE_IDS) == expected


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
def test_members_agree_on_the_best_split_if_it_gains_anything(bests, winner):
    """The score of the unsplit leaf is 2² / (3 + 1)."""
    leaves = layout.LeafTable(np.zeros((1, layout.LEAF_SUMS + 2), np.int64), np.zeros((1, layout.LEAF_FLOATS)))
    leaves.ints[0, layout.LEAF_SUMS] = (2 << 32) + 3
    leaves.floats[0, [layout.LEAF_LOWER, layout.LEAF_UPPER]] = -np.inf, np.inf
    out, best_splits = np.zeros(4), np.stack([best_of(*one) for one in bests])
    assert choose_level_split(3, 1, 1, FEATURE_IDS, PARAMS, np.ones((1, 2)), leaves, out, best_splits) == winner
    assert (out[2] > 0.0) == (winner >= 0)
