"""Grow trees on histograms: leaf by leaf, level by level, or one split for a whole level."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.output_sketch import OutputSketch
from sapwood.grow.row_subset import RowSubset
from sapwood.grow.sorted_rows import prefers_sorted_rows, sort_rows
from sapwood.grow.workspace import make_bins, make_histograms, make_level_scores
from sapwood.kernels import layout
from sapwood.kernels.grow.histogram_tree import grow_tree
from sapwood.kernels.histogram import gradient_scales
from sapwood.kernels.histogram.output_sketch import set_exact_scales
from sapwood.native.runtime.kernel import Kernel, RepeatedCall
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

# With fewer rows the rounding of packed cells would be noticeable, and wide ones cost next to nothing.
MIN_PACKED_ROWS = 2048
# Minimum number of steps of packed gradients per row on average: with fewer, too much is lost in rounding.
MIN_PACKED_STEPS = 64.0


def is_wide(precision: str, n_rows: int) -> bool:
    """Return whether histograms have wide cells."""
    if precision != "auto":
        return precision == "wide"
    return n_rows < MIN_PACKED_ROWS or gradient_scales.PACKED_GRADIENT_LIMIT / n_rows < MIN_PACKED_STEPS


class HistogramGrower(Grower):
    """Searches the splits between bins by histograms of the leaves; a tree is grown in one call of a kernel."""

    is_one_call = True

    def __init__(
        self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team, n_prefixes: int = 0
    ) -> None:
        super().__init__(dataset, n_outputs, params, seed, team, n_prefixes)
        is_symmetric = self._symmetric is not None
        has_counts = params.min_child_samples > 1 or bool(dataset.category_kinds.any())
        self._histograms = make_histograms(
            self._size, self._features, is_symmetric, self._has_pairs_by_row(), has_counts, self.is_one_call
        )  # fmt: skip
        n_directions = self._size.n_directions
        self._sketch = OutputSketch(n_directions, dataset.n_rows, team) if n_directions else None
        if n_directions:
            self._quantised_scales = self._scales._replace(exact=np.ones((n_directions, 2)))
        self._sorted: layout.Histograms | None = None
        self._is_reordered = self._bundle_layout.is_reordered
        can_be_sorted = self.is_one_call and not is_symmetric and not self._is_reordered
        if can_be_sorted and prefers_sorted_rows(dataset, self._size, self._fixed_params):
            self._sorted = self._histograms._replace(sorted_rows=sort_rows(dataset, team.size))
        self._bins = make_bins(dataset, self._bundle_layout, team.size)
        self._row_subset = RowSubset(self._bins, self._size.n_outputs, team, not self._bundle_layout.has_bundles)
        self._subset_bins: layout.BinMatrix | None = None
        max_bins = int(self._features.n_bins.max())
        self._level_scores: tuple[np.ndarray, ...] = make_level_scores(self._size, max_bins) if is_symmetric else ()
        self._kernel = RepeatedCall(_tree_kernel(is_symmetric))
        self._has_bitsets = bool(self._features.category_kind.any())

    def set_dataset(self, dataset: BinnedDataset) -> None:
        """Grow the next trees on the same rows in the bins of another dataset."""
        if dataset is not self._dataset:
            super().set_dataset(dataset)
            self._bins = make_bins(dataset, self._bundle_layout, self._team.size)
            self._row_subset.set_bins(self._bins)

    def _make_bundle_layout(self, dataset: BinnedDataset) -> BundleLayout:
        return BundleLayout.find(dataset, self._params.bundle)

    def _is_wide(self) -> bool:
        return is_wide(self._params.precision, self._dataset.n_rows)

    def _has_pairs_by_row(self) -> bool:
        return self._size.n_histogram_outputs > 1 and self._dataset.sparse_bins is None

    def _quantise(self, rows: layout.RowPartition, gradients: layout.Gradients, key: layout.RandomKey) -> None:
        if self._sketch is None:
            super()._quantise(rows, gradients, key)
            return
        super()._quantise(rows, self._sketch.project(gradients, key), key)
        self._team.run(set_exact_scales, rows, gradients, self._scales, self._scratch, self._nodes.info)

    def _gather_gradients(self, rows: np.ndarray | None, gradients: layout.Gradients) -> layout.Gradients:
        self._subset_bins = None
        can_be_copied = self.is_one_call and self._dataset.sparse_bins is None
        if rows is None or not can_be_copied or not self._row_subset.is_worthwhile(len(rows)):
            return super()._gather_gradients(rows, gradients)
        self._subset_bins = self._row_subset.copy_bins(rows)
        return self._row_subset.copy_gradients(gradients)

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        histograms = self._histograms
        if self._sorted is not None and rows is self._row_buffers.all_rows:
            histograms = self._sorted
        self._team.run(
            self._kernel, self._subset_bins or self._bins, self._features, self.grow_params(), gradients, rows,
            self._scales, self._scratch, histograms, self._leaves, self._candidates, self._column_sampler, key,
            self._nodes, *self._level_scores,
        )  # fmt: skip
        if self._subset_bins is not None and self.needs_leaf_rows:
            self._row_subset.restore_row_numbers(rows.rows)
        if self._is_reordered:
            feature = self._nodes.ints[: self._nodes.info[layout.N_NODES], layout.NODE_FEATURE]
            feature[:] = np.where(feature < 0, feature, self._bundle_layout.order[feature])
        return GrownTree.read(self._nodes, self._leaves, rows.rows, self._has_bitsets)


def _tree_kernel(is_symmetric: bool) -> Kernel:
    """Return the kernel that grows a tree."""
    if not is_symmetric:
        return grow_tree
    from sapwood.kernels.grow.symmetric_tree import grow_symmetric_tree  # seldom needed

    return grow_symmetric_tree
