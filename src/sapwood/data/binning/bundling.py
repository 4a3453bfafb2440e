"""Exclusive feature bundling: columns that never, or rarely, differ from their default bins in the same row.

Such columns, like those of a one-hot encoding, share a byte of a tile. It holds the histogram cell of the column that
differs, counted from the first cell of the bundle, or the cell after all of them where none differs. The sums of the
default bins are the sums of the leaf minus those of the other cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.binning.tiles import aligned_zeros, tile_width
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.lazy_dataclass import dataclass
from sapwood.params.options import Bundle

if TYPE_CHECKING:
    from sapwood.data.binning.binned_dataset import BinnedDataset

MAX_CELLS = 255  # of a bundle, besides that of rows in which no column differs
MIN_DEFAULT_FRACTION = 0.5  # of the rows that have the default bin
MAX_OPEN = (
    64  # bundles that a column is tried on, each a bit of a word per row; the older half is closed when all are used
)
PROBED_ROWS = 4096  # of a column that are tried before the others
SAMPLE_ROWS = 2048  # from which default bins are estimated
MIN_SAVED_FRACTION = 0.125  # of the columns that "auto" must save, else separate tiles cost more than they save
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass
class _OpenBundle:
    """A bundle to which columns can be added."""

    columns: list[int]
    cells: int
    conflicts: int = 0


class Bundler:
    """Add columns one by one to the first bundle that each fits.

    The number of conflicts of a bundle, rows in which several of its columns differ, is at most ``max_conflicts``. They
    are counted in the rows of all ``workers``, if conflicts are allowed.
    """

    def __init__(self, n_rows: int, max_conflicts: int = 0, workers: Workers = LOCAL) -> None:
        self._occupied = np.zeros(n_rows, dtype=np.uint64)  # bit b: a column of the open bundle b differs in the row
        self._max_conflicts = max_conflicts
        self._workers = workers
        self._open: list[_OpenBundle] = []
        self.bundles: list[list[int]] = []

    def add(self, column: int, rows: np.ndarray, cells: int) -> np.ndarray:
        """Add a column that differs from its default bin in ``rows``; return the rows of conflicts."""
        occupied = self._read_occupied(rows)
        overlap = int(np.bitwise_or.reduce(occupied))
        counts = self._count_conflicts(occupied) if self._workers.splits_rows else None
        for b, bundle in enumerate(self._open):
            overlaps = overlap >> b & 1
            if (overlaps and self._max_conflicts == 0) or bundle.cells + cells > MAX_CELLS:
                continue
            conflicts = rows[_has_bit(occupied, b)] if overlaps else NO_ROWS
            n_conflicts = len(conflicts) if counts is None else counts[b]
            if bundle.conflicts + n_conflicts <= self._max_conflicts:
                bundle.columns.append(column)
                bundle.cells += cells
                bundle.conflicts += n_conflicts
                self._occupied[rows] = occupied | np.uint64(1 << b)
                return conflicts
        self._open_bundle(column, rows, cells)
        return NO_ROWS

    def _count_conflicts(self, occupied: np.ndarray) -> list[int]:
        """Return the number of rows of all workers that overlap each open bundle."""
        counts = [np.count_nonzero(_has_bit(occupied, b)) for b in range(len(self._open))]
        return self._workers.sum(np.array(counts, dtype=np.int64)).tolist()

    def _read_occupied(self, rows: np.ndarray) -> np.ndarray:
        """Return the words of rows, of the first only if these overlap all open bundles and no conflict is allowed."""
        if len(rows) > PROBED_ROWS and self._max_conflicts == 0:
            words = self._occupied.take(rows[:PROBED_ROWS])
            if int(np.bitwise_or.reduce(words)) == (1 << len(self._open)) - 1:
                return words
        return self._occupied.take(rows)

    def _open_bundle(self, column: int, rows: np.ndarray, cells: int) -> None:
        if len(self._open) == MAX_OPEN:
            self._open = self._open[MAX_OPEN // 2 :]
            self._occupied >>= np.uint64(MAX_OPEN // 2)
        self._occupied[rows] |= np.uint64(1 << len(self._open))
        self._open.append(_OpenBundle([column], cells))
        self.bundles.append(self._open[-1].columns)


def _has_bit(words: np.ndarray, bit: int) -> np.ndarray:
    return (words >> np.uint64(bit) & np.uint64(1)).astype(bool)


def find_default_bins(columns: np.ndarray, step: int = 1, workers: Workers = LOCAL) -> np.ndarray:
    """Return the most frequent bin of each column in every ``step``-th row, −1 if less than half of them have it.

    The rows are those of all ``workers``.
    """
    default_bins = np.full(len(columns), -1)
    of_columns: Iterable[np.ndarray] = map(np.bincount, columns[:, ::step])
    if workers.splits_rows:
        n_bins = int(workers.max(np.array([columns.max(initial=0)], dtype=np.int64))[0]) + 1
        of_columns = workers.sum(np.array([np.bincount(bins, minlength=n_bins) for bins in columns[:, ::step]]))
    for k, counts in enumerate(of_columns):
        if counts.max() >= MIN_DEFAULT_FRACTION * counts.sum():
            default_bins[k] = int(counts.argmax())
    return default_bins


@dataclass(frozen=True, eq=False)
class BundleLayout:
    """The features in the ``order`` of their histogram cells, those of a bundle side by side.

    ``groups`` are the positions in this order of the features in each byte of the tiles; ``default_bins`` are those of
    bundled features by position, −1 for features with a byte of their own.
    """

    order: np.ndarray
    groups: tuple[range, ...]
    default_bins: np.ndarray

    @property
    def has_bundles(self) -> bool:
        """Whether any features are bundled."""
        return len(self.groups) < len(self.order)

    @property
    def is_reordered(self) -> bool:
        """Whether features of a bundle are not neighbours in the table."""
        return bool((np.diff(self.order) < 0).any())

    @classmethod
    def unbundled(cls, n_features: int) -> BundleLayout:
        """Return the layout with a byte for each feature."""
        groups = tuple(range(f, f + 1) for f in range(n_features))
        return cls(np.arange(n_features), groups, np.full(n_features, -1))

    @classmethod
    def find(cls, dataset: BinnedDataset, bundle: object = "auto") -> BundleLayout:
        """Bundle features that exclude each other, unless ``bundle`` is False; if it pays for "auto"."""
        n = dataset.n_features
        if bundle is False or dataset.sparse_bins is not None or dataset.permuted:
            return cls.unbundled(n)
        default_bins = find_default_bins(dataset.columns, max(1, dataset.n_rows // SAMPLE_ROWS))
        bundles = _bundle_exclusive(dataset, default_bins)
        is_requested = bundle is True or isinstance(bundle, Bundle)
        if n - len(bundles) < (1 if is_requested else max(2, MIN_SAVED_FRACTION * n)):
            return cls.unbundled(n)
        ends = np.cumsum([0] + [len(features) for features in bundles]).tolist()
        for features in bundles:
            if len(features) == 1:
                default_bins[features[0]] = -1
        order = np.concatenate(bundles)
        return cls(order, tuple(range(first, last) for first, last in pairwise(ends)), default_bins[order])

    def tiles(self, dataset: BinnedDataset) -> np.ndarray:
        """Return the bins of a dataset as tiles in this layout."""
        if not self.has_bundles:
            return dataset.tiles
        width = tile_width(len(self.groups), dataset.tiles.dtype)
        out = aligned_zeros((-(-len(self.groups) // width), dataset.n_rows, width), dataset.tiles.dtype)
        for k, group in enumerate(self.groups):
            out[k // width, :, k % width] = self._encode_group(dataset, group)
        return out

    def _encode_group(self, dataset: BinnedDataset, group: range) -> np.ndarray:
        features = self.order[group.start : group.stop]
        if len(features) == 1:
            return dataset.columns[features[0]]
        sizes = dataset.n_bins[features] + 1
        out = np.full(dataset.n_rows, sizes.sum(), dtype=dataset.columns.dtype)
        # At most one feature differs: its addition to the cell after all cells wraps around to its own cell.
        for k, f, cells_from_here in zip(group, features, np.cumsum(sizes[::-1])[::-1], strict=True):
            bins = dataset.columns[f]
            out += (bins - out.dtype.type(cells_from_here)) * (bins != self.default_bins[k])
        return out


def _bundle_exclusive(dataset: BinnedDataset, default_bins: np.ndarray) -> list[list[int]]:
    """Return bundles of features of which at most one differs from its default bin in any row; others alone."""
    bundler = Bundler(dataset.n_rows)
    alone = []
    for f, bins in enumerate(dataset.columns):
        if default_bins[f] < 0:
            alone.append([f])
        else:
            bundler.add(f, np.flatnonzero(bins != default_bins[f]), int(dataset.n_bins[f]) + 1)
    return sorted(alone + bundler.bundles)


def remove_conflicts(dataset: BinnedDataset, max_fraction: float, workers: Workers = LOCAL) -> BinnedDataset:
    """Set bins to default bins so that columns with few conflicts exclude each other: all but the first differing one.

    A bundle has conflicts in at most ``max_fraction`` of the rows of all ``workers``. Dense and sparse columns are
    treated alike.
    """
    bundler = Bundler(dataset.n_rows, int(max_fraction * workers.count_rows(dataset.n_rows)), workers)
    default_bins = find_default_bins(dataset.columns, workers=workers)
    columns, tiles, width = dataset.columns.copy(), dataset.tiles.copy(), dataset.tiles.shape[2]
    dropped = [np.empty((0, 2), dtype=np.intp)]
    for f, k, rows in _features_with_default(dataset, default_bins):
        conflicts = bundler.add(f, rows, int(dataset.n_bins[f]) + 1)
        if k < 0:
            dropped.append(np.stack([conflicts, np.full(len(conflicts), f)], axis=1))
        else:
            columns[k, conflicts] = default_bins[k]
            tiles[k // width, conflicts, k % width] = default_bins[k]
    sparse_bins = dataset.sparse_bins
    if sparse_bins is not None:
        sparse_bins = sparse_bins.drop_entries(np.concatenate(dropped))
    return replace(dataset, columns=columns, tiles=tiles, sparse_bins=sparse_bins)


def _features_with_default(
    dataset: BinnedDataset, default_bins: np.ndarray
) -> Iterator[tuple[int, int, np.ndarray]]:  # fmt: skip
    """Yield features with a default bin, their indices among dense columns (−1: sparse), and the rows that differ."""
    sparse = dataset.sparse_bins
    rows_by_feature = [] if sparse is None else sparse.rows_by_feature()
    for f in range(dataset.n_features):
        k = f if sparse is None else int(sparse.column[f])
        if k < 0:
            yield f, k, rows_by_feature[f]
        elif default_bins[k] >= 0:
            yield f, k, np.flatnonzero(dataset.columns[k] != default_bins[k])
