"""Impurities and thresholds of decision trees written for reading: every threshold, sums of floats in sorted order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sapwood.kernels.numeric.elementary import log
from sapwood.kernels.split.impurity import ABSOLUTE_ERROR, ENTROPY, GINI, PER_LN_2, SQUARED_ERROR


class Side(NamedTuple):
    """Sums, weight and number of the rows of a child."""

    sums: list[float]
    weight: float
    count: int


class Cut(NamedTuple):
    """The best threshold of a column: as the kernels write it."""

    loss: float = np.inf
    below: float = 0.0
    above: float = 0.0
    missing_left: float = 0.0
    left_weight: float = 0.0
    parent_loss: float = 0.0
    known_weight: float = 0.0


def impurity_slowly(criterion: int, sums: list[float], weight: float) -> float:
    """Weight times impurity."""
    if weight <= 0.0:
        return 0.0
    total = 0.0
    if criterion == ENTROPY:
        for s in sums:
            if s > 0.0:
                total -= s * log(s / weight)
        return total * PER_LN_2
    for s in sums:
        total += s * s
    return {GINI: weight - total / weight, SQUARED_ERROR: -total / weight}[criterion]


def add_rows(criterion: int, side: Side, rows, target, weight, origin: float) -> Side:
    """The side with more rows, one after the other."""
    sums, total = list(side.sums), side.weight
    for row in rows:
        total += weight[row]
        if criterion == SQUARED_ERROR:
            sums[0] += weight[row] * (target[row] - origin)
        else:
            sums[int(target[row])] += weight[row]
    return Side(sums, total, side.count + len(rows))


def median_loss_slowly(rows, target, weight) -> float:
    """Absolute error around a weighted median."""
    order = sorted(rows, key=lambda row: target[row])
    total, below = sum(weight[row] for row in order), 0.0
    for row in order:
        below += weight[row]
        if below >= total / 2.0:
            return sum(weight[other] * abs(target[other] - target[row]) for other in order)
    return 0.0


def best_cut_slowly(criterion, x, target, weight, n_sums, min_rows, min_weight, known_only=False, origin=0.0) -> Cut:
    """Try every threshold with missing values on the right, then on the left."""
    order = np.argsort(x, kind="stable")
    known, missing = [r for r in order if x[r] == x[r]], [r for r in order if x[r] != x[r]]
    if known_only:
        missing = []
    empty = Side([0.0] * n_sums, 0.0, 0)
    total = add_rows(criterion, empty, known + missing, target, weight, origin) if n_sums else None
    everything = known + missing
    parent_loss = _loss(criterion, everything, total, target, weight)
    known_weight = total.weight if total else float(sum(weight[r] for r in everything))
    best = Cut(parent_loss=parent_loss, known_weight=known_weight)
    for missing_left in (0, 1) if missing else (0,):
        left = add_rows(criterion, empty, missing if missing_left else [], target, weight, origin) if n_sums else None
        left_rows = list(missing) if missing_left else []
        last = len(known) if missing and not missing_left else len(known) - 1
        for i in range(last):
            row = known[i]
            left_rows.append(row)
            if left is not None:
                left = add_rows(criterion, left, [row], target, weight, origin)
            above = x[known[i + 1]] if i + 1 < len(known) else np.nan
            if i + 1 < len(known) and not above > x[row]:
                continue
            chosen = set(left_rows)
            right_rows = [r for r in everything if r not in chosen]
            left_weight = left.weight if left is not None else float(sum(weight[r] for r in left_rows))
            right_weight = known_weight - left_weight
            if min(len(left_rows), len(right_rows)) < min_rows or min(left_weight, right_weight) < min_weight:
                continue
            right = None
            if left is not None and total is not None:
                sums = [t - s for t, s in zip(total.sums, left.sums, strict=True)]
                right = Side(sums, right_weight, len(right_rows))
            loss = _loss(criterion, left_rows, left, target, weight) + _loss(
                criterion, right_rows, right, target, weight
            )
            if loss < best.loss:
                best = Cut(loss, x[row], above, float(missing_left), left_weight, parent_loss, known_weight)
    return best


def _loss(criterion, rows, side, target, weight) -> float:
    if criterion == ABSOLUTE_ERROR:
        return float(median_loss_slowly(rows, target, weight))
    return impurity_slowly(criterion, side.sums, side.weight)
