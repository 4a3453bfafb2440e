"""Sparse bins: the bins of sparse features by row, default bins left out; and the binning of sparse tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sapwood.data.binning.bin_edges import fixed_point_weights, gather_columns, limited_edges, midpoints, sample_rows
from sapwood.data.binning.bundling import Bundler
from sapwood.data.binning.max_bins import BinLimits, limits_array
from sapwood.data.tables.sparse import SparseTable
from sapwood.kernels.encode import binning
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, run_serial

MAX_SPARSE_DENSITY = 0.25  # fraction of stored values above which a column is faster in tiles
DENSE_COLUMNS = 64  # columns of more than max_bins values that become dense at a time
# Number of columns, and of bytes, up to which a table whose columns can be bundled is stored in tiles.
MAX_TILED_COLUMNS, MAX_TILED_BYTES = 1024, 1 << 29
MAX_BUNDLES_PER_ENTRY = 3.0


@dataclass(frozen=True, eq=False)
class SparseBins:
    """Histogram cells of the bins of each row that are not default bins, ascending, in CSR format.

    Those of a row are ``entries[start[row]]`` to ``entries[start[row + 1] - 1]``. The cell of a bin of feature f is
    ``first_cell[f]`` plus the bin. ``column`` is the index of a dense feature among the dense ones, −1 for sparse
    features; ``default_bins`` are those of sparse features, −1 for dense ones.
    """

    start: np.ndarray
    entries: np.ndarray
    first_cell: np.ndarray
    n_bins: np.ndarray
    column: np.ndarray
    default_bins: np.ndarray

    @classmethod
    def from_entries(
        cls, rows: np.ndarray, features: np.ndarray, bins: np.ndarray, n_rows: int, n_bins: np.ndarray,
        default_bins: np.ndarray,
    ) -> SparseBins:  # fmt: skip
        """Build sparse bins from entries (row, feature, bin); default bins and bins of dense features are dropped."""
        first_cell = np.concatenate([[0], np.cumsum(n_bins + 1)]).astype(np.int64)
        kept = (default_bins[features] >= 0) & (bins != default_bins[features])
        rows, cells = rows[kept], (first_cell[features[kept]] + bins[kept]).astype(np.uint32)
        order = np.lexsort((cells, rows))
        start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))]).astype(np.int64)
        is_sparse = default_bins >= 0
        column = np.where(is_sparse, -1, np.cumsum(~is_sparse) - 1)
        return cls(start, np.ascontiguousarray(cells[order]), first_cell, n_bins, column, default_bins)

    @property
    def nbytes(self) -> int:
        """Bytes of the entries and their offsets."""
        return self.start.nbytes + self.entries.nbytes

    @property
    def table(self) -> np.ndarray:
        """A row per feature for kernels: dense column, first cell, number of bins and default bin."""
        return np.stack([self.column, self.first_cell[:-1], self.n_bins, self.default_bins], axis=1).astype(np.int64)

    def counts(self) -> np.ndarray:
        """Return the number of entries of each feature."""
        return np.bincount(self._entry_features(), minlength=len(self.default_bins))

    def rows_by_feature(self) -> list[np.ndarray]:
        """Return the ascending rows of the entries of each feature."""
        features = self._entry_features()
        rows = self._entry_rows()[np.argsort(features, kind="stable")]
        return np.split(rows, np.cumsum(np.bincount(features, minlength=len(self.default_bins)))[:-1])

    def _entry_features(self) -> np.ndarray:
        """Return the feature of each entry."""
        return np.repeat(np.arange(len(self.default_bins)), np.diff(self.first_cell))[self.entries]

    def _entry_rows(self) -> np.ndarray:
        """Return the row of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def drop_features(self, features: np.ndarray) -> SparseBins:
        """Return the sparse bins without the features marked True, which then have no cells."""
        if not features.any():
            return self
        of_entry = self._entry_features()
        sizes = np.where(features, 0, np.diff(self.first_cell))
        first_cell = np.concatenate([[0], np.cumsum(sizes)])
        cells = self.entries.astype(np.int64) + (first_cell - self.first_cell)[of_entry]
        default_bins = np.where(features, -1, self.default_bins)
        kept = self._filter(~features[of_entry], cells.astype(np.uint32))
        return replace(kept, first_cell=first_cell, default_bins=default_bins)

    def drop_entries(self, positions: np.ndarray) -> SparseBins:
        """Return the sparse bins without the entries at ``positions`` (row, feature), which get default bins."""
        n_features = len(self.default_bins)
        keys = self._entry_rows() * n_features + self._entry_features()
        return self._filter(~np.isin(keys, positions[:, 0] * n_features + positions[:, 1]), self.entries)

    def _filter(self, kept: np.ndarray, entries: np.ndarray) -> SparseBins:
        """Return the sparse bins with new ``entries``, of which those marked by ``kept`` stay."""
        start = np.concatenate([[0], np.cumsum(kept)])[self.start]
        return replace(self, start=start, entries=entries[kept])

    def take(self, rows: np.ndarray) -> SparseBins:
        """Return the sparse bins of some rows."""
        lengths = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.repeat(self.start[:-1][rows] - start[:-1], lengths) + np.arange(start[-1])
        return replace(self, start=start, entries=self.entries[indices])


