"""Step sizes of first-order boosting: how far the scores move along the predictions of a base model."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.objectives.base import Objective, weighted_quantile
from sapwood.objectives.best_constant import minimize_from


class BoostedRows:
    """The rows that a round is fitted on: targets, weights and scores (outputs, rows) before the round."""

    def __init__(self, objective: Objective, y: np.ndarray, weight: np.ndarray | None, scores: np.ndarray) -> None:
        self.objective, self.y, self.weight, self.scores = objective, y, weight, scores

    def take(self, rows: np.ndarray) -> BoostedRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return BoostedRows(self.objective, self.y[rows], weight, np.ascontiguousarray(self.scores[:, rows]))

    def pairs(self, output: int, scores: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient and hessian of one output as float64, at these scores or at those before the round."""
        scores = self.scores if scores is None else scores
        out = np.empty((*scores.shape, 2), dtype=np.float32)
        self.objective.pairs(self.y, scores, out)
        return out[output, :, 0].astype(np.float64), out[output, :, 1].astype(np.float64)

    def line_search(self, direction: np.ndarray, output: int) -> float:
        """Return the step that minimises the loss when ``step * direction`` is added to the scores of one output."""
        scores = self.scores.copy()

        def slope(step: float) -> float:
            scores[output] = self.scores[output] + step * direction
            gradient, _ = self.pairs(output, scores)
            return fixed_sum(gradient * direction, self.weight)

        return minimize_from(slope, 0.0, 1.0)

    def best_leaf_value(self, output: int) -> float:
        """Return the value that lowers the loss of these rows, those of a leaf, the most.

        The weighted quantile of the residuals for losses that have one, the minimum of the loss for other losses
        without a usable hessian, and one Newton step elsewhere (for squared error, the mean of the residuals).
        """
        objective = self.objective
        if objective.has_quantile_leaves:
            weight = objective.leaf_weights(self.y, self.weight)
            return weighted_quantile(self.y - self.scores[output], weight, objective.leaf_quantiles[output])
        if objective.curvature == "surrogate" and objective.n_outputs == 1:
            return self.line_search(np.ones(len(self.y)), output)
        gradient, hessian = self.pairs(output)
        total = fixed_sum(hessian, self.weight)
        return -fixed_sum(gradient, self.weight) / total if total > 0.0 else 0.0


def leaf_values(rows: BoostedRows, leaf_of_row: np.ndarray, output: int) -> np.ndarray:
    """Return the value of each leaf by its number; a leaf without rows has 0."""
    values = np.zeros(int(leaf_of_row.max()) + 1)
    for leaf in np.unique(leaf_of_row):
        values[leaf] = rows.take(np.flatnonzero(leaf_of_row == leaf)).best_leaf_value(output)
    return values
