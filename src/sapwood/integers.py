"""What counts as an integer among the values that users pass."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number by type."""
    return isinstance(value, Integral) and not isinstance(value, bool)
