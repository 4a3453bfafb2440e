"""Validators of parameter values: the accepted values, their description and their conversion to plain Python types."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass

FROZEN = ("sklearn.frozen", "FrozenEstimator")


@dataclass(frozen=True)
class Validator:
    """The values that a parameter accepts, in words and as a test, and the conversion of an accepted value.

    ``annotation`` is their type as it is written in the signatures of the estimators.
    """

    allowed: str
    accepts: Callable[[Any], bool]
    convert: Callable[[Any], Any] = lambda value: value
    annotation: str = "Any"

    def check(self, name: str, value: Any) -> Any:
        """Return ``value`` converted to a plain Python type; raise a ParameterError if it is not accepted."""
        if not self.accepts(value):
            raise ParameterError(f"{name} must be {self.allowed}, got {value!r}")
        return self.convert(value)


# --- validators -------------------------------------------------------------------------------------------------------


def integer(low: int, high: int | None = None) -> Validator:
    """Integers from ``low`` to ``high``, both included; whole floats such as 10.0 are integers."""
    allowed = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    return Validator(allowed, lambda v: is_whole(v) and v >= low and (high is None or v <= high), int, "int")


def number(low: float, high: float | None = None, *, above: bool = False, below: bool = False) -> Validator:
    """Finite numbers from ``low`` to ``high``; ``above`` excludes ``low``, ``below`` excludes ``high``."""

    def accepts(value: Any) -> bool:
        if not is_number(value) or not is_finite(value):
            return False
        return bool(
            (value > low if above else value >= low) and (high is None or (value < high if below else value <= high))
        )

    if high is None:
        allowed = f"a number above {low:g}" if above else f"a number of at least {low:g}"
    elif above == below:
        allowed = f"a number between {low:g} and {high:g}" if above else f"a number from {low:g} to {high:g}"
    else:
        at_low, at_high = ("above", "at most") if above else ("of at least", "below")
        allowed = f"a number {at_low} {low:g} and {at_high} {high:g}"
    return Validator(allowed, accepts, float, "float")


def fraction() -> Validator:
    """Numbers above 0 and at most 1."""
    return number(0, 1, above=True)


def boolean() -> Validator:
    """True and False, of Python or of NumPy."""
    return Validator("True or False", is_bool, bool, "bool")


def one_of(*words: str) -> Validator:
    """One of a few strings."""
    allowed = ", ".join(map(repr, words))
    return Validator(f"one of {allowed}", lambda v: isinstance(v, str) and v in words, str, f"Literal[{allowed}]")


def or_none(validator: Validator, meaning: str) -> Validator:
    """The values of another validator, and None with the given meaning."""
    return Validator(
        f"{validator.allowed}, or None ({meaning})",
        lambda v: v is None or validator.accepts(v),
        lambda v: None if v is None else validator.convert(v),
        f"{validator.annotation} | None",
    )


def check_field(option: Any, name: str, validator: Validator) -> None:
    """Validate a field of a frozen option object, such as ``Goss.top``, and store its converted value."""
    value = validator.check(f"{type(option).__name__}: {name}", getattr(option, name))
    object.__setattr__(option, name, value)


# --- tests of values --------------------------------------------------------------------------------------------------


def is_integer(value: Any) -> bool:
    """Return whether a value is of an integer type; bool is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer or a float without fraction."""
    return is_integer(value) or (is_number(value) and is_finite(value) and value == int(value))


def is_number(value: Any) -> bool:
    """Return whether a value is of a real type; bool is not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a number is finite and within the range of float64."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_bool(value: Any) -> bool:
    """Return whether a value is a boolean of Python or NumPy."""
    return isinstance(value, (bool, np.bool_))


def is_collection(value: Any) -> bool:
    """Return whether a value is a list, an array or a dict."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, (Mapping, Sequence)) and not isinstance(value, (str, bytes))


def is_seed(value: Any) -> bool:
    """Return whether a value is a ``random_state``."""
    if value is None or is_integer(value):
        return value is None or 0 <= value < 2**63
    return isinstance(value, (np.random.Generator, np.random.RandomState))


def is_init(value: Any) -> bool:
    """Return whether a value is an ``init``: initial scores, or an estimator that predicts them."""
    is_estimator = hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
    is_scalar = is_number(value) or isinstance(value, np.ndarray)
    return value is None or is_scalar or is_estimator or (is_collection(value) and not isinstance(value, Mapping))


def is_frozen(value: Any) -> bool:
    """Return whether a value is a ``sklearn.frozen.FrozenEstimator``, whose ``fit`` does nothing."""
    return any((one.__module__.partition("._")[0], one.__name__) == FROZEN for one in type(value).__mro__)


def is_metric(value: Any) -> bool:
    """Return whether a value is an ``eval_metric``: a name, a function or a list of these."""
    return value is None or isinstance(value, str) or callable(value) or is_collection(value)


def is_path(value: Any) -> bool:
    """Return whether a value is the path of a file."""
    return isinstance(value, (str, os.PathLike)) and bool(os.fspath(value)) and isinstance(os.fspath(value), str)


LIBRARIES = ("lightgbm", "xgboost", "catboost")

# --- functions of the user --------------------------------------------------------------------------------------------


def are_callbacks(value: Any) -> bool:
    """Return whether a value is a function or a list of functions; callbacks of other libraries get their own error."""
    functions = value if isinstance(value, (list, tuple)) else [value]
    return all(callable(function) or _library_of(function) in LIBRARIES for function in functions)


def callback_tuple(value: Any) -> tuple[Callable[..., Any], ...]:
    """Return callbacks as a tuple; raise a ParameterError if one does not take a ``progress`` argument."""
    functions = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for function in functions:
        library = _library_of(function)
        if type(function).__name__ in ("_ResetParameterCallback", "LearningRateScheduler"):
            raise ParameterError(
                f"callbacks: a schedule of {library} is not supported; pass its list or function as learning_rate"
            )
        if library in LIBRARIES:
            raise ParameterError(
                f"callbacks: a {type(function).__name__} of {library} is not supported; use a function of a Progress, "
                "early_stopping_rounds or verbose (evals_result_ has the values of each round)"
            )
        check_signature(function, "callbacks", "progress")
    return functions


def _library_of(function: Any) -> str:
    """Return the package that the class of a callback comes from."""
    return type(function).__module__.partition(".")[0]


def check_signature(function: Callable[..., Any], parameter: str, *arguments: str) -> None:
    """Raise a ParameterError if a function cannot be called with these positional arguments.

    Functions without a signature, such as some built-in ones, are accepted.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        name = getattr(function, "__name__", repr(function))
        count = len(arguments)
        raise ParameterError(
            f"{parameter}: the function {name}{signature} must take {count} argument(s), ({', '.join(arguments)})"
        ) from error


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view of an array that a user's function cannot write to."""
    view = array.view()
    view.flags.writeable = False
    return view


def are_integers(value: Any) -> bool:
    """Return whether a value is a collection of integers or a dict with integers as values."""
    items = value.values() if isinstance(value, Mapping) else value
    return is_collection(value) and all(is_whole(item) for item in items)


def plain_integers(value: Any) -> int | list[int] | dict[Any, int]:
    """Return an integer, a list of them or a dict of them as plain Python values."""
    if is_whole(value):
        return int(value)
    if isinstance(value, Mapping):
        return {key: int(item) for key, item in value.items()}
    return [int(item) for item in value]
