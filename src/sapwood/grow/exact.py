"""Grow trees by exact greedy search on presorted columns, leaf by leaf or level by level."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.edges import midpoints
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.kernels.grow import exact_tree as grow_exact
from sapwood.model.tree import LEAF
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams


class ExactGrower(Grower):
    """Looks at every gap between two values of a leaf; the dataset must have a bin for every distinct value."""

    def __init__(self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> None:
        super().__init__(dataset, n_outputs, params, seed, team)
        n_features, n_rows = dataset.columns.shape
        self._columns = np.ascontiguousarray(dataset.columns, dtype=np.uint32)
        share = np.array([t * n_features // team.size for t in range(team.size + 1)])
        self._features = self._features._replace(slices=share)
        self._lists = layout.PresortedRows(
            all_rows=np.empty((n_features, n_rows), np.uint32),
            tree_rows=np.empty((n_features, n_rows), np.uint32),
            scratch=np.empty((team.size, n_rows), np.uint32),
            goes_left=np.empty(n_rows, np.uint8),
            pairs=np.empty((n_rows, self._shape.n_planes), np.int64),
            next_bin=np.empty(self._shape.max_nodes, np.int64),
        )
        counts = np.empty((team.size, int(dataset.n_bins.max()) + 2), np.int64)
        team.run(grow_exact.sort_columns, self._columns, self._features.n_bins, counts, self._lists.all_rows)

    def see(self, dataset: BinnedDataset) -> None:
        """Stay with the bins that were sorted."""
        assert dataset is self._dataset

    def _is_wide(self) -> bool:
        return True

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, draws: layout.RandomKey) -> GrownTree:
        self._team.run(
            grow_exact.grow_exact_tree, self._columns, self._lists, self._features, self.rules(), gradients,
            rows, self._scales, self._scratch, self._leaves, self._search, self._choice, draws, self._nodes,
        )  # fmt: skip
        grown = GrownTree.read(self._nodes, self._leaves, rows.rows)
        return _between_values(grown, self._lists.next_bin, self._dataset.bin_mapper)


def _between_values(grown: GrownTree, next_bin: np.ndarray, encoder: BinMapper) -> GrownTree:
    """Give the tree thresholds; ``bin`` becomes the last value of the table that goes left."""
    threshold, bins = np.zeros(len(grown.feature)), grown.bin.copy()
    for node in np.flatnonzero(grown.feature != LEAF):
        values = encoder.edges[grown.feature[node]]
        threshold[node] = halfway(values, bins[node] - 1, next_bin[node] - 1)
        bins[node] = np.searchsorted(values, threshold[node], side="right")
    integers = grown.integers.copy()
    integers[:, layout.NODE_BIN] = bins
    return dataclasses.replace(grown, integers=integers, threshold=threshold)


def halfway(values: np.ndarray, below: int, above: int) -> float:
    """Halfway between two of a column's values; infinite if there is none ``above`` (−1).

    A value of the table right in the middle, which other leaves hold, goes to the right, as in XGBoost.
    """
    if above < 0:
        return np.inf
    found = midpoints(values[below], values[above])
    place = np.searchsorted(values, found)
    if place > below and values[place] == found:
        found = midpoints(values[place - 1], values[place])
    return float(found)
