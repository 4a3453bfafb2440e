"""Grow the trees of a forest in parallel, one member of the team per tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.fixed_point import scale_for
from sapwood.grow.grown_tree import GRADIENTS, HESSIANS, VALUES, GrownTree, thresholds
from sapwood.kernels import layout
from sapwood.kernels.grow import forest_tree
from sapwood.kernels.grow.forest_tree import ForestParams, ForestRows, ForestScratch
from sapwood.lazy_dataclass import dataclass
from sapwood.model.ensemble import Ensemble
from sapwood.native.threads.team import Team

SUM_LIMIT = 2.0**52  # of sums of weights, so that they are exact in float64
AMOUNT_LIMIT = 2.0**61
LIGHT = 1 << 20  # integer weights below it differ from the weight by more than half a millionth
MAX_DRAWS = 64.0  # of one row in a sample
ForestTree = dict[str, np.ndarray]  # columns of the nodes of a tree, with the names of ``Ensemble``, and ``bin``


class TreeSample(NamedTuple):
    """Tree ``number`` of a forest and the rows that it is grown on, with their weights (empty: all are 1)."""

    number: int
    rows: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class ForestTarget:
    """The target of a forest: residuals (rows,) of one output, or codes of ``n_outputs`` classes.

    ``base`` (outputs,) are the constants that leaf values are added to: residuals are those of the first.
    ``max_weight`` bounds the weights of all samples.
    """

    values: np.ndarray
    n_outputs: int
    base: np.ndarray
    max_weight: float | None

    def weight_scale(self) -> float:
        """Return the scale of integer weights, 1 if they are numbers of draws."""
        n = len(self.values)
        return 1.0 if self.max_weight is None else scale_for(SUM_LIMIT, self.max_weight * n, n)

    def amount_scale(self) -> float:
        """Return the scale of weighted residuals."""
        n, largest = len(self.values), float(np.abs(self.values).max(initial=0.0)) or 1.0
        return scale_for(AMOUNT_LIMIT, largest * (self.max_weight or MAX_DRAWS) * n, n)


class ForestGrower:
    """Grows trees on bins; ``params`` are the limits of all trees."""

    def __init__(self, dataset: BinnedDataset, target: ForestTarget, params: ForestParams, team: Team) -> None:
        self._columns, self._bin_mapper = dataset.columns, dataset.bin_mapper
        edges = dataset.bin_mapper.edges
        self._edges = np.concatenate([*edges, np.empty(0)])
        self._starts = np.cumsum([0, *(len(column) for column in edges)])
        self._target, self._params, self._team = target, params, team
        self._weight_scale = target.weight_scale()
        self._amount_scale = target.amount_scale() if target.n_outputs == 1 else 1.0
        n, k, members = dataset.n_rows, target.n_outputs, team.size
        n_bins = int(dataset.bin_mapper.n_bins.max()) + 1
        is_single = k == 1
        targets = self._scaled(target.values, self._amount_scale) if is_single else target.values.astype(np.int64)
        self._rows = ForestRows(
            rows=np.empty((members, n), np.uint32),
            weights=np.empty((members, n), np.int64),
            amounts=np.empty((members, n), np.int64),
            targets=targets,
        )
        self._scratch = ForestScratch(
            cells=np.zeros((members, n_bins * (k + 2)), np.int64),
            bits=np.zeros((members, n_bins // 64 + 1), np.uint64),
            bins=np.empty((members, n if params.random_thresholds else 0), np.uint32),
            order=np.empty((members, len(self._columns)), np.int64),
            best=np.empty((members, forest_tree.BEST_SUMS + k + 1), np.int64),
            sums=np.empty((members, k + 1), np.int64),
            stack=np.empty((members, n + 2), np.int64),
        )
        max_nodes = 2 * min(max(1, n // params.min_samples_leaf), 2 ** min(params.max_depth, 62)) + 1
        self._nodes = np.empty((members, max_nodes, forest_tree.SUMS + k + 1), np.int64)
        self._gains = np.empty((members, max_nodes))

    def grow(self, samples: Sequence[TreeSample]) -> Iterator[ForestTree]:
        """Grow a tree for each of at most as many samples as the team has members."""
        members = self._team.size
        numbers, n_rows, n_nodes = (np.full(members, -1, dtype=np.int64) for _ in range(3))
        for k, sample in enumerate(samples):
            numbers[k], n_rows[k] = sample.number, len(sample.rows)
            self._set_sample(k, sample)
        self._team.run(
            forest_tree.grow_forest_trees, self._columns, self._edges, self._starts, self._params, numbers, n_rows,
            self._rows, self._scratch, self._nodes, self._gains, n_nodes,
        )  # fmt: skip
        for k in range(len(samples)):
            yield self._read(self._nodes[k, : n_nodes[k]], self._gains[k, : n_nodes[k]])

    def _set_sample(self, member: int, sample: TreeSample) -> None:
        """Write the rows of a sample, their weights and weighted targets as integers."""
        n, values = len(sample.rows), self._target.values[sample.rows]
        weight = sample.weight if len(sample.weight) else np.ones(n)
        self._rows.rows[member, :n] = sample.rows
        weights = np.maximum(self._scaled(weight, self._weight_scale), 1)
        self._rows.weights[member, :n] = weights
        if self._target.n_outputs == 1:
            # The value of a leaf is amounts / weights: those of light rows must have the same rounding error.
            weight = np.where(weights < LIGHT, weights / self._weight_scale, weight)
            self._rows.amounts[member, :n] = self._scaled(weight * values, self._amount_scale)
        else:
            self._rows.amounts[member, :n] = values

    def _scaled(self, values: np.ndarray, scale: float) -> np.ndarray:
        return np.rint(values * scale).astype(np.int64)

    def grown(self, tree: ForestTree) -> GrownTree:
        """Return a tree in the form of other growers."""
        integers = np.empty((len(tree["feature"]), layout.NODE_BITSET), dtype=np.int64)
        for column, name in INTEGER_COLUMNS.items():
            integers[:, column] = tree[name]
        numbers = np.zeros((len(integers), layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT * self._target.n_outputs))
        numbers[:, layout.NODE_GAIN], numbers[:, layout.NODE_WEIGHT] = tree["gain"], tree["weight"]
        for part, name in ((GRADIENTS, "gradient"), (HESSIANS, "hessian"), (VALUES, "value")):
            numbers[:, part] = tree[name].reshape(tree["value"].shape)
        return GrownTree(integers, numbers)

    def join(self, trees: Sequence[ForestTree]) -> Ensemble:
        """Return the trees as rounds of an ensemble, whose thresholds are the edges of bins."""
        n_trees = len(trees)
        columns: dict[str, Any] = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
        columns["threshold"] = thresholds(columns["feature"], columns.pop("bin"), self._bin_mapper)
        for column in columns.values():
            column.flags.writeable = False  # nobody else has these arrays, so that the ensemble need not copy them
        return Ensemble(
            n_outputs=self._target.n_outputs,
            tree_start=np.cumsum([0, *(len(tree["feature"]) for tree in trees)]),
            tree_output=np.zeros(n_trees, dtype=np.int32),
            tree_round=np.arange(n_trees, dtype=np.int32),
            **columns,
        )

    def _read(self, nodes: np.ndarray, gains: np.ndarray) -> ForestTree:
        """Return the columns of the nodes of a tree from the tables of a member."""
        n_outputs = self._target.n_outputs
        columns: ForestTree = {name: nodes[:, column].astype(dtype) for name, (column, dtype) in NODE_COLUMNS.items()}
        weight = nodes[:, forest_tree.SUMS] / self._weight_scale
        residuals = nodes[:, forest_tree.SUMS + 1 :] / (self._amount_scale if n_outputs == 1 else self._weight_scale)
        if n_outputs > 1:
            residuals -= weight[:, None] * self._target.base
        unit = self._weight_scale / self._amount_scale**2 if n_outputs == 1 else 1.0 / self._weight_scale
        columns["gain"] = np.maximum(0.5 * unit * gains, 0.0)
        columns["weight"], columns["value"] = weight, residuals / weight[:, None]
        np.negative(residuals, out=residuals)
        columns["gradient"] = residuals if n_outputs > 1 else residuals[:, 0]
        columns["hessian"] = weight if n_outputs == 1 else np.repeat(weight[:, None], n_outputs, axis=1)
        return columns


NODE_COLUMNS: dict[str, tuple[int, type]] = {
    "feature": (forest_tree.FEATURE, np.int32),
    "bin": (forest_tree.BIN, np.int32),
    "missing_left": (forest_tree.MISSING_LEFT, np.uint8),
    "left": (forest_tree.LEFT, np.int32),
    "count": (forest_tree.COUNT, np.int64),
}
INTEGER_COLUMNS = {
    layout.NODE_FEATURE: "feature",
    layout.NODE_BIN: "bin",
    layout.NODE_MISSING_LEFT: "missing_left",
    layout.NODE_LEFT: "left",
    layout.NODE_COUNT: "count",
}
