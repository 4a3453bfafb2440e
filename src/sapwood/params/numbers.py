"""What counts as an integer, or as a number, among the values that users pass."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number by type."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number."""
    return isinstance(value, Real) and not isinstance(value, bool)
