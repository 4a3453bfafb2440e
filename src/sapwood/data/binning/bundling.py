"""Columns that never, or hardly ever, differ from their usual bins in the same row: exclusive feature bundling.

Such columns, like those of a one-hot encoding, can share a byte: it tells which of them differs, and how.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.binning.tiles import aligned_zeros, tile_width
from sapwood.params.options import Bundle

if TYPE_CHECKING:
    from sapwood.data.binning.binned_dataset import BinnedDataset

MOST_CELLS = 255  # of a bundle, beside that of rows in which no column differs
LEAST_USUAL = 0.5  # share of the rows in the usual bin
OPEN = 64  # bundles that a column is tried on, each a bit of a word per row; half of them are closed when all are used
AT_ONCE = 4096  # rows that are looked at before it is asked whether that was enough
SAMPLE_ROWS = 2048  # to guess usual bins from
LEAST_SAVED = 0.125  # of the columns; less is not worth tiles of our own
NONE = np.empty(0, dtype=np.intp)


@dataclass
class _Open:
    """A bundle that takes further columns."""

    members: list[int]
    cells: int
    conflicts: int = 0


class Bundler:
    """Puts columns one by one into the first bundle that each fits.

    Columns of a bundle together differ in at most ``most_conflicts`` rows in which one of them did already.
    """

    def __init__(self, n_rows: int, most_conflicts: int = 0) -> None:
        self._taken = np.zeros(n_rows, dtype=np.uint64)  # bit b: a column of the open bundle b differs in the row
        self._most = most_conflicts
        self._open: list[_Open] = []
        self.bundles: list[list[int]] = []

    def add(self, column: int, rows: np.ndarray, cells: int) -> np.ndarray:
        """Put in a column that differs in some rows; return those of them in which it does not count as differing."""
        words = self._look(rows)
        met = int(np.bitwise_or.reduce(words))
        for b, bundle in enumerate(self._open):
            is_met = met >> b & 1
            if (is_met and self._most == 0) or bundle.cells + cells > MOST_CELLS:
                continue
            lost = rows[(words >> np.uint64(b) & np.uint64(1)).astype(bool)] if is_met else NONE
            if bundle.conflicts + len(lost) <= self._most:
                bundle.members.append(column)
                bundle.cells += cells
                bundle.conflicts += len(lost)
                self._taken[rows] = words | np.uint64(1 << b)
                return lost
        self._begin(column, rows, cells)
        return NONE

    def _look(self, rows: np.ndarray) -> np.ndarray:
        """The words of rows: of the first ones only, if these meet all open bundles and no conflict is allowed."""
        if len(rows) > AT_ONCE and self._most == 0:
            words = self._taken.take(rows[:AT_ONCE])
            if int(np.bitwise_or.reduce(words)) == (1 << len(self._open)) - 1:
                return words
        return self._taken.take(rows)

    def _begin(self, column: int, rows: np.ndarray, cells: int) -> None:
        if len(self._open) == OPEN:
            self._open = self._open[OPEN // 2 :]
            self._taken >>= np.uint64(OPEN // 2)
        self._taken[rows] |= np.uint64(1 << len(self._open))
        self._open.append(_Open([column], cells))
        self.bundles.append(self._open[-1].members)


def usual_bins(columns: np.ndarray, step: int = 1) -> np.ndarray:
    """The bin that most rows have in each column, as far as every ``step``-th row tells; −1 where they are few."""
    found = np.full(len(columns), -1)
    for place, bins in enumerate(columns[:, ::step]):
        counts = np.bincount(bins)
        if counts.max() >= LEAST_USUAL * len(bins):
            found[place] = int(counts.argmax())
    return found


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


def remove_conflicts(dataset: BinnedDataset, share: float) -> BinnedDataset:
    """The same rows, where columns that meet in few rows do not: in these, all but the first have their usual bins.

    The columns of a bundle meet in at most this ``share`` of the rows. Bytes and lists come to the same.
    """
    bundler = Bundler(dataset.n_rows, int(share * dataset.n_rows))
    usual = usual_bins(dataset.columns)
    columns, tiles, width = dataset.columns.copy(), dataset.tiles.copy(), dataset.tiles.shape[2]
    lost = [np.empty((0, 2), dtype=np.intp)]
    for f, place, rows in _differing(dataset, usual):
        met = bundler.add(f, rows, int(dataset.n_bins[f]) + 1)
        if place < 0:
            lost.append(np.stack([met, np.full(len(met), f)], axis=1))
        else:
            columns[place, met] = usual[place]
            tiles[place // width, met, place % width] = usual[place]
    lists = None if dataset.lists is None else dataset.lists.without_entries(np.concatenate(lost))
    return replace(dataset, columns=columns, tiles=tiles, lists=lists)


def _differing(dataset: BinnedDataset, usual: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Each feature that mostly has its usual bin, its place among the columns (−1: listed), and where it differs."""
    lists = dataset.lists
    by_feature = [] if lists is None else lists.rows_by_feature()
    for f in range(dataset.n_features):
        place = f if lists is None else int(lists.column[f])
        if place < 0:
            yield f, place, by_feature[f]
        elif usual[place] >= 0:
            yield f, place, np.flatnonzero(dataset.columns[place] != usual[place])
