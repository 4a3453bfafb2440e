"""Leaf values that are quantiles of residuals, for losses whose hessian says nothing about the optimum."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.grow.constraints import column_directions
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.kernels.leaves.leaf_values import project_monotone
from sapwood.kernels.leaves.quantile import leaf_quantiles
from sapwood.lazy_dataclass import dataclass
from sapwood.model.tree import LEAF
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import Objective
from sapwood.params.declaration import TreeParams


class LeafRows(NamedTuple):
    """Leaves in the order of their rows: leaf ``leaves[k]`` has the rows ``rows[start[k]:start[k + 1]]``.

    ``y``, ``scores`` and ``weight`` are indexed by row.
    """

    leaves: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    scores: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, grown: GrownTree, y: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> LeafRows:
        """Return the leaves of a tree."""
        # An empty leaf begins and ends where the next one begins: it comes first.
        leaves = np.lexsort((grown.leaf_ranges[:, 1], grown.leaf_ranges[:, 0]))
        start = np.append(grown.leaf_ranges[leaves, 0], len(grown.leaf_rows))
        return cls(leaves, start, grown.leaf_rows, y, scores, weight)

    def quantiles(
        self, quantile: float, scratch: tuple[np.ndarray, np.ndarray], run: Run, workers: Workers
    ) -> np.ndarray:  # fmt: skip
        """Return the quantile of the residuals of each leaf, over the rows of all workers.

        ``scratch`` is a float64 and a uint32 for each row, to which kernels write.
        """
        if workers.splits_rows:
            from sapwood.distributed.selection import select_quantiles

            leaf = np.repeat(self.leaves, np.diff(self.start))
            residuals = self.y[self.rows] - self.scores[self.rows]
            weight = self.weight[self.rows]
            return select_quantiles(leaf, residuals, weight, len(self.leaves), quantile, workers)
        found, out = np.empty(len(self.leaves)), np.empty(len(self.leaves))
        run(leaf_quantiles, self.rows, self.start, self.y, self.scores, self.weight, quantile, *scratch, found)
        out[self.leaves] = found
        return out


@dataclass(frozen=True, eq=False)
class QuantileLeaves:
    """Gives leaves a quantile of the residuals of their rows as value, within ``limit``.

    Where ``workers`` have rows of their own, the rows of all workers are used. Kernels write to ``residuals`` and
    ``row_order``.
    """

    objective: Objective
    y: np.ndarray
    weight: np.ndarray
    quantiles: tuple[float, ...]
    directions: np.ndarray
    limit: float
    residuals: np.ndarray
    row_order: np.ndarray
    workers: Workers = LOCAL

    @classmethod
    def of(
        cls, objective: Objective, target: Target, params: TreeParams, dataset: BinnedDataset
    ) -> QuantileLeaves | None:
        """Return the quantile leaves of an objective, None if it has none."""
        directions = column_directions(params.monotone_constraints, dataset)
        if not objective.has_quantile_leaves:
            return None
        n = len(target.y)
        return cls(
            objective=objective,
            y=target.y,
            weight=objective.leaf_weights(target.y, target.weight),
            quantiles=objective.leaf_quantiles,
            directions=directions,
            limit=params.max_delta_step or np.inf,
            residuals=np.empty(n),
            row_order=np.empty(n, dtype=np.uint32),
            workers=dataset.workers,
        )

    def with_weights(self, weight: np.ndarray) -> QuantileLeaves:
        """Return the quantile leaves of rows with other weights, which some samplers set."""
        return dataclasses.replace(self, weight=self.objective.leaf_weights(self.y, weight))

    def values(self, grown: GrownTree, scores: np.ndarray, output: int, run: Run) -> np.ndarray:
        """Return the values of the nodes (nodes, 1), given the ``scores`` (rows,) of this output.

        Inner nodes have the mean of their leaves.
        """
        at = LeafRows.of(grown, self.y, scores, self.weight)
        found = at.quantiles(self.quantiles[output], (self.residuals, self.row_order), run, self.workers)
        value = np.empty(len(grown.feature))
        value[grown.leaf_node] = np.clip(found, -self.limit, self.limit)
        average_leaves(grown, value)
        if self.directions.any():
            project_values(grown, value, self.directions)
        return value[:, None]


def average_leaves(grown: GrownTree, value: np.ndarray) -> None:
    """Set inner nodes to the weighted mean of their children, from the leaves up; without weight, to the plain mean."""
    for node in np.flatnonzero(grown.feature != LEAF)[::-1]:
        left, right = grown.left[node], grown.left[node] + 1
        fraction = grown.weight[left] / grown.weight[node] if grown.weight[node] > 0.0 else 0.5
        value[node] = fraction * value[left] + (1.0 - fraction) * value[right]


def project_values(grown: GrownTree, value: np.ndarray, directions: np.ndarray) -> None:
    """Make the values of the nodes keep monotone constraints."""
    numbers = grown.numbers.copy()
    numbers[:, layout.NODE_OUTPUTS + 2] = value
    project_monotone(grown.integers, numbers, len(value), directions)
    value[:] = numbers[:, layout.NODE_OUTPUTS + 2]
