"""Cached properties and copies of objects that have them."""

from __future__ import annotations

import copy

from sapwood.cached_property import WithCaches, cached_property


class Circle(WithCaches):
    def __init__(self, radius: float) -> None:
        self.radius = radius
        self.computed = 0

    @cached_property
    def area(self) -> float:
        self.computed += 1
        return 3.0 * self.radius**2


def test_a_property_is_computed_once():
    circle = Circle(2.0)
    assert (circle.area, circle.area, circle.computed) == (12.0, 12.0, 1)


def test_copies_do_not_contain_what_was_computed():
    circle = Circle(2.0)
    assert circle.area == 12.0
    assert set(vars(copy.deepcopy(circle))) == {"radius", "computed"}
