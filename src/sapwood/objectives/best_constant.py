"""Best constants without a closed form: the root of the sum of gradients, independent of the order of rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.objectives.base import Objective

MAX_STEPS = 100


def constant_between(
    objective: Objective,
    y: np.ndarray,
    weight: np.ndarray | None,
    low: float,
    high: float,
    run: Run = run_serial,
    workers: Workers = LOCAL,
) -> float:
    """Return the score between ``low`` and ``high`` at which the weighted gradients of a one-output loss sum to 0."""
    scores = np.empty((1, len(y)))
    pairs = np.empty((1, len(y), 2), dtype=np.float32)

    def total_gradient(score: float) -> float:
        scores[:] = score
        objective.pairs(y, scores, pairs, run)
        return fixed_sum(pairs[0, :, 0], weight, run, workers)

    return find_root(total_gradient, low, high)


def minimize_from(slope: Callable[[float], float], start: float, step: float) -> float:
    """Descend from ``start`` in growing steps until the slope changes sign, then return its root."""
    first = slope(start)
    near, direction = start, 1.0 if first < 0.0 else -1.0
    if first == 0.0 or not math.isfinite(first):
        return start
    for _ in range(80):
        far = near + direction * step
        at_far = slope(far)
        if not math.isfinite(at_far):
            step /= 8.0
        elif at_far * direction >= 0.0:
            return find_root(slope, min(near, far), max(near, far))
        elif abs(at_far) <= 1e-12 * abs(first):
            return far
        else:
            near, step = far, step * 2.0
    return near


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function, to 1e-12 of high - low; an end of the interval if there is none.

    Chandrupatla's method: inverse quadratic interpolation where it is safe, bisection elsewhere.
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0.0 or not low < high:
        return low
    if at_high <= 0.0:
        return high
    tolerance = 1e-12 * (high - low)
    a, b, c = high, low, high  # the root lies between a and b; c is the point before a
    at_a, at_b, at_c = at_high, at_low, at_high
    fraction = 0.5
    for _ in range(MAX_STEPS):
        x = a + fraction * (b - a)
        at_x = function(x)
        if (at_x < 0.0) == (at_a < 0.0):
            c, at_c = a, at_a
        else:
            c, b, at_c, at_b = b, a, at_b, at_a
        a, at_a = x, at_x
        best, at_best = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        min_fraction = (tolerance + 4.0 * math.ulp(best)) / abs(b - a) if a != b else 1.0
        if min_fraction > 0.5 or at_best == 0.0:
            break
        fraction = min(max(_interpolate(a, b, c, at_a, at_b, at_c), min_fraction), 1.0 - min_fraction)
    return best


def _interpolate(a: float, b: float, c: float, at_a: float, at_b: float, at_c: float) -> float:
    """Return the root of the inverse parabola through three points as a fraction of the way from a to b, else 0.5."""
    if at_c in (at_a, at_b) or c == b:
        return 0.5
    xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)  # as in Chandrupatla (1997)
    if not (phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi):
        return 0.5
    first = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    return first + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
