"""Gauss–Legendre quadrature on the interval from 0 to 1."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

NEWTON_STEPS = 100


@cache
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n points and weights that integrate polynomials of degree 2n − 1 exactly from 0 to 1.

    The points are the roots of the Legendre polynomial of degree n, found by Newton's method.
    """
    points, weights = np.empty(n), np.empty(n)
    for k in range(n):
        x = math.cos(math.pi * (k + 0.75) / (n + 0.5))
        for _ in range(NEWTON_STEPS):
            value, derivative = _legendre(n, x)
            step = value / derivative
            x -= step
            if abs(step) <= 1e-16:
                break
        _, derivative = _legendre(n, x)
        points[n - 1 - k] = 0.5 * (1.0 + x)
        weights[n - 1 - k] = 1.0 / ((1.0 - x * x) * derivative * derivative)
    points.flags.writeable = weights.flags.writeable = False
    return points, weights


def quadrature_table(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and weights of all rules up to n points, (n + 1, n): row k has those of k points, then zeros."""
    points, weights = np.zeros((n + 1, n)), np.zeros((n + 1, n))
    for k in range(1, n + 1):
        points[k, :k], weights[k, :k] = gauss_legendre(k)
    return points, weights


def _legendre(n: int, x: float) -> tuple[float, float]:
    """Return the Legendre polynomial of degree n at x and its derivative there."""
    before, value = 1.0, x
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return value, n * (x * value - before) / (x * x - 1.0)