def find_sparse_edges(
    table: SparseTable, weight: np.ndarray | None, max_bins: BinLimits, seed: int, row_ids: np.ndarray, run: Run
) -> list[np.ndarray]:
    """Return the edges that ``find_edges`` would find for the dense table.

    Edges of a column of at most ``max_bins`` distinct values lie between any two neighbours, whatever their counts, so
    only other columns become dense.
    """
    rows = sample_rows(row_ids, seed, run)
    if len(rows) < table.n_rows:
        sample = table.take(rows)
        assert isinstance(sample, SparseTable)
        table = sample
    column, value = _distinct_values(table)
    counts = np.bincount(column, minlength=table.n_features)
    between = midpoints(value[:-1].astype(np.float64), value[1:].astype(np.float64))[column[1:] == column[:-1]]
    edges = np.split(between, np.cumsum(np.maximum(counts - 1, 0))[:-1])
    limits = limits_array(max_bins, table.n_features)
    with_quantiles = np.flatnonzero(counts > limits)
    weights = np.empty(0, dtype=np.int64) if weight is None else fixed_point_weights(weight[rows])
    all_rows = np.arange(table.n_rows, dtype=np.int64)
    for first in range(0, len(with_quantiles), DENSE_COLUMNS):
        columns = with_quantiles[first : first + DENSE_COLUMNS]
        values = gather_columns(table.select(columns.tolist()), all_rows, 0, len(columns), run)
        for f, found in zip(columns, limited_edges(values, weights, limits[columns], run), strict=True):
            edges[f] = found
    return edges


def _distinct_values(table: SparseTable) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of all columns, ascending in each, and the column of each; missing ones left out."""
    n_stored = np.diff(table.start)
    kept = _changed_entries(table)
    column = np.searchsorted(table.start, kept, side="right") - 1
    with_zero = np.flatnonzero((n_stored < table.n_rows) & (not table.zero_as_missing))
    column = np.concatenate([column, with_zero])
    value = np.concatenate([table.values[kept], np.zeros(len(with_zero), table.dtype)])
    order = np.lexsort((value, column))
    column, value = column[order], value[order]
    is_first = np.ones(len(column), dtype=bool)
    is_first[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    return column[is_first], value[is_first]


def _changed_entries(table: SparseTable) -> np.ndarray:
    """Return the indices of the entries that are not missing and differ from the entry before in their column."""
    is_changed = np.ones(len(table.values), dtype=bool)
    np.not_equal(table.values[1:], table.values[:-1], out=is_changed[1:])
    begins = table.start[:-1]
    is_changed[begins[begins < len(is_changed)]] = True
    return np.flatnonzero(is_changed & ~np.isnan(table.values))


def encode_entries(table: SparseTable, edges: Sequence[np.ndarray], run: Run = run_serial) -> np.ndarray:
    """Return the bin of each stored entry, column by column."""
    bins = np.empty(len(table.values), dtype=np.uint32)
    flat, starts = _flatten(edges)
    run(binning.assign_bins_sparse, table.values, table.start.astype(np.int64), flat, starts, bins)
    return bins


def encode_implicit(table: SparseTable, edges: Sequence[np.ndarray]) -> np.ndarray:
    """Return the bin of the values that are not stored in each column: that of 0, or of missing values."""
    if table.zero_as_missing:
        return np.zeros(len(edges), dtype=np.int64)
    flat, starts = _flatten(edges)
    n_below = np.concatenate([[0], np.cumsum(flat < 0.0)])
    return n_below[starts[1:]] - n_below[starts[:-1]] + 1


def _flatten(edges: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of all columns as one array, and the start of each column's, their total number last."""
    starts = np.concatenate([[0], np.cumsum([len(column) for column in edges])]).astype(np.int64)
    return np.concatenate([np.empty(0), *edges]), starts


def choose_sparse_columns(table: SparseTable, edges: Sequence[np.ndarray], bundle: bool) -> np.ndarray | None:
    """Return the default bins of the columns to be stored as sparse bins, −1 for the others; None if all are others.

    Columns that can be bundled are stored in tiles if ``bundle`` is True.
    """
    is_sparse = np.diff(table.start) <= MAX_SPARSE_DENSITY * table.n_rows
    if not is_sparse.any() or (bundle and _prefers_bundles(table, edges)):
        return None
    return np.where(is_sparse, encode_implicit(table, edges), -1)


def _prefers_bundles(table: SparseTable, edges: Sequence[np.ndarray]) -> bool:
    """Return whether tiles are faster: for a small table whose columns mostly exclude each other.

    Such columns share bytes of tiles, and a row has about as many bytes as entries.
    """
    n, p = table.n_rows, table.n_features
    if p > MAX_TILED_COLUMNS or 2 * n * p > MAX_TILED_BYTES:
        return False
    bundler = Bundler(n)
    for f, (first, last) in enumerate(pairwise(table.start.tolist())):
        bundler.add(f, table.rows[first:last], len(edges[f]) + 2)
    return len(bundler.bundles) <= MAX_BUNDLES_PER_ENTRY * (len(table.values) / n + 1.0)


def encode_sparse_table(
    table: SparseTable, edges: Sequence[np.ndarray], tiles: np.ndarray, columns: np.ndarray, run: Run = run_serial
) -> None:  # fmt: skip
    """Write the bins of a sparse table into tiles (tile, row, byte), and into columns (feature, row) unless empty."""
    bins, implicit = encode_entries(table, edges, run), encode_implicit(table, edges)
    n_tiles, _, width = tiles.shape
    tile_row = np.zeros(n_tiles * width, dtype=tiles.dtype)
    tile_row[: len(implicit)] = implicit
    tiles[:] = tile_row.reshape(n_tiles, 1, width)
    if len(columns):
        columns[:] = implicit[:, None]
    for f, (first, last) in enumerate(pairwise(table.start.tolist())):
        rows, stored = table.rows[first:last], bins[first:last].astype(tiles.dtype)
        tiles[f // width, :, f % width][rows] = stored
        if len(columns):
            columns[f, rows] = stored
