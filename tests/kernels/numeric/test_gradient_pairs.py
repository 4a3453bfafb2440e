"""Gradient pairs as they are written for trees."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels.numeric.gradient_pairs import MAX_FLOAT32, MIN_HESSIAN, sign, store_derivatives
from sapwood.native.threads.team import Team


def stored(gradients, curvatures, curvature=0.5, team=1):
    """Pairs of garbage-filled memory, (rows, 2)."""
    derivatives = np.array([gradients, curvatures], dtype=np.float64)
    out = np.full((1, 2 * len(gradients)), 77.0, dtype=np.float32)
    Team(team).run(store_derivatives, derivatives, curvature, out)
    return out.reshape(-1, 2)


def test_gradient_and_hessian_of_a_row_are_neighbours():
    np.testing.assert_array_equal(stored([1.0, -2.0], [3.0, 4.0]), [[1.0, 3.0], [-2.0, 4.0]])


def test_a_negative_curvature_counts_by_its_size():
    assert stored([1.0], [-3.0])[0, 1] == 3.0


def test_without_curvature_the_size_of_the_gradient_stands_in():
    assert stored([-8.0], [0.0], curvature=0.25)[0, 1] == 2.0


def test_hessians_are_above_0():
    assert stored([0.0], [0.0])[0, 1] == np.float32(MIN_HESSIAN)


@pytest.mark.parametrize("value", [1e300, -1e300, np.inf, -np.inf])
def test_values_beyond_float32_are_clipped(value):
    assert stored([value], [1.0])[0, 0] == np.float32(np.sign(value) * MAX_FLOAT32)


def test_nan_stays_nan():
    assert np.isnan(stored([np.nan], [1.0])[0, 0])


def test_a_team_writes_the_same_pairs():
    gradients, curvatures = np.random.default_rng(3).normal(size=(2, 1001))
    np.testing.assert_array_equal(stored(gradients, curvatures, team=3), stored(gradients, curvatures))


@pytest.mark.parametrize(("x", "expected"), [(3.0, 1.0), (-0.5, -1.0), (0.0, 0.0), (np.inf, 1.0)])
def test_signs(x, expected):
    assert sign(x) == expected
