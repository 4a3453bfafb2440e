"""The pairs of several classes in blocks and by members, against one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels.numeric.elementary import exp
from sapwood.native.threads.team import Team
from sapwood.objectives.losses.softmax import BLOCK, softmax_pairs
from tests.guarded import Guards

CURVATURE = 1.5


def slow_pairs(y: float, scores: np.ndarray) -> np.ndarray:
    """Gradient and hessian of every class of one row."""
    e = [float(exp(np.float64(s) - scores.max())) for s in scores]
    total = 0.0
    for one in e:
        total += one
    p = np.array(e) / total
    return np.stack([p - (np.arange(len(p)) == y), CURVATURE * p * (1.0 - p)], axis=1).astype(np.float32)


@pytest.mark.parametrize("members", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [1, 5, BLOCK, 2 * BLOCK + 3])
def test_softmax_pairs_are_those_of_each_row_alone(n, members):
    source, guards = np.random.default_rng(n), Guards()
    y, scores = source.integers(0, 3, n).astype(np.float64), source.normal(size=(3, n)) * 5.0
    pairs = guards.array((3, n, 2), np.float32)
    flat = pairs.reshape(3, 2 * n)
    work = guards.array((3, n), np.float64)
    Team(members).run(softmax_pairs, y, scores, CURVATURE, work, flat.view(np.float64), flat)
    guards.check()
    expected = np.stack([slow_pairs(y[i], scores[:, i]) for i in range(n)], axis=1)
    np.testing.assert_array_equal(pairs, expected)
