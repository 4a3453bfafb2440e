"""Fields of the objects that stand in a parameter's place: checked, and made plain Python values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.params.numbers import is_integer, is_number


def check_number_field(choice: Any, name: str, text: str, accepts: Callable[[Any], bool]) -> None:
    """Make a number in a field of a frozen object a float, or say what is allowed."""
    _settle(choice, name, text, lambda value: is_number(value) and accepts(value), float)


def check_integer_field(choice: Any, name: str, low: int, high: int | None = None) -> None:
    """The same for an integer of at least ``low`` and at most ``high``."""
    text = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    _settle(
        choice, name, text, lambda value: is_integer(value) and value >= low and (high is None or value <= high), int
    )


def check_bool_field(choice: Any, name: str) -> None:
    """The same for a truth value."""
    _settle(choice, name, "True or False", lambda value: isinstance(value, bool | np.bool_), bool)


def _settle(choice: Any, name: str, text: str, accepts: Callable[[Any], bool], plain: Callable[[Any], Any]) -> None:
    value = getattr(choice, name)
    if not accepts(value):
        raise ParameterError(f"{type(choice).__name__}: {name} must be {text}, got {value!r}")
    object.__setattr__(choice, name, plain(value))
