"""The kernel of the logistic loss computes two rows at a time."""

from __future__ import annotations

import math

import numpy as np

from sapwood.objectives.losses.logistic import logistic_pairs

TINY = 5e-324


def test_two_exponentials_side_by_side_have_the_bits_of_each_alone():
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, TINY, 745.2, -745.2, 710.0, 1e308]
    scores = np.concatenate([np.random.default_rng(3).normal(0.0, 200.0, 2500), edges * 10])
    y, nothing = np.arange(len(scores)) % 2.0, np.empty(0)
    together, alone = np.empty((1, 2 * len(y)), dtype=np.float32), np.empty((len(y), 1, 2), dtype=np.float32)
    logistic_pairs(y, scores[None], nothing, together)
    for i in range(len(y)):
        logistic_pairs(y[i : i + 1], scores[None, i : i + 1], nothing, alone[i])
    assert together.tobytes() == alone.tobytes()
