"""Directions of oblique splits in a node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapwood.classic.trees.entries import NodeEntries
from sapwood.classic.trees.settings import GrowSettings
from sapwood.classic.trees.splits import Hyperplane
from sapwood.kernels.split.hyperplane import fit_directions

RIDGE = 1e-3  # penalty of the regressions, as a fraction of the variance of a column
MIN_COEFFICIENT = 1e-9  # of the largest, in standard deviations of the column: smaller ones are left out


def hyperplanes(node: NodeEntries, columns: np.ndarray, settings: GrowSettings) -> Iterator[Hyperplane]:
    """Yield a direction per output, with the threshold 0: that in which a ridge regression of the target rises.

    Several classes have one direction each: that of the regression of "is of the class".
    """
    n = len(columns)
    units = np.empty((n, 2))
    scratch = np.empty((2, n * (n + 1) // 2 + n))
    directions = np.empty((settings.n_classes if settings.n_classes > 2 else 1, n))
    fit_directions(*node.span, columns, settings.n_classes, RIDGE, units, scratch, directions)
    is_used = units[:, 1] > 0.0
    for direction in directions:
        size = np.abs(np.divide(direction, units[:, 1], out=np.zeros(n), where=is_used))
        chosen = np.flatnonzero(size > MIN_COEFFICIENT * size.max())
        if len(chosen) > 1:  # else it is a threshold of one column
            largest = float(np.abs(direction[chosen]).max())
            yield Hyperplane(
                features=tuple(columns[chosen].tolist()),
                coefficients=tuple((direction[chosen] / largest).tolist()),
                means=tuple(units[chosen, 0].tolist()),
                threshold=0.0,
            )
