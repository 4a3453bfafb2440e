"""How the features lie in the tiles that histograms are built from: one a column, or several that exclude each other.

Columns of which at most one differs from its usual bin in any row share a byte (exclusive feature bundling): it holds
the cell of the one that differs, counted from the first cell of the bundle, or the cell behind all of them where none
does. What the cells leave of a leaf's sums belongs to the usual bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.dataset import Dataset
from sapwood.data.encoder import aligned_zeros, tile_width

MOST_CELLS = 255  # of a bundle, beside that of rows in which no column differs
SAMPLE_ROWS = 2048  # to guess usual bins from
LEAST_USUAL = 0.5  # share of the rows in the usual bin
LEAST_SAVED = 0.125  # of the columns; less is not worth tiles of our own


@dataclass(frozen=True, eq=False)
class Tiling:
    """The features in each column of the tiles, and the usual bin of those that share one (−1: has its own)."""

    groups: tuple[range, ...]
    usual: np.ndarray

    @property
    def has_bundles(self) -> bool:
        """Tell whether any features share a column."""
        return bool((self.usual >= 0).any())

    @classmethod
    def plain(cls, n_features: int) -> Tiling:
        """A column for each feature."""
        return cls(tuple(range(f, f + 1) for f in range(n_features)), np.full(n_features, -1))

    @classmethod
    def find(cls, dataset: Dataset) -> Tiling:
        """Bundle neighbours that exclude each other, where that saves columns worth the name."""
        plain = cls.plain(dataset.n_features)
        if dataset.lists is not None or dataset.others:
            return plain
        usual = _usual_bins(dataset)
        groups = _exclusive_runs(dataset.columns, dataset.n_bins, usual)
        saved = dataset.n_features - len(groups)
        if saved < max(2, LEAST_SAVED * dataset.n_features):
            return plain
        for group in groups:
            if len(group) == 1:
                usual[group.start] = -1
        return cls(tuple(groups), usual)

    def tiles(self, dataset: Dataset) -> np.ndarray:
        """The bins of a dataset laid out so."""
        if not self.has_bundles:
            return dataset.tiles
        width = tile_width(len(self.groups), dataset.tiles.dtype)
        out = aligned_zeros((-(-len(self.groups) // width), dataset.n_rows, width), dataset.tiles.dtype)
        for place, group in enumerate(self.groups):
            out[place // width, :, place % width] = self._column(dataset, group)
        return out

    def _column(self, dataset: Dataset, group: range) -> np.ndarray:
        if len(group) == 1:
            return dataset.columns[group.start]
        sizes = dataset.n_bins[group.start : group.stop] + 1
        out = np.full(dataset.n_rows, sizes.sum(), dtype=dataset.columns.dtype)
        for f, offset in zip(group, np.cumsum(sizes) - sizes, strict=True):
            bins = dataset.columns[f]
            rows = np.flatnonzero(bins != self.usual[f])
            out[rows] = bins[rows] + out.dtype.type(offset)
        return out


def _usual_bins(dataset: Dataset) -> np.ndarray:
    """The bin of each feature that most rows of a sample are in, −1 where few are."""
    step = max(1, dataset.n_rows // SAMPLE_ROWS)
    found = np.full(dataset.n_features, -1)
    for f, bins in enumerate(dataset.columns[:, ::step]):
        counts = np.bincount(bins)
        if counts.max() >= LEAST_USUAL * len(bins) and dataset.n_bins[f] < MOST_CELLS:
            found[f] = int(counts.argmax())
    return found


def _exclusive_runs(columns: np.ndarray, n_bins: np.ndarray, usual: np.ndarray) -> list[range]:
    """Neighbouring columns of which at most one differs from its usual bin in any row; others alone."""
    groups: list[range] = []
    taken = np.zeros(columns.shape[1], dtype=bool)
    cells = 0
    for f, bins in enumerate(columns):
        size = int(n_bins[f]) + 1
        differs = bins != usual[f] if usual[f] >= 0 else None
        joins = groups and differs is not None and usual[f - 1] >= 0 and cells + size <= MOST_CELLS
        if joins and not (taken & differs).any():
            taken |= differs
            cells += size
            groups[-1] = range(groups[-1].start, f + 1)
            continue
        groups.append(range(f, f + 1))
        cells = size
        if differs is not None:
            np.copyto(taken, differs)
    return groups
