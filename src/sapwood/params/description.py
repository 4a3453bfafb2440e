"""Values of parameters as JSON values, for the metadata of models and for the log."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np


def describe_value(value: Any) -> Any:
    """Return a value as JSON: numbers and strings as they are, option objects and losses as they are written.

    A function is described by its name and any other object by that of its class, which, unlike an address in memory,
    are the same in every process.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): describe_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [describe_value(one) for one in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return repr(value)
    return getattr(value, "__qualname__", None) or type(value).__name__
