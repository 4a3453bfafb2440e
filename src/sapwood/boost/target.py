"""Targets, weights and groups of rows."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import Workers
from sapwood.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Target:
    """Target of each row, its weight (None: all equal) and the number of its group."""

    y: np.ndarray
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None

    def gathered(self, workers: Workers, at_first: bool = False) -> Target:
        """Return the targets and weights of the rows of all workers; with ``at_first`` at the first of them only."""
        weight = None if self.weight is None else workers.gather_rows(self.weight, at_first)
        return Target(workers.gather_rows(self.y, at_first), weight, None if workers.splits_rows else self.groups)
