"""Grow trees on rows or features that are split between workers: the trees that one worker would grow.

Each worker searches its slice of the features. Where workers have rows of their own, each builds the histogram of a
leaf from its rows; a reduce-scatter gives every worker the sums of its slice. Then all compare their best splits.
"""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.errors import TrainingError
from sapwood.grow.distributed_scales import quantise_rows
from sapwood.grow.fixed_point import scale_for
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.histogram import HistogramGrower, is_wide
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_search, distributed_steps
from sapwood.kernels.grow.leaf_queue import can_split
from sapwood.kernels.histogram import gradient_scales
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

# The columns of a leaf's integers that workers exchange: its best split, with the sums of its sides.
SPLIT_COLUMNS = slice(layout.SPLIT_FEATURE, None)


class DistributedGrower(HistogramGrower):
    """Grows a tree step by step, leaf by leaf or level by level, together with other workers."""

    is_one_call = False

    def __init__(
        self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team, n_prefixes: int = 0
    ) -> None:
        self._workers = dataset.workers
        self._n_total_rows = dataset.workers.count_rows(dataset.n_rows)
        super().__init__(dataset, n_outputs, params, seed, team, n_prefixes)
        communicator = self._workers.communicator
        self._worker_slices = _slice_features(self._features.offset, communicator.size)
        own = self._worker_slices[communicator.rank : communicator.rank + 2].tolist()
        self._own_features = _with_features(self._features, own[0], own[1], team.size)
        self._n_rows = np.zeros(self._size.max_leaves, dtype=np.int64)  # of each leaf, at all workers
        self._status = layout.OK
        self._max_weight = 0.0  # of the rows of all workers that a tree is grown on; 0 if all are equal

    def _is_wide(self) -> bool:
        return is_wide(self._params.precision, self._n_total_rows)

    def _has_pairs_by_row(self) -> bool:
        return False  # the steps build histograms from one plane after the other

    def _make_bundle_layout(self, dataset: BinnedDataset) -> BundleLayout:
        # Columns that exclude each other in the rows of one worker need not do so in the rows of others.
        return BundleLayout.unbundled(dataset.n_features)

    # --- quantising -------------------------------------------------------------------------------------------------

    def _weight_scale(self, weight: np.ndarray) -> float:
        return 1.0 if self._workers.splits_rows else super()._weight_scale(weight)  # set when gradients are quantised

    def _with_weight_scale(self, gradients: layout.Gradients) -> layout.Gradients:
        """Return the gradients with the scale at which the weights of all workers are summed exactly."""
        top, n = self._max_weight, self._n_total_rows
        if top == 0.0:
            return gradients
        return gradients._replace(weight_scale=scale_for(gradient_scales.EXACT_LIMIT, top * n, n))

    def _quantise(self, rows: layout.RowPartition, gradients: layout.Gradients, key: layout.RandomKey) -> None:
        if not self._workers.splits_rows:
            super()._quantise(rows, gradients, key)
            return
        arrays = (rows, gradients, int(self._size.wide), key, self._scales, self._scratch, self._nodes.info)
        self._status, self._max_weight = quantise_rows(arrays, self._team, self._workers)

    def _check_gradients(self, round: int, gradients: layout.Gradients, rows: np.ndarray | None) -> None:
        super()._check_gradients(round, gradients, rows)
        if self._status != layout.OK:
            raise TrainingError(
                f"round {round + 1}: a gradient on another worker is not finite or too large; the error of that worker "
                "names the row"
            )

    # --- growing ----------------------------------------------------------------------------------------------------

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        rules, n_leaves, gradients = self.grow_params(), 1, self._with_weight_scale(gradients)
        self._init_root(rows)
        if self._can_split(0):
            self._build_histogram(0, rows)
            self._search_leaf(0, rows, key)
        while n_leaves < rules.max_leaves and (leaf := self._next_leaf(n_leaves)) >= 0:
            self._workers.begin(f"level {self._depth(leaf) + 1}")
            self._split_leaf(leaf, n_leaves, rows)
            # The last split makes the last leaves: none of them will be split.
            is_open = n_leaves + 1 < rules.max_leaves
            children = [child for child in (leaf, n_leaves) if is_open and self._can_split(child)]
            if children:
                free = n_leaves if n_leaves < len(self._histograms.pool) else -1
                self._build_child_histograms(leaf, n_leaves, free, rows)
            for child in children:
                self._search_leaf(child, rows, key)
            n_leaves += 1
        self._set_values(n_leaves, gradients, rows)
        return GrownTree.read(self._nodes, self._leaves, rows.rows, self._has_bitsets)

    def _init_root(self, rows: layout.RowPartition) -> None:
        """Make the root a leaf."""
        self._workers.begin("level 0")
        self._team.run(distributed_steps.sum_root_step, rows, self._scratch)
        sums = self._workers.sum(self._scratch.ints[0, : self._size.n_planes].copy())
        self._n_rows[0] = self._workers.sum(np.array([len(rows.rows)]))[0]
        distributed_steps.init_root_step(len(rows.rows), sums, self._leaves, self._nodes)

    def _next_leaf(self, n_leaves: int) -> int:
        """Return the leaf to split next, −1 if there is none."""
        out = np.empty(1, dtype=np.int64)
        distributed_steps.find_next_leaf(n_leaves, self.grow_params().growth, self._leaves, out)
        return int(out[0])

    def _depth(self, leaf: int) -> int:
        return int(self._leaves.ints[leaf, layout.LEAF_DEPTH])

    def _can_split(self, leaf: int) -> bool:
        return bool(can_split(self._n_rows[leaf], self._depth(leaf), self.grow_params()))

    def _split_leaf(self, leaf: int, new: int, rows: layout.RowPartition, child: int = -1) -> None:
        """Partition the rows of a leaf and replace it by its children, the right one as leaf ``new``.

        ``child`` is the node of the left one, −1 if the leaf's node is still to be split.
        """
        n_left = np.empty(1, dtype=np.int64)
        self._team.run(
            distributed_steps.partition_step,
            leaf, self._bins, self._features, rows, self._leaves, self._candidates, n_left
        )  # fmt: skip
        distributed_steps.split_leaf_step(
            leaf, new, child, int(n_left[0]), self._features, self.grow_params(), self._scales, self._scratch,
            self._leaves, self._column_sampler, self._nodes,
        )  # fmt: skip
        n_total_left = self._workers.sum(n_left)[0]
        self._n_rows[[leaf, new]] = n_total_left, self._n_rows[leaf] - n_total_left

    # --- histograms -------------------------------------------------------------------------------------------------

    def _build_child_histograms(self, leaf: int, new: int, free: int, rows: layout.RowPartition) -> None:
        """Build the histogram of the smaller child, in histogram ``free`` (−1: none is); the other's by subtraction."""
        small, large = (leaf, new) if self._n_rows[leaf] <= self._n_rows[new] else (new, leaf)
        has_parent = self._leaves.ints[leaf, layout.LEAF_HIST] >= 0
        hists = np.empty(2, dtype=np.int64)
        distributed_steps.assign_histograms(leaf, new, small, free, self._leaves, hists)
        self._build_histogram(small, rows)
        if has_parent:
            self._own_cells(large)[:] -= self._own_cells(small)
        else:
            self._build_histogram(large, rows)

    def _build_histogram(self, leaf: int, rows: layout.RowPartition) -> None:
        """Build the histogram of a leaf, for this worker's slice of the features."""
        begin, end = self._leaves.ints[leaf, layout.LEAF_BEGIN : layout.LEAF_END + 1].tolist()
        if not self._workers.splits_rows:
            self._team.run(
                distributed_steps.build_slices, begin, end, self._bins, rows, self._own_features, self._histogram(leaf)
            )  # fmt: skip
            return
        partial = self._histograms.partial[0]
        self._team.run(distributed_steps.build_slices, begin, end, self._bins, rows, self._features, partial)
        cells = self._features.offset[self._worker_slices]
        planes = partial.reshape(self._size.n_planes, -1)
        self._own_cells(leaf)[:] = self._workers.communicator.reduce_scatter(planes, cells)

    def _histogram(self, leaf: int) -> np.ndarray:
        return self._histograms.pool[self._leaves.ints[leaf, layout.LEAF_HIST]]

    def _own_cells(self, leaf: int) -> np.ndarray:
        """Return the cells (planes, cells) of a leaf's histogram that belong to this worker's features."""
        slices = self._own_features.slices
        first, last = self._features.offset[[slices[0], slices[-1]]]
        return self._histogram(leaf).reshape(self._size.n_planes, -1)[:, first:last]

    # --- splits -----------------------------------------------------------------------------------------------------

    def _search_leaf(self, leaf: int, rows: layout.RowPartition, key: layout.RandomKey) -> None:
        """Give a leaf the best split of all workers; rows are counted where sums do not prove that children suffice."""
        counted, found = distributed_search.ALL_FEATURES, np.empty(2)
        while True:
            self._team.run(
                distributed_search.search_leaf,
                leaf, self._n_rows[leaf], counted, self._own_features, self.grow_params(), self._scales, self._scratch,
                self._histograms, self._leaves, self._candidates, self._column_sampler, key, found,
            )  # fmt: skip
            if self._adopt_best(leaf, found):
                return
            counted = int(self._leaves.ints[leaf, layout.SPLIT_FEATURE])
            counts = self._histograms.bin_counts[0]
            distributed_search.count_bins_step(leaf, counted, self._bins, rows, self._features, self._leaves, counts)
            used = slice(None, int(self._features.n_bins[counted]) + 1)
            counts[used] = self._workers.sum(counts[used].copy())

    def _adopt_best(self, leaf: int, found: np.ndarray) -> bool:
        """Give a leaf the split of the highest score of all workers, the first of equals.

        ``found`` are the score of this worker's split and whether its children are known to be large enough; return
        that of the best.
        """
        ints, floats = self._leaves.ints[leaf], self._leaves.floats[leaf]
        split = np.concatenate([ints[SPLIT_COLUMNS], np.append(found, floats[layout.LEAF_GAIN]).view(np.int64)])
        splits = np.concatenate(self._workers.communicator.gather(split[None]))
        score, is_large_enough, gain = splits[:, -3:].copy().view(np.float64).T
        best = int(np.argmax(score))
        ints[SPLIT_COLUMNS], floats[layout.LEAF_GAIN] = splits[best, :-3], gain[best]
        return bool(is_large_enough[best]) or gain[best] <= 0.0

    # --- leaf values ------------------------------------------------------------------------------------------------

    def _set_values(self, n_leaves: int, gradients: layout.Gradients, rows: layout.RowPartition) -> None:
        """Give the nodes their true sums and values."""
        self._workers.begin("leaves")
        leaf_sums, width = self._scratch.leaf_sums, 2 * self._n_outputs + 1
        exact = self._scales.exact[: self._n_outputs]
        self._team.run(
            distributed_steps.sum_leaf_rows,
            n_leaves, gradients, rows.rows, exact, self._leaves.ints, leaf_sums
        )  # fmt: skip
        used = slice(None, n_leaves * width)
        leaf_sums[0, used] = self._workers.sum(leaf_sums[:, used].sum(axis=0))
        leaf_ints = self._leaves.ints[:n_leaves].copy()
        leaf_ints[:, layout.LEAF_BEGIN], leaf_ints[:, layout.LEAF_END] = 0, self._n_rows[:n_leaves]
        distributed_steps.set_true_values(
            leaf_ints, gradients.weight_scale, self._features.monotone, self.grow_params(), exact, leaf_sums,
            self._nodes,
        )  # fmt: skip


def _slice_features(offset: np.ndarray, size: int) -> np.ndarray:
    """Return the first feature of each worker, and the number of features: about as many cells for each worker."""
    slices = np.searchsorted(offset, [offset[-1] * r // size for r in range(size + 1)]).astype(np.int64)
    slices[-1] = len(offset) - 1
    return slices


def _with_features(features: layout.FeatureMeta, first: int, last: int, members: int) -> layout.FeatureMeta:
    """Return the features with slices of those from ``first`` to ``last`` for the members of a team."""
    return features._replace(slices=first + np.arange(members + 1) * (last - first) // members)
