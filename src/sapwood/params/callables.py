"""Functions of the user's own: what they are called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.errors import ParameterError


def check_arguments(function: Callable[..., Any], parameter: str, *names: str) -> None:
    """Refuse a function that cannot be called with so many arguments; one that does not tell is believed."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError as error:
        called = getattr(function, "__name__", repr(function))
        raise ParameterError(
            f"{parameter}: the function {called}{signature} must take {len(names)} argument(s), ({', '.join(names)})"
        ) from error


def read_only(array: np.ndarray) -> np.ndarray:
    """The same memory, which the function cannot write."""
    view = array.view()
    view.flags.writeable = False
    return view
