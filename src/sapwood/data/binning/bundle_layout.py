"""How the features lie in the tiles that histograms are built from: one a column, or several that exclude each other.

Columns of which at most one differs from its usual bin in any row share a byte (``data/binning/bundling.py``): it
holds the cell of the one that differs, counted from the first cell of the bundle, or the cell behind all of them where
none does.
What the cells leave of a leaf's sums belongs to the usual bins.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sapwood.data.binning.bin_mapper import aligned_zeros, tile_width
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import Bundler, usual_bins
from sapwood.params.options import Bundle

SAMPLE_ROWS = 2048  # to guess usual bins from
LEAST_SAVED = 0.125  # of the columns; less is not worth tiles of our own


@dataclass(frozen=True, eq=False)
class BundleLayout:
    """The features in the ``order`` in which their cells lie, those that share a column of the tiles side by side.

    ``groups`` are the places in this order of the features in each column; ``usual`` is the usual bin, by place, of
    those that share one (−1: has its own).
    """

    order: np.ndarray
    groups: tuple[range, ...]
    usual: np.ndarray

    @property
    def has_bundles(self) -> bool:
        """Tell whether any features share a column."""
        return len(self.groups) < len(self.order)

    @property
    def is_reordered(self) -> bool:
        """Tell whether features that share a column were not neighbours."""
        return bool((np.diff(self.order) < 0).any())

    @classmethod
    def plain(cls, n_features: int) -> BundleLayout:
        """A column for each feature."""
        every = np.arange(n_features)
        return cls(every, tuple(range(f, f + 1) for f in range(n_features)), np.full(n_features, -1))

    @classmethod
    def find(cls, dataset: BinnedDataset, bundle: object = "auto") -> BundleLayout:
        """Bundle features that exclude each other, unless ``bundle`` is False; where that pays if it is "auto"."""
        n = dataset.n_features
        if bundle is False or dataset.lists is not None or dataset.others:
            return cls.plain(n)
        usual = usual_bins(dataset.columns, max(1, dataset.n_rows // SAMPLE_ROWS))
        bundles = _exclusive(dataset, usual)
        is_asked_for = bundle is True or isinstance(bundle, Bundle)
        if n - len(bundles) < (1 if is_asked_for else max(2, LEAST_SAVED * n)):
            return cls.plain(n)
        ends = np.cumsum([0] + [len(one) for one in bundles]).tolist()
        for one in bundles:
            if len(one) == 1:
                usual[one[0]] = -1
        order = np.concatenate(bundles)
        return cls(order, tuple(range(first, last) for first, last in pairwise(ends)), usual[order])

    def tiles(self, dataset: BinnedDataset) -> np.ndarray:
        """The bins of a dataset laid out so."""
        if not self.has_bundles:
            return dataset.tiles
        width = tile_width(len(self.groups), dataset.tiles.dtype)
        out = aligned_zeros((-(-len(self.groups) // width), dataset.n_rows, width), dataset.tiles.dtype)
        for place, group in enumerate(self.groups):
            out[place // width, :, place % width] = self._column(dataset, group)
        return out

    def _column(self, dataset: BinnedDataset, group: range) -> np.ndarray:
        features = self.order[group.start : group.stop]
        if len(features) == 1:
            return dataset.columns[features[0]]
        sizes = dataset.n_bins[features] + 1
        out = np.full(dataset.n_rows, sizes.sum(), dtype=dataset.columns.dtype)
        # At most one of them differs: what it adds to the cell behind all goes around to its own.
        for place, f, behind in zip(group, features, np.cumsum(sizes[::-1])[::-1], strict=True):
            bins = dataset.columns[f]
            out += (bins - out.dtype.type(behind)) * (bins != self.usual[place])
        return out


def _exclusive(dataset: BinnedDataset, usual: np.ndarray) -> list[list[int]]:
    """Bundles of features of which at most one differs from its usual bin in any row; others alone."""
    bundler = Bundler(dataset.n_rows)
    alone = []
    for f, bins in enumerate(dataset.columns):
        if usual[f] < 0:
            alone.append([f])
        else:
            bundler.add(f, np.flatnonzero(bins != usual[f]), int(dataset.n_bins[f]) + 1)
    return sorted(alone + bundler.bundles)
