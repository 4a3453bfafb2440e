"""What the values of parameters may be."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.params.numbers import is_integer, is_number
from sapwood.params.options import Bundle, EffectiveNumber, LastRows, Linear, Symmetric, dart_of, sampling_of


@dataclass(frozen=True)
class Validator:
    """What a parameter may be: a test, the plain type of a passing value, and both in words."""

    text: str
    accepts: Callable[[Any], bool]
    plain: Callable[[Any], Any] = lambda value: value

    def check(self, name: str, value: Any) -> Any:
        """Return ``value`` as a plain Python value, or say what is allowed."""
        if not self.accepts(value):
            raise ParameterError(f"{name} must be {self.text}, got {value!r}")
        return self.plain(value)


def integer(low: int, high: int | None = None) -> Validator:
    """Whole numbers from ``low`` to ``high``."""
    text = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    return Validator(text, lambda v: is_integer(v) and v >= low and (high is None or v <= high), int)


def number(low: float, *, above: bool = False) -> Validator:
    """Finite numbers of at least ``low``, or strictly above it."""
    text = f"a number above {low:g}" if above else f"a number of at least {low:g}"
    return Validator(text, lambda v: is_number(v) and (v > low if above else v >= low) and is_finite(v), float)


def fraction() -> Validator:
    """Shares: above 0, at most 1."""
    return Validator("a number above 0 and at most 1", lambda v: is_number(v) and 0 < v <= 1, float)


def one_of(*choices: str) -> Validator:
    """One of a few words."""
    return Validator("one of " + ", ".join(map(repr, choices)), lambda v: isinstance(v, str) and v in choices)


def or_none(rule: Validator, meaning: str) -> Validator:
    """What ``rule`` allows, or None with a meaning of its own."""
    return Validator(
        f"{rule.text}, or None ({meaning})",
        lambda v: v is None or rule.accepts(v),
        lambda v: None if v is None else rule.plain(v),
    )


def is_collection(value: Any) -> bool:
    """Tell whether a value is a list, an array or a dict."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, (Mapping, Sequence)) and not isinstance(value, (str, bytes))


def is_finite(value: Any) -> bool:
    """Tell whether a number can be a float and is no infinity."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_seed(value: Any) -> bool:
    """Tell whether a value can seed random numbers."""
    is_generator = isinstance(value, (np.random.Generator, np.random.RandomState))
    return value is None or is_generator or (is_integer(value) and 0 <= value < 2**63)


def is_class_weight(value: Any) -> bool:
    """Tell whether a value says how classes weigh."""
    by_name = isinstance(value, str) and value in ("balanced", "effective")
    return value is None or by_name or isinstance(value, (Mapping, EffectiveNumber))


def is_init(value: Any) -> bool:
    """Tell whether boosting can start from a value."""
    is_estimator = hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
    is_scalar = is_number(value) or isinstance(value, np.ndarray)
    return value is None or is_scalar or is_estimator or (is_collection(value) and not isinstance(value, Mapping))


def is_validation(value: Any) -> bool:
    """Tell whether a value says which rows to split off."""
    return value is None or isinstance(value, LastRows) or (is_number(value) and 0 < value < 1)


def is_metric(value: Any) -> bool:
    """Tell whether a value may name metrics."""
    return value is None or isinstance(value, str) or callable(value) or is_collection(value)


def are_callbacks(value: Any) -> bool:
    """Tell whether a value is a function or a list of them."""
    return callable(value) or (isinstance(value, (list, tuple)) and all(callable(one) for one in value))


def is_leaf_model(value: Any) -> bool:
    """Tell whether a value says what a leaf answers."""
    return isinstance(value, Linear) or (isinstance(value, str) and value in ("constant", "linear"))


def is_growth(value: Any) -> bool:
    """Tell whether a value names a growth."""
    return isinstance(value, Symmetric) or (isinstance(value, str) and value in ("leafwise", "levelwise", "symmetric"))


def is_bundle(value: Any) -> bool:
    """Tell whether a value says which columns share a byte."""
    return isinstance(value, (bool, np.bool_, Bundle)) or (isinstance(value, str) and value == "auto")


def is_sampling(value: Any) -> bool:
    """Tell whether a value names a way to draw rows."""
    return sampling_of(value) is not None or (isinstance(value, str) and value in ("auto", "none"))


def is_path(value: Any) -> bool:
    """Tell whether a value may be the path of a file."""
    return isinstance(value, (str, os.PathLike)) and bool(os.fspath(value)) and isinstance(os.fspath(value), str)


def is_boosting(value: Any) -> bool:
    """Tell whether a value names a way to add trees up."""
    return dart_of(value) is not None or (isinstance(value, str) and value in ("plain", "ordered", "forest"))
