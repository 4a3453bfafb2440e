"""Grow trees on histograms: leaf by leaf, level by level, or one split for a whole level."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.row_subset import RowSubset
from sapwood.grow.sorted_rows import is_sorted_quicker, sort_rows
from sapwood.grow.workspace import make_bins, make_cells, make_worth
from sapwood.kernels import layout
from sapwood.kernels.grow import histogram_tree as grow
from sapwood.kernels.grow import symmetric_tree as grow_symmetric
from sapwood.kernels.histogram import quantised_gradients as quantise
from sapwood.native.runtime.kernel import RepeatedCall
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

# Below this many rows rounding could be seen and wide cells cost next to nothing.
SMALL_TABLE = 2048
# Packed gradients must keep this many steps per row on average, or too much is lost in rounding.
LEAST_STEPS = 64.0


def is_wide(precision: str, n_rows: int) -> bool:
    """Tell whether histograms need wide cells."""
    if precision != "auto":
        return precision == "wide"
    return n_rows < SMALL_TABLE or quantise.PACKED_GRADIENT_LIMIT / n_rows < LEAST_STEPS


class HistogramGrower(Grower):
    """Looks at the edges between bins, with histograms of the leaves."""

    def __init__(self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> None:
        super().__init__(dataset, n_outputs, params, seed, team)
        counts = params.min_child_samples > 1 or bool(dataset.category_kinds.any())
        self._cells = make_cells(self._shape, self._features, self._symmetric is not None, self._has_lines(), counts)
        self._sorted: layout.Histograms | None = None
        self._is_reordered = self._tiling.is_reordered
        if (
            self._symmetric is None
            and not self._is_reordered
            and is_sorted_quicker(dataset, self._shape, self._fixed_rules)
        ):
            self._sorted = self._cells._replace(sorted_rows=sort_rows(dataset, team.size))
        self._bins = make_bins(dataset, self._tiling, team.size)
        self._compaction = RowSubset(self._bins, n_outputs, team, not self._tiling.has_bundles)
        self._compact: layout.BinMatrix | None = None
        most_bins = int(self._features.n_bins.max())
        self._worth: tuple[np.ndarray, ...] = make_worth(self._shape, most_bins) if self._symmetric else ()
        self._kernel = RepeatedCall(grow.grow_tree if self._symmetric is None else grow_symmetric.grow_symmetric_tree)
        self._has_sets = bool(self._features.category_kind.any())

    def see(self, dataset: BinnedDataset) -> None:
        """Grow the next trees on the same rows in other bins."""
        if dataset is not self._dataset:
            super().see(dataset)
            self._bins = make_bins(dataset, self._tiling, self._team.size)
            self._compaction.see(self._bins)

    def _make_tiling(self, dataset: BinnedDataset) -> BundleLayout:
        return BundleLayout.find(dataset, self._params.bundle)

    def _is_wide(self) -> bool:
        return is_wide(self._params.precision, self._dataset.n_rows)

    def _has_lines(self) -> bool:
        return self._shape.n_outputs > 1 and self._dataset.sparse_bins is None

    def _compacted(self, rows: np.ndarray | None, gradients: layout.Gradients) -> layout.Gradients:
        self._compact = None
        has_places = self._dataset.sparse_bins is None and self._dataset.workers.is_local
        if rows is None or not has_places or not self._compaction.pays(len(rows)):
            return super()._compacted(rows, gradients)
        self._compact = self._compaction.take_bins(rows)
        return self._compaction.take_gradients(gradients)

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, draws: layout.RandomKey) -> GrownTree:
        cells = self._cells
        if self._sorted is not None and rows is self._rows.whole:
            cells = self._sorted
        self._team.run(
            self._kernel, self._compact or self._bins, self._features, self.rules(), gradients, rows, self._scales,
            self._scratch, cells, self._leaves, self._search, self._choice, draws, self._nodes, *self._worth,
        )  # fmt: skip
        if self._compact is not None and self.tells_rows:
            self._compaction.restore(rows.rows)
        if self._is_reordered:
            feature = self._nodes.ints[: self._nodes.info[layout.N_NODES], layout.NODE_FEATURE]
            feature[:] = np.where(feature < 0, feature, self._tiling.order[feature])
        return GrownTree.read(self._nodes, self._leaves, rows.rows, self._has_sets)
