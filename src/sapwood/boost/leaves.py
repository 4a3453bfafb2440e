"""Leaf values by the loss's own optimum, where the hessian says nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.boost.target import Target
from sapwood.grow.grown import Grown
from sapwood.kernels.losses_leaves import renew_leaves
from sapwood.kernels.sums import Run
from sapwood.objectives.base import Objective


@dataclass(frozen=True, eq=False)
class Renewal:
    """What gives the leaves of a loss with corners their values: a quantile of the residuals of their rows."""

    y: np.ndarray
    weight: np.ndarray
    levels: tuple[float, ...]
    work: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, objective: Objective, target: Target) -> Renewal | None:
        """The renewal that a loss asks for, or None."""
        if not objective.renews_leaves:
            return None
        n = len(target.y)
        weight = objective.leaf_weights(target.y, target.weight)
        return cls(target.y, weight, objective.leaf_levels, np.empty(n), np.empty(n, dtype=np.uint32))

    def values(self, grown: Grown, scores: np.ndarray, output: int, run: Run) -> np.ndarray:
        """The tree's values with those of the leaves renewed; ``scores`` (rows,) are those of this output."""
        by_place = np.argsort(grown.span[:, 0])
        leaf_start = np.append(grown.span[by_place, 0], len(grown.order))
        found = np.empty(len(by_place))
        level = self.levels[output]
        run(
            renew_leaves, grown.order, leaf_start, self.y, scores, self.weight, level, self.work, self.order, found
        )  # fmt: skip
        value = grown.value.copy()
        value[grown.leaf_node[by_place], 0] = found
        return value
