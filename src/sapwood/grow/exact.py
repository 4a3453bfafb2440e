"""Grow trees by exact greedy search on presorted columns, leaf by leaf or level by level."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.data.binning.bin_edges import midpoints
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.kernels.grow import exact_tree
from sapwood.model.tree import LEAF
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams


class ExactGrower(Grower):
    """Searches every gap between two values of a leaf; the dataset must have a bin for every distinct value."""

    def __init__(
        self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team, n_prefixes: int = 0
    ) -> None:
        super().__init__(dataset, n_outputs, params, seed, team, n_prefixes)
        n_features, n_rows = dataset.columns.shape
        self._columns = np.ascontiguousarray(dataset.columns, dtype=np.uint32)
        self._presorted = layout.PresortedRows(
            all_rows=np.empty((n_features, n_rows), np.uint32),
            tree_rows=np.empty((n_features, n_rows), np.uint32),
            scratch=np.empty((team.size, n_rows), np.uint32),
            goes_left=np.empty(n_rows, np.uint8),
            pairs=np.empty((n_rows, self._size.n_planes), np.int64),
            next_bin=np.empty(self._size.max_nodes, np.int64),
        )
        counts = np.empty((team.size, int(dataset.n_bins.max()) + 2), np.int64)
        team.run(exact_tree.sort_columns, self._columns, self._features.n_bins, counts, self._presorted.all_rows)

    def _make_features(self, members: int) -> layout.FeatureMeta:
        n_features = self._dataset.n_features
        slices = np.array([t * n_features // members for t in range(members + 1)])
        return super()._make_features(members)._replace(slices=slices)

    def set_dataset(self, dataset: BinnedDataset) -> None:
        """Check that the dataset is the one that was sorted."""
        assert dataset is self._dataset

    def _is_wide(self) -> bool:
        return True

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        self._team.run(
            exact_tree.grow_exact_tree, self._columns, self._presorted, self._features, self.grow_params(), gradients,
            rows, self._scales, self._scratch, self._leaves, self._candidates, self._column_sampler, key, self._nodes,
        )  # fmt: skip
        grown = GrownTree.read(self._nodes, self._leaves, rows.rows)
        return _set_thresholds(grown, self._presorted.next_bin, self._dataset.bin_mapper)


def _set_thresholds(grown: GrownTree, next_bin: np.ndarray, bin_mapper: BinMapper) -> GrownTree:
    """Return the tree with thresholds; ``bin`` becomes the last value of the table that goes left."""
    threshold, bins = np.zeros(len(grown.feature)), grown.bin.copy()
    for node in np.flatnonzero(grown.feature != LEAF):
        values = bin_mapper.edges[grown.feature[node]]
        threshold[node] = exact_threshold(values, bins[node] - 1, next_bin[node] - 1)
        bins[node] = np.searchsorted(values, threshold[node], side="right")
    integers = grown.integers.copy()
    integers[:, layout.NODE_BIN] = bins
    return dataclasses.replace(grown, integers=integers, threshold=threshold)


def exact_threshold(values: np.ndarray, below: int, above: int) -> float:
    """Return the midpoint of two values of a column, given by their places; infinite if there is none ``above`` (−1).

    If the midpoint is itself a value of the table, which other leaves have, the threshold lies below it, so that it
    goes right, as in XGBoost.
    """
    if above < 0:
        return np.inf
    threshold = midpoints(values[below], values[above])
    place = np.searchsorted(values, threshold)
    if place > below and values[place] == threshold:
        threshold = midpoints(values[place - 1], values[place])
    return float(threshold)
