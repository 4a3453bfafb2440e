"""Leaf values by the loss's own optimum, where the hessian says nothing."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.grow.constraints import column_directions
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels.leaves.quantile import leaf_quantiles
from sapwood.model.tree import LEAF
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.base import Objective
from sapwood.params.declaration import TreeParams


class LeafRows(NamedTuple):
    """The leaves in the order in which their rows lie, where those of each begin and the last end, and the rows.

    Targets, scores and weights are by row.
    """

    leaves: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    scores: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, grown: GrownTree, y: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> LeafRows:
        """Those of a tree."""
        # An empty leaf begins where the next one does and ends there: it comes first.
        leaves = np.lexsort((grown.leaf_ranges[:, 1], grown.leaf_ranges[:, 0]))
        start = np.append(grown.leaf_ranges[leaves, 0], len(grown.leaf_rows))
        return cls(leaves, start, grown.leaf_rows, y, scores, weight)

    def gathered(self, workers: Workers) -> LeafRows:
        """Return the leaves with the rows of all workers."""
        if not workers.splits_rows:
            return self
        leaf_of_row = np.repeat(self.leaves, np.diff(self.start)).astype(np.float64)
        of_leaf_rows = (values[self.rows] for values in (self.y, self.scores, self.weight))
        leaf_of_row, *values = workers.gather_each(leaf_of_row, *of_leaf_rows)
        rows = np.argsort(leaf_of_row, kind="stable").astype(np.uint32)
        leaves = np.arange(len(self.leaves))
        return LeafRows(leaves, np.searchsorted(leaf_of_row[rows], np.arange(len(leaves) + 1)), rows, *values)


@dataclass(frozen=True, eq=False)
class QuantileLeaves:
    """What gives the leaves of a loss with corners their values: a quantile of the residuals of their rows.

    Where ``workers`` have rows of their own, those of all workers count.
    """

    objective: Objective
    y: np.ndarray
    weight: np.ndarray
    levels: tuple[float, ...]
    directions: np.ndarray
    limit: float
    work: np.ndarray
    order: np.ndarray
    workers: Workers = LOCAL

    @classmethod
    def of(
        cls, objective: Objective, target: Target, params: TreeParams, dataset: BinnedDataset
    ) -> QuantileLeaves | None:
        """The renewal that a loss asks for, or None."""
        directions = column_directions(params.monotone_constraints, dataset)
        if not objective.has_quantile_leaves:
            return None
        n = len(target.y)
        weight = objective.leaf_weights(target.y, target.weight)
        work, order = np.empty(n), np.empty(n, dtype=np.uint32)
        limit = params.max_delta_step or np.inf
        return cls(
            objective, target.y, weight, objective.leaf_quantiles, directions, limit, work, order, dataset.workers
        )  # fmt: skip

    def drawn(self, weight: np.ndarray) -> QuantileLeaves:
        """The renewal for rows that weigh otherwise, as some samplings make them."""
        return dataclasses.replace(self, weight=self.objective.leaf_weights(self.y, weight))

    def values(self, grown: GrownTree, scores: np.ndarray, output: int, run: Run) -> np.ndarray:
        """The values of the nodes: leaves renewed, inner nodes their means; ``scores`` (rows,) are of this output."""
        at = LeafRows.of(grown, self.y, scores, self.weight).gathered(self.workers)
        work, order = self.work, self.order
        if len(work) < len(at.y):
            work, order = np.empty(len(at.y)), np.empty(len(at.y), dtype=np.uint32)
        found = np.empty(len(at.leaves))
        run(leaf_quantiles, at.rows, at.start, at.y, at.scores, at.weight, self.levels[output], work, order, found)
        value = np.empty(len(grown.feature))
        value[grown.leaf_node[at.leaves]] = np.clip(found, -self.limit, self.limit)
        set_means(grown, value)
        if self.directions.any():
            project(grown, value, self.directions)
        return value[:, None]


def set_means(grown: GrownTree, value: np.ndarray) -> None:
    """Give inner nodes the weighted mean of their children, from the leaves up; without weight, the plain mean."""
    for node in np.flatnonzero(grown.feature != LEAF)[::-1]:
        left, right = grown.left[node], grown.left[node] + 1
        share = grown.weight[left] / grown.weight[node] if grown.weight[node] > 0.0 else 0.5
        value[node] = share * value[left] + (1.0 - share) * value[right]


def project(grown: GrownTree, value: np.ndarray, directions: np.ndarray) -> None:
    """Keep values monotone, parents first: a child stays on its side of the middle of the two, with all its subtree."""
    low, high = np.full(len(value), -np.inf), np.full(len(value), np.inf)
    for node in range(len(value)):
        value[node] = min(max(value[node], low[node]), high[node])
        feature = grown.feature[node]
        if feature == LEAF:
            continue
        left, right = grown.left[node], grown.left[node] + 1
        low[[left, right]], high[[left, right]] = low[node], high[node]
        if directions[feature] != 0:
            first, second = (min(max(value[child], low[node]), high[node]) for child in (left, right))
            lower, upper = (left, right) if directions[feature] > 0 else (right, left)
            high[lower] = low[upper] = 0.5 * first + 0.5 * second
