"""What rows should be answered, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.distributed.workers import Ranks


@dataclass(frozen=True, eq=False)
class Target:
    """What the rows of a dataset should be answered, how much each counts, and the number of its group."""

    y: np.ndarray
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None

    def whole(self, ranks: Ranks) -> Target:
        """The targets and weights of all ranks' rows."""
        return Target(ranks.whole(self.y), None if self.weight is None else ranks.whole(self.weight))
