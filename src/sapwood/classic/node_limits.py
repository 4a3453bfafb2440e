"""Limits of the nodes of trees that scikit-learn's parameters give as numbers, fractions or names."""

from __future__ import annotations

import math
from typing import Any

from sapwood.errors import ParameterError
from sapwood.params.validators import is_integer, is_number


def row_count(name: str, value: Any, n_rows: int, least: int) -> int:
    """Return a number of rows that parameter ``name`` gives as such, or as a fraction of all rows."""
    if is_integer(value) and value >= least:
        return int(value)
    if _is_fraction(value):
        return max(least, math.ceil(value * n_rows))
    raise ParameterError(
        f"{name} must be an integer of at least {least} (rows) or a float above 0 and at most 1 (fraction of the "
        f"rows), got {value!r}"
    )


def feature_count(value: Any, n_features: int) -> int:
    """Return the number of columns that are searched in a node (``max_features``)."""
    if value is None:
        return n_features
    if isinstance(value, str) and value in ("sqrt", "log2"):
        return max(1, math.isqrt(n_features) if value == "sqrt" else n_features.bit_length() - 1)
    if is_integer(value) and value >= 1:
        return min(int(value), n_features)
    if _is_fraction(value):
        return max(1, int(value * n_features))
    raise ParameterError(
        "max_features must be 'sqrt', 'log2' or None (all), an integer of at least 1 (columns), or a float above 0 and "
        f"at most 1 (fraction of the columns), got {value!r}"
    )


def _is_fraction(value: Any) -> bool:
    return is_number(value) and not is_integer(value) and 0.0 < value <= 1.0
