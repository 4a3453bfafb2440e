"""Conversion of metadata to and from JSON, non-finite floats and NumPy numbers included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NONFINITE = "$float"


def to_json(value: Any) -> Any:
    """Return the value in the types of JSON: tuples as lists, NumPy values as plain ones, NaN as {"$float": "nan"}."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {NONFINITE: str(value)}
    return value


def from_json(value: Any) -> Any:
    """Return the value that ``to_json`` converted."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {NONFINITE} and value[NONFINITE] in ("nan", "inf", "-inf"):
            return float(value[NONFINITE])
        return {key: from_json(item) for key, item in value.items()}
    return value
