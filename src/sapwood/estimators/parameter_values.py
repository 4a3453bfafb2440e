"""Values of parameters as JSON: numbers, strings, containers, option objects and losses; functions have no JSON form.

What JSON lacks is a dictionary with a key that begins with ``$``: ``{"$option": "Goss", "settings": {...}}``. Files
are untrusted: options and losses are looked up by name among those of the package, and check their settings themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.objectives import registry
from sapwood.objectives.base import Objective
from sapwood.objectives.custom import FunctionObjective
from sapwood.params import encodings, options

OPTION, LOSS, ITEMS, TUPLE, SETTINGS = "$option", "$loss", "$items", "$tuple", "settings"


def to_json(value: Any) -> Any:
    """Return a value in the types of JSON; raise a TypeError if it has no such form."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, tuple):
        return {TUPLE: [to_json(item) for item in value]}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {ITEMS: [[to_json(key), to_json(item)] for key, item in value.items()]}
    if isinstance(value, type) and issubclass(value, Objective):
        return {LOSS: value.name, SETTINGS: to_json({})}
    if isinstance(value, Objective) and not isinstance(value, FunctionObjective):
        return {LOSS: value.name, SETTINGS: to_json(value.settings())}
    if type(value) is _option_class(type(value).__name__):
        return {OPTION: type(value).__name__, SETTINGS: to_json(_fields(value))}
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def from_json(value: Any) -> Any:
    """Return the value that ``to_json`` converted; raise a ValueError, TypeError or LookupError for any other."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if TUPLE in value:
        return tuple(from_json(value[TUPLE]))
    if ITEMS in value:
        return {from_json(key): from_json(item) for key, item in value[ITEMS]}
    settings = from_json(value[SETTINGS])
    if LOSS in value:
        return registry.restore(value[LOSS], settings)
    option = _option_class(value[OPTION])
    if option is None:
        raise ValueError(f"there is no option {value[OPTION]!r}")
    return option(**settings)


def _fields(option: Any) -> dict[str, Any]:
    return {field.name: getattr(option, field.name) for field in dataclasses.fields(option) if field.init}


def _option_class(name: str) -> Any:
    """Return the class of option objects with this name, None if there is none."""
    for module in (options, encodings):
        found = getattr(module, name, None)
        is_own = isinstance(found, type) and f"{found.__module__}.".startswith(f"{module.__name__}.")
        if is_own and dataclasses.is_dataclass(found):
            return found
    return None
