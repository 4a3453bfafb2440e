"""First and second derivatives of elementary functions, for automatic differentiation.

The argument is an array or a node of a trace (``objectives/autodiff/tape.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Derivatives = tuple[Any, Any, Any]


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + e^-x)."""
    return x.sigmoid() if hasattr(x, "sigmoid") else 1.0 / (1.0 + np.exp(-x))


def _log(x: Any) -> Derivatives:
    inverse = np.reciprocal(x)
    return np.log(x), inverse, -(inverse * inverse)


def _log1p(x: Any) -> Derivatives:
    inverse = np.reciprocal(1.0 + x)
    return np.log1p(x), inverse, -(inverse * inverse)


def _exp(x: Any) -> Derivatives:
    e = np.exp(x)
    return e, e, e


def _expm1(x: Any) -> Derivatives:
    e = np.exp(x)
    return np.expm1(x), e, e


def _sqrt(x: Any) -> Derivatives:
    root = np.sqrt(x)
    return root, 0.5 / root, -0.25 / (root * x)


def _reciprocal(x: Any) -> Derivatives:
    inverse = np.reciprocal(x)
    square = inverse * inverse
    return inverse, -square, 2.0 * square * inverse


def _tanh(x: Any) -> Derivatives:
    t = np.tanh(x)
    slope = 1.0 - t * t
    return t, slope, -2.0 * t * slope


def _expit(x: Any) -> Derivatives:
    p = sigmoid(x)
    slope = p * (1.0 - p)
    return p, slope, slope * (1.0 - 2.0 * p)


def _sin(x: Any) -> Derivatives:
    s = np.sin(x)
    return s, np.cos(x), -s


def _cos(x: Any) -> Derivatives:
    c = np.cos(x)
    return c, -np.sin(x), -c


def _arctan(x: Any) -> Derivatives:
    slope = np.reciprocal(1.0 + x * x)
    return np.arctan(x), slope, -2.0 * x * slope * slope


DERIVATIVES: dict[str, Callable[[Any], Derivatives]] = {
    "negative": lambda x: (np.negative(x), -1.0, 0.0),
    "positive": lambda x: (x, 1.0, 0.0),
    "absolute": lambda x: (np.absolute(x), np.sign(x), 0.0),
    "fabs": lambda x: (np.absolute(x), np.sign(x), 0.0),
    "sign": lambda x: (np.sign(x), 0.0, 0.0),
    "square": lambda x: (np.multiply(x, x), 2.0 * x, 2.0),
    "sqrt": _sqrt,
    "reciprocal": _reciprocal,
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "tanh": _tanh,
    "expit": _expit,
    "sin": _sin,
    "cos": _cos,
    "arctan": _arctan,
}
