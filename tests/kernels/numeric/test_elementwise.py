"""Elementary functions of arrays."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementwise import apply_elementwise, exp_values, log_values
from sapwood.native.threads.team import Team


def test_the_result_has_the_shape_of_the_values():
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = apply_elementwise(log_values, values)
    assert found.shape == (2, 3)
    assert found[1].tolist() == apply_elementwise(log_values, values[1]).tolist()


def test_values_may_have_gaps_or_another_type():
    values = np.arange(12).reshape(3, 4)[:, ::2]
    expected = apply_elementwise(exp_values, np.ascontiguousarray(values, dtype=np.float64))
    np.testing.assert_array_equal(apply_elementwise(exp_values, values), expected)


def test_a_team_gives_the_same_bits():
    values = np.random.default_rng(1).normal(size=1001)
    expected = apply_elementwise(exp_values, values)
    np.testing.assert_array_equal(apply_elementwise(exp_values, values, Team(3).run), expected)
