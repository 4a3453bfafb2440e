"""The scale rule: the largest powers of two at which no sum overflows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels.histogram import gradient_scales

LIMITS = [gradient_scales.PACKED_GRADIENT_LIMIT, gradient_scales.PACKED_HESSIAN_LIMIT, gradient_scales.EXACT_LIMIT]


def scale_for(limit: float, bound: float, n: int) -> Fraction:
    out = np.array([np.nan, np.nan, np.nan])
    gradient_scales.find_scale(limit, bound, n, out[1:2])
    assert np.isnan(out[[0, 2]]).all()
    return Fraction(float(out[1]))


@settings(max_examples=500)
@given(st.sampled_from(LIMITS), st.floats(1e-300, 1e280), st.integers(1, 2**26))
def test_the_scale_is_the_largest_power_of_two_at_which_nothing_overflows(limit, bound, n):
    """s * bound + n < limit; twice as much would break it, but for the last bits of a float's rounding."""
    scale = scale_for(limit, bound, n)
    assert (scale.numerator & (scale.numerator - 1)) == 0
    assert (scale.denominator & (scale.denominator - 1)) == 0
    assert scale * Fraction(bound) + n < limit
    assert scale == 2**1000 or 2 * scale * Fraction(bound) + n >= Fraction(limit) * (1 - Fraction(1, 10**14))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("n", [1, 2, 1000, 2**20, 2**26])
@pytest.mark.parametrize("power", [-200, -31, -1, 0, 1, 10, 31, 200])
@pytest.mark.parametrize("nudge", [-1, 0, 1])
def test_the_scale_holds_where_the_bound_is_next_to_a_power_of_two(limit, n, power, nudge):
    """Where (limit - n) / bound is nearly a power of two, rounding must not lift the scale over it."""
    bound = float((Fraction(limit) - n) * Fraction(2) ** power)
    bound = bound if nudge == 0 else float(np.nextafter(bound, np.inf * nudge))
    assert scale_for(limit, bound, n) * Fraction(bound) + n < limit


def test_where_there_is_nothing_to_add_the_scale_is_one():
    assert scale_for(gradient_scales.PACKED_GRADIENT_LIMIT, 0.0, 10) == 1


@pytest.mark.parametrize("bound", [5e-324, 1e-310, 1e-305])
def test_the_scale_of_next_to_nothing_is_finite(bound):
    assert scale_for(gradient_scales.EXACT_LIMIT, bound, 10) == 2**1000
