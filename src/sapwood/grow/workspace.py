"""The arrays that growing a tree works in, made once for a whole training."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.binning.tiles import aligned_zeros
from sapwood.kernels import layout
from sapwood.kernels.histogram.multi_output import padded_planes
from sapwood.kernels.histogram.sparse_bins import transpose_csr
from sapwood.kernels.split.categorical import CATEGORY_SCRATCH
from sapwood.kernels.split.numeric_vectorized import PADDING

ANY_BIN = 1 << 40
MANY_BINS = 100
POOL_BYTES = 1 << 29


@dataclass(frozen=True)
class Shape:
    """The sizes that decide how large the arrays are."""

    n_rows: int
    n_outputs: int
    max_leaves: int
    members: int
    wide: bool

    @property
    def n_planes(self) -> int:
        """Planes of a histogram: one per output, two when wide."""
        return self.n_outputs * (2 if self.wide else 1)

    @property
    def max_nodes(self) -> int:
        """Nodes of a tree at most."""
        return 2 * self.max_leaves - 1


def make_bins(dataset: BinnedDataset, tiling: BundleLayout, members: int = 1) -> layout.BinMatrix:
    """The bins of a dataset, and room of the members for a listed column."""
    by_bytes = dataset.columns.dtype == np.uint8
    return layout.BinMatrix(
        tiles=tiling.tiles(dataset).view(np.uint64),
        bins_u8=dataset.columns if by_bytes else np.empty((0, 0), np.uint8),
        bins_u16=np.empty((0, 0), np.uint16) if by_bytes else dataset.columns,
        decoded=np.empty((members, 0 if dataset.sparse_bins is None else dataset.n_rows), np.uint16),
    )


def make_features(
    dataset: BinnedDataset, members: int, tiling: BundleLayout, monotone: np.ndarray | None = None
) -> layout.FeatureMeta:
    """Describe the features of a dataset: where their cells lie and who searches them."""
    order = tiling.order
    n_bins = dataset.n_bins[order].astype(np.int64)
    bits = 3 if dataset.tiles.dtype.itemsize == 1 else 4
    start = np.concatenate([[0], np.cumsum(_cell_room(n_bins, bits, tiling))]).astype(np.int64)
    firsts = np.array([group.start for group in tiling.groups] + [len(n_bins)])
    tile_start = start[firsts]
    tile_share = _shares(tile_start, members)
    share = firsts[tile_share]
    return layout.FeatureMeta(
        n_bins=n_bins,
        offset=start,
        slices=share,
        monotone=np.zeros(len(order), dtype=np.int64) if monotone is None else monotone[order],
        log2_bin_bits=bits,
        category_kind=dataset.category_kinds[order],
        ids=order,
        column=order,
        default_bin=tiling.default_bins,
        tile_offset=tile_start,
        tile_slices=tile_share,
        csr_start=np.empty(0, np.int64),
        csr_cells=np.empty(0, np.uint32),
        csc_start=np.empty(0, np.int64),
        csc_rows=np.empty(0, np.uint32),
        all_active=_all_live(start, share),
    )


def make_listed_features(features: layout.FeatureMeta, lists: SparseBins, hopeless: np.ndarray) -> layout.FeatureMeta:
    """The same where some features are listed; those that are ``hopeless`` get no cells."""
    room = np.where(hopeless, 0, features.n_bins + 1)
    start = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
    share = _shares(start, len(features.slices) - 3)
    lists = lists.drop_features(hopeless)
    cell_start, listers = np.empty(start[-1] + 1, np.int64), np.empty_like(lists.entries)
    transpose_csr(lists.start, lists.entries, cell_start, listers)
    in_tiles = np.flatnonzero(lists.column >= 0)
    return features._replace(
        offset=start,
        slices=share,
        column=lists.column,
        default_bin=lists.default_bins,
        tile_offset=np.append(start[in_tiles], start[-1]),
        tile_slices=np.searchsorted(in_tiles, share),
        csr_start=lists.start,
        csr_cells=lists.entries,
        csc_start=cell_start,
        csc_rows=listers,
        all_active=_all_live(start, share),
    )


def _shares(start: np.ndarray, members: int) -> np.ndarray:
    """Cut what begins at these cells, the last entry being their number, into a part of equal size for each member.

    Behind the parts is the whole, for members that work alone.
    """
    share = np.searchsorted(start, [start[-1] * t // members for t in range(members + 1)])
    share[-1] = len(start) - 1
    return np.append(share, (0, len(start) - 1)).astype(np.int64)


def _all_live(start: np.ndarray, share: np.ndarray) -> np.ndarray:
    """A line of live features: for each member, how many of its share have cells, and which."""
    members, has_cells = len(share) - 3, np.diff(start) > 0
    line = np.zeros(members + len(has_cells), np.int32)
    for t, (first, last) in enumerate(pairwise(share[: members + 1].tolist())):
        found = first + np.flatnonzero(has_cells[first:last])
        line[t] = len(found)
        line[members + first : members + first + len(found)] = found
    return line


def _cell_room(n_bins: np.ndarray, bits: int, tiling: BundleLayout) -> np.ndarray:
    """How many cells features take: eight columns that share a word, or the four that are left, lie at equal distances
    if they have many on average.

    The last feature of a bundle takes one more, for rows in which no feature differs from its usual bin.
    """
    room = n_bins + 1
    groups = tiling.groups
    for group in groups:
        room[group.stop - 1] += len(group) > 1
    if bits == 3:
        for first in range(0, len(groups), 8):
            size = 8 if len(groups) - first >= 8 else 4
            word = groups[first : first + size]
            cells = np.array([room[group.start : group.stop].sum() for group in word])
            if len(word) == size and cells.mean() > MANY_BINS:
                room[[group.stop - 1 for group in word]] += layout.FEATURE_STRIDE - cells
    return room


@dataclass(frozen=True, eq=False)
class RowRoom:
    """Room for the rows of a tree in leaf order, as many as there are."""

    whole: layout.RowPartition

    @classmethod
    def make(cls, shape: Shape, has_lines: bool) -> RowRoom:
        """Room for all rows."""
        n, p = shape.n_rows, shape.n_planes
        order, spare = np.empty(n, np.uint32), np.empty(n, np.uint32)
        lines = aligned_zeros((n, padded_planes(p)) if has_lines else (0, 0), np.dtype(np.int64))
        return cls(layout.RowPartition(order, spare, np.empty((p, n), np.int64), lines))

    def take(self, rows: np.ndarray | None, are_compact: bool = False) -> layout.RowPartition:
        """Put these rows at the root, in their order.

        All of them (None), or those whose gradients alone are there, are numbered when these are quantised.
        """
        order, spare, *_ = self.whole
        if rows is None:
            return self.whole
        m = len(rows)
        if not are_compact:
            order[:m] = rows
        return self.whole._replace(rows=order[:m], scratch=spare[:m])


def make_scales(shape: Shape) -> layout.Scales:
    """Room for the scales."""
    k = shape.n_outputs
    return layout.Scales(np.ones((k, 2)), np.ones((k, 2)), np.zeros((k, 2), np.int64))


def make_scratch(shape: Shape, most_bins: int) -> layout.Scratch:
    """Room of the members' own, on cache lines of their own."""
    k, p, t = shape.n_outputs, shape.n_planes, shape.members
    return layout.Scratch(
        floats=np.zeros((t, 4 * k + 8)),
        ints=np.zeros((t, 4 * p + 4 * k + 8 + max(3 * (most_bins + PADDING), CATEGORY_SCRATCH)), np.int64),
        leaf_sums=np.zeros((t, shape.max_leaves * (2 * k + 1)), np.int64),
    )


