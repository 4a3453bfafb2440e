"""Best constants where no formula gives them: the root of the summed gradient, by sums that depend on no order."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sapwood.kernels.sums import Run, alone, fixed_sum
from sapwood.objectives.base import Objective

MOST_STEPS = 200


def constant_within(
    objective: Objective, y: np.ndarray, weight: np.ndarray | None, low: float, high: float, run: Run = alone
) -> float:
    """The score between ``low`` and ``high`` at which the weighted gradients of a one-score loss sum to 0."""
    scores = np.empty((1, len(y)))
    pairs = np.empty((1, len(y), 2), dtype=np.float32)

    def slope(score: float) -> float:
        scores[:] = score
        objective.pairs(y, scores, pairs, run)
        return fixed_sum(pairs[0, :, 0], weight, run)

    return rising_root(slope, low, high)


def rising_root(function: Callable[[float], float], low: float, high: float) -> float:
    """A root of a function that rises from ``low`` to ``high``; the end where it is nearest if it has none between.

    Secants with the Illinois rule, and a bisection whenever three of them have not halved the interval.
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0.0 or not low < high:
        return low
    if at_high <= 0.0:
        return high
    last_side = 0
    target_width = (high - low) / 2
    for step in range(MOST_STEPS):
        middle = low + (high - low) * (at_low / (at_low - at_high))
        if step % 3 == 2:
            if high - low > target_width:
                middle = low + (high - low) / 2
            target_width = (high - low) / 2
        if not low < middle < high:
            middle = low + (high - low) / 2
            if not low < middle < high:
                break
        at_middle = function(middle)
        if at_middle == 0.0 or high - low <= 4.0 * math.ulp(max(abs(low), abs(high))):
            return middle
        if at_middle < 0.0:
            low, at_low = middle, at_middle
            at_high = at_high / 2 if last_side < 0 else at_high
            last_side = -1
        else:
            high, at_high = middle, at_middle
            at_low = at_low / 2 if last_side > 0 else at_low
            last_side = 1
    return low + (high - low) / 2
