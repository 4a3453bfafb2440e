"""The arrays that kernels work in while trees grow, allocated once for a whole training."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.data.binning.tiles import aligned_zeros
from sapwood.kernels import layout
from sapwood.kernels.histogram.multi_output import padded_planes
from sapwood.kernels.split.category_order import CATEGORY_SCRATCH
from sapwood.kernels.split.cumulative_sums import PADDING
from sapwood.kernels.split.ordered_score import ORDERED_ROWS
from sapwood.lazy_dataclass import dataclass

ANY_BIN = 1 << 40
POOL_BYTES = 1 << 29


@dataclass(frozen=True)
class WorkspaceSize:
    """Numbers on which the sizes of the arrays depend.

    ``n_directions`` is the number of directions that splits are searched for in place of the outputs, 0: the outputs.
    """

    n_rows: int
    n_outputs: int
    max_leaves: int
    members: int
    wide: bool
    n_directions: int = 0

    @property
    def n_planes(self) -> int:
        """Number of planes of a histogram: one per output, or per direction in their place, two if it is wide."""
        return self.n_histogram_outputs * (2 if self.wide else 1)

    @property
    def n_histogram_outputs(self) -> int:
        """Number of outputs of a histogram."""
        return self.n_directions or self.n_outputs

    @property
    def max_nodes(self) -> int:
        """Maximum number of nodes of a tree."""
        return 2 * self.max_leaves - 1


def count_scored_outputs(n_outputs: int, n_prefixes: int) -> int:
    """Return the number of gradient pairs per row: one per output, and two per output and prefix (ordered scoring)."""
    return n_outputs * (1 + 2 * n_prefixes)


def make_bins(dataset: BinnedDataset, bundle_layout: BundleLayout, members: int = 1) -> layout.BinMatrix:
    """Return the bins of a dataset, with scratch memory in which each member decodes a sparse feature."""
    is_bytes = dataset.columns.dtype == np.uint8
    return layout.BinMatrix(
        tiles=bundle_layout.tiles(dataset).view(np.uint64),
        bins_u8=dataset.columns if is_bytes else np.empty((0, 0), np.uint8),
        bins_u16=np.empty((0, 0), np.uint16) if is_bytes else dataset.columns,
        decoded=np.empty((members, 0 if dataset.sparse_bins is None else dataset.n_rows), np.uint16),
    )


@dataclass(frozen=True, eq=False)
class RowBuffers:
    """Buffers for the rows of a tree grouped by leaf, large enough for ``all_rows``."""

    all_rows: layout.RowPartition

    @classmethod
    def allocate(cls, size: WorkspaceSize, has_pairs_by_row: bool) -> RowBuffers:
        """Allocate buffers for all rows."""
        n, p = size.n_rows, size.n_planes
        pairs_by_row = aligned_zeros((n, padded_planes(p)) if has_pairs_by_row else (0, 0), np.dtype(np.int64))
        rows, scratch = np.empty(n, np.uint32), np.empty(n, np.uint32)
        return cls(layout.RowPartition(rows, scratch, np.empty((p, n), np.int64), pairs_by_row))

    def select(self, rows: np.ndarray | None, are_gathered: bool = False) -> layout.RowPartition:
        """Return the partition of a root with these rows, in their order; None are all rows.

        All rows, or those whose gradients ``are_gathered``, are numbered when the gradients are quantised.
        """
        if rows is None:
            return self.all_rows
        buffer, scratch = self.all_rows.rows[: len(rows)], self.all_rows.scratch[: len(rows)]
        if not are_gathered:
            buffer[:] = rows
        return self.all_rows._replace(rows=buffer, scratch=scratch)


def make_scales(size: WorkspaceSize) -> layout.Scales:
    """Allocate the scales of gradients."""
    k, n_searched = size.n_outputs, size.n_histogram_outputs
    return layout.Scales(np.ones((n_searched, 2)), np.ones((k, 2)), np.zeros((n_searched, 2), np.int64))


def make_scratch(size: WorkspaceSize, max_bins: int, symmetric: bool = False) -> layout.Scratch:
    """Allocate scratch memory for each member; a search of symmetric trees has the sums of all planes side by side."""
    k, p, t = size.n_outputs, size.n_planes, size.members
    n_rows = max(p + 1 if symmetric else 3, ORDERED_ROWS if size.n_outputs > 1 else 0)
    n_sums = n_rows * (max_bins + PADDING)
    return layout.Scratch(
        floats=np.zeros((t, 4 * k + 8)),
        ints=np.zeros((t, 4 * p + 4 * k + 8 + max(n_sums, CATEGORY_SCRATCH)), np.int64),
        leaf_sums=np.zeros((t, size.max_leaves * (2 * k + 1)), np.int64),
    )


def pool_size(size: WorkspaceSize, width: int, symmetric: bool, is_one_call: bool = True) -> int:
    """Return the number of histograms of ``width`` cells in the pool: one per leaf, as far as they fit ``POOL_BYTES``.

    Speculative expansion by several members needs some more, and twice as many if a tree is not grown in one call.
    Where a leaf has lost its histogram, those of both children are built. A symmetric tree needs those of all leaves
    that are split at once, at most half of all leaves.
    """
    if symmetric:
        return max(1, size.max_leaves // 2)
    n_speculative = size.max_leaves // 4 + 2 * size.members if size.members > 1 else 0
    if not is_one_call:
        n_speculative = size.max_leaves
    return min(size.max_leaves + n_speculative, max(2, POOL_BYTES // (8 * width)))


def make_histograms(
    size: WorkspaceSize,
    features: layout.FeatureMeta,
    symmetric: bool = False,
    has_pairs_by_row: bool = False,
    has_counts: bool = True,
    is_one_call: bool = True,
) -> layout.Histograms:
    """Allocate the histograms of leaves, with counts of rows in sparse cells if ``has_counts``."""
    n_cells = int(features.offset[-1])
    width = size.n_planes * n_cells
    n_partial_planes = padded_planes(size.n_planes) if has_pairs_by_row else size.n_planes
    n_histograms = pool_size(size, width, symmetric, is_one_call)
    n_counts = n_cells if has_counts and not symmetric and len(features.csr_start) > 0 else 0
    return layout.Histograms(
        pool=np.empty((n_histograms, width), np.int64),
        partial=aligned_zeros((size.members, n_partial_planes * n_cells), np.dtype(np.int64)),
        bin_counts=np.zeros((size.members, int(features.n_bins.max()) + 1), np.int64),
        sparse_counts=np.empty((n_histograms, n_counts), np.int32),
        active=np.empty((n_histograms, len(features.all_active)), np.int32),
        sorted_rows=np.empty((0, 0), np.uint32),
    )


def make_leaf_table(size: WorkspaceSize, is_one_call: bool = True) -> layout.LeafTable:
    """Allocate the leaves of a growing tree, with more for speculative expansion if it is not grown in one call."""
    width, n_rows = layout.LEAF_SUMS + 2 * size.n_planes, (3 if is_one_call else 6) * size.max_leaves
    return layout.LeafTable(ints=np.zeros((n_rows, width), np.int64), floats=np.zeros((n_rows, layout.LEAF_FLOATS)))


def make_split_candidates(size: WorkspaceSize, n_features: int, n_leaves: int = 0) -> layout.SplitCandidates:
    """Allocate the best split of each feature, for ``n_leaves`` leaves at once if they are more than members need."""
    n_rows = max(2 * size.members, n_leaves)
    return layout.SplitCandidates(
        gain=np.zeros((n_rows, n_features)),
        split=np.zeros((n_rows, n_features, layout.CANDIDATE_SUMS + size.n_planes), np.int64),
        limits=np.tile(np.array([1, ANY_BIN] * 4, np.int64), (size.members + 1, 1)),
        allowed=np.ones((n_rows, n_features), np.uint8),
        n_left=np.zeros((size.members, 8), np.int64),
        schedule=np.zeros(layout.NEW_HISTS + size.members, np.int64),
    )


def make_column_sampler(
    size: WorkspaceSize,
    n_features: int,
    groups: np.ndarray,
    counts: tuple[int, int],
    inverse_weights: np.ndarray,
    extends: np.ndarray,
) -> layout.ColumnSampler:
    """Allocate the features that leaves may use; ``counts`` are sampled by each level and each node, 0: all."""
    return layout.ColumnSampler(
        in_tree=np.ones(n_features, np.uint8),
        n_per_level=counts[0],
        n_per_node=counts[1],
        groups=groups,
        active_groups=np.ones((size.max_leaves, len(groups)), np.uint8),
        hashes=np.zeros((size.members, n_features), np.uint64),
        inverse_weights=inverse_weights,
        extends=extends,
        usable=np.ones((size.max_leaves if len(extends) else 0, n_features), np.uint8),
    )


def make_tree_nodes(size: WorkspaceSize, n_outputs: int) -> layout.TreeNodes:
    """Allocate the nodes of a finished tree."""
    width = layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT * n_outputs
    return layout.TreeNodes(
        ints=np.zeros((size.max_nodes, layout.NODE_INTS), np.int64),
        floats=np.zeros((size.max_nodes, width)),
        info=np.zeros(3, np.int64),
    )


def make_level_scores(size: WorkspaceSize, max_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Allocate the scores of the splits of a level of a symmetric tree, and the best split of each member."""
    return np.zeros((size.members, 2, 2, max_bins + 1)), np.zeros((size.members, 8))
