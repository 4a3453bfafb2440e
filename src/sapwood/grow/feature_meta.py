"""The features of a dataset as kernels see them: the cells of their bins, and slices of them for the threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.kernels import layout
from sapwood.kernels.histogram.sparse_bins import transpose_csr

MANY_BINS = 100  # on average, from which on the features of a word lie at equal distances


def make_features(
    dataset: BinnedDataset, members: int, bundle_layout: BundleLayout, monotone: np.ndarray | None = None
) -> layout.FeatureMeta:
    """Lay out the cells of the features of a dataset, and slice them for the members of a team."""
    order = bundle_layout.order
    n_bins = dataset.n_bins[order].astype(np.int64)
    log2_bits = 3 if dataset.tiles.dtype.itemsize == 1 else 4
    offset = _offsets(_cells_per_feature(n_bins, log2_bits, bundle_layout))
    first_of_column = np.array([group.start for group in bundle_layout.groups] + [len(n_bins)])
    tile_offset = offset[first_of_column]
    tile_slices = _slices(tile_offset, members)
    slices = first_of_column[tile_slices]
    return layout.FeatureMeta(
        n_bins=n_bins,
        offset=offset,
        slices=slices,
        monotone=np.zeros(len(order), dtype=np.int64) if monotone is None else monotone[order],
        log2_bits=log2_bits,
        category_kind=dataset.category_kinds[order],
        ids=order,
        column=order,
        default_bin=bundle_layout.default_bins,
        tile_offset=tile_offset,
        tile_slices=tile_slices,
        csr_start=np.empty(0, np.int64),
        csr_cells=np.empty(0, np.uint32),
        csc_start=np.empty(0, np.int64),
        csc_rows=np.empty(0, np.uint32),
        all_active=_all_active(offset, slices),
    )


def make_sparse_features(
    features: layout.FeatureMeta, sparse_bins: SparseBins, unsplittable: np.ndarray
) -> layout.FeatureMeta:  # fmt: skip
    """Lay out features of which some are sparse; those that are ``unsplittable`` get no cells."""
    offset = _offsets(np.where(unsplittable, 0, features.n_bins + 1))
    slices = _slices(offset, len(features.slices) - 3)
    sparse_bins = sparse_bins.drop_features(unsplittable)
    csc_start, csc_rows = np.empty(offset[-1] + 1, np.int64), np.empty_like(sparse_bins.entries)
    transpose_csr(sparse_bins.start, sparse_bins.entries, csc_start, csc_rows)
    in_tiles = np.flatnonzero(sparse_bins.column >= 0)
    return features._replace(
        offset=offset,
        slices=slices,
        column=sparse_bins.column,
        default_bin=sparse_bins.default_bins,
        tile_offset=np.append(offset[in_tiles], offset[-1]),
        tile_slices=np.searchsorted(in_tiles, slices),
        csr_start=sparse_bins.start,
        csr_cells=sparse_bins.entries,
        csc_start=csc_start,
        csc_rows=csc_rows,
        all_active=_all_active(offset, slices),
    )


def _offsets(n_cells: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(n_cells)]).astype(np.int64)


def _slices(offset: np.ndarray, members: int) -> np.ndarray:
    """Slice features, or columns, whose cells begin at these offsets: about as many cells for each member.

    The last two entries are a slice of all of them, for members that work alone.
    """
    slices = np.searchsorted(offset, [offset[-1] * t // members for t in range(members + 1)])
    slices[-1] = len(offset) - 1
    return np.append(slices, (0, len(offset) - 1)).astype(np.int64)


def _all_active(offset: np.ndarray, slices: np.ndarray) -> np.ndarray:
    """Return a row of ``Histograms.active`` in which all features that have cells are active."""
    members, has_cells = len(slices) - 3, np.diff(offset) > 0
    active = np.zeros(members + len(has_cells), np.int32)
    for t, (first, last) in enumerate(pairwise(slices[: members + 1].tolist())):
        found = first + np.flatnonzero(has_cells[first:last])
        active[t] = len(found)
        active[members + first : members + first + len(found)] = found
    return active


def _cells_per_feature(n_bins: np.ndarray, log2_bits: int, bundle_layout: BundleLayout) -> np.ndarray:
    """Return the number of cells of each feature: its bins and a cell for missing values.

    The last feature of a bundle has one more, for rows in which all of its features have their default bins. Eight
    columns of a word of bytes, or the four that are left, are padded to equal distances if they have many bins.
    """
    n_cells = n_bins + 1
    groups = bundle_layout.groups
    for group in groups:
        n_cells[group.stop - 1] += len(group) > 1
    if log2_bits == 3:
        for first in range(0, len(groups), 8):
            size = 8 if len(groups) - first >= 8 else 4
            word = groups[first : first + size]
            of_column = np.array([n_cells[group.start : group.stop].sum() for group in word])
            if len(word) == size and of_column.mean() > MANY_BINS:
                n_cells[[group.stop - 1 for group in word]] += layout.FEATURE_STRIDE - of_column
    return n_cells