def pool_lines(shape: Shape, width: int, symmetric: bool) -> int:
    """How many histograms of so many cells are kept: one per leaf, but no more than fit into ``POOL_BYTES``.

    Members that expand leaves before their turn need some more. A leaf whose histogram was not kept is counted again
    when it is split. A symmetric tree needs those of all leaves that may be split at once, which are half of them.
    """
    if symmetric:
        return max(1, shape.max_leaves // 2)
    ahead = 0 if shape.members == 1 else shape.max_leaves // 4 + 2 * shape.members
    return min(shape.max_leaves + ahead, max(2, POOL_BYTES // (8 * width)))


def make_cells(
    shape: Shape, features: layout.FeatureMeta, symmetric: bool = False, has_lines: bool = False, counts: bool = True
) -> layout.Histograms:
    """Room for the histograms of leaves, and for the ``counts`` of rows in listed cells."""
    n_cells = int(features.offset[-1])
    width = shape.n_planes * n_cells
    lanes = padded_planes(shape.n_planes) if has_lines else shape.n_planes
    n_slots = pool_lines(shape, width, symmetric)
    is_counted = counts and not symmetric and len(features.csr_start) > 0
    return layout.Histograms(
        pool=np.empty((n_slots, width), np.int64),
        partial=aligned_zeros((shape.members, lanes * n_cells), np.dtype(np.int64)),
        bin_counts=np.zeros((shape.members, int(features.n_bins.max()) + 1), np.int64),
        sparse_counts=np.empty((n_slots, n_cells if is_counted else 0), np.int32),
        active=np.empty((n_slots, len(features.all_active)), np.int32),
        sorted_rows=np.empty((0, 0), np.uint32),
    )


def make_leaves(shape: Shape) -> layout.LeafTable:
    """Room for the leaves while the tree grows."""
    width = layout.LEAF_SUMS + 2 * shape.n_planes
    return layout.LeafTable(
        ints=np.zeros((3 * shape.max_leaves, width), np.int64),
        floats=np.zeros((3 * shape.max_leaves, layout.LEAF_FLOATS)),
    )


def make_search(shape: Shape, n_features: int) -> layout.SplitCandidates:
    """Room for the best split of each feature."""
    lines = 2 * shape.members
    return layout.SplitCandidates(
        gain=np.zeros((lines, n_features)),
        split=np.zeros((lines, n_features, layout.CANDIDATE_SUMS + shape.n_planes), np.int64),
        limits=np.tile(np.array([1, ANY_BIN] * 4, np.int64), (shape.members + 1, 1)),
        allowed=np.ones((lines, n_features), np.uint8),
        n_left=np.zeros((shape.members, 8), np.int64),
        schedule=np.zeros(layout.NEW_HISTS + shape.members, np.int64),
    )


def make_choice(shape: Shape, n_features: int, groups: np.ndarray, counts: tuple[int, int]) -> layout.ColumnSampler:
    """Which features leaves may use; ``counts`` are drawn per level and per node, 0 for all."""
    return layout.ColumnSampler(
        in_tree=np.ones(n_features, np.uint8),
        n_per_level=counts[0],
        n_per_node=counts[1],
        groups=groups,
        active_groups=np.ones((shape.max_leaves, len(groups)), np.uint8),
        hashes=np.zeros((shape.members, n_features), np.uint64),
    )


def make_nodes(shape: Shape) -> layout.TreeNodes:
    """Room for the finished tree."""
    width = layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT * shape.n_outputs
    return layout.TreeNodes(
        ints=np.zeros((shape.max_nodes, layout.NODE_INTS), np.int64),
        floats=np.zeros((shape.max_nodes, width)),
        info=np.zeros(3, np.int64),
    )


def make_worth(shape: Shape, most_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for judging the cuts of symmetric trees: the worth of each, and each member's best."""
    return np.zeros((shape.members, 2, 2, most_bins + 1)), np.zeros((shape.members, 8))
