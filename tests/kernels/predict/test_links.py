"""Kernels of link functions."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels.numeric.elementary import exp
from sapwood.kernels.predict.links import BLOCK, softmax_values
from sapwood.native.threads.team import Team
from tests.guarded import Guards


def slow_softmax(scores: np.ndarray) -> np.ndarray:
    """Return e^F over its sum, row by row and class by class."""
    out = np.empty(scores.shape[::-1])
    for i, row in enumerate(scores.T.tolist()):
        exponentials = [float(exp(np.float64(f - max(row)))) for f in row]
        total = 0.0
        for e in exponentials:
            total += e
        out[i] = [e / total for e in exponentials]
    return out


@pytest.mark.parametrize("n", [1, BLOCK - 1, BLOCK, 3 * BLOCK + 5])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_softmax_values_are_those_of_each_row_alone(n, members):
    scores = np.random.default_rng(n).normal(scale=20.0, size=(5, n))
    scores[:, 0] = [-800.0, 0.0, 3.0, -745.0, 1.0]  # exponentials that are 0 and denormal
    guards = Guards()
    out, work = guards.array((n, 5), np.float64), guards.array((7, n), np.float64)
    Team(members).run(softmax_values, scores, work, out)
    np.testing.assert_array_equal(out, slow_softmax(scores))
    guards.check()
