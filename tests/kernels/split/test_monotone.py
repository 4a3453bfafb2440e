"""Bounds on the values of leaves below monotone splits."""

from __future__ import annotations

import numpy as np

from sapwood.kernels import layout
from sapwood.kernels.split import monotone
from tests.guarded import Guards

LEAF_COLUMNS = layout.LEAF_SUMS + 2


def child_bounds(direction: int, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """The bounds below a split into leaves of values −1 and 3."""
    guards = Guards()
    leaves = layout.LeafTable(np.zeros((1, LEAF_COLUMNS), np.int64), np.array([[1.0, low, high]]))
    sums = np.array([1 << 10, 1 << 10, -3 << 10, 1 << 10])
    bounds = guards.array(4, np.float64)
    given = {"wide": 1, "has_monotone": 1}
    params = layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | given)
    scale = np.full((1, 2), 2.0**10)
    monotone.set_child_bounds(0, sums, bounds, direction, params, scale, leaves)
    guards.check()
    return bounds.tolist()


def test_a_free_split_hands_its_bounds_on():
    assert child_bounds(0, -4.0, 5.0) == [-4.0, 5.0, -4.0, 5.0]


def test_a_rising_split_keeps_its_children_on_their_sides_of_the_middle():
    assert child_bounds(1, -4.0, 5.0) == [-4.0, 1.0, 1.0, 5.0]


def test_a_falling_split_keeps_its_children_on_the_other_sides():
    assert child_bounds(-1, -4.0, 5.0) == [1.0, 5.0, -4.0, 1.0]


def test_the_middle_is_that_of_values_within_the_bounds():
    assert child_bounds(1, 0.0, 2.0) == [0.0, 1.0, 1.0, 2.0]
