"""Columns that nearly always have the same bin, as lists of the rows' other bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sapwood.data.binning.bundling import Bundler
from sapwood.data.binning.edges import cut_sample, gather, middle, sample_rows, weight_units
from sapwood.data.tables.sparse import SparseTable
from sapwood.kernels.encode import binning
from sapwood.native.runtime.kernel import Run, run_serial

# A column with more than this share of other bins is quicker to read as bytes.
MOST_LISTED = 0.25
DENSE_COLUMNS = 64  # columns of many values that are made dense at a time
# Columns of a table in bytes, and its bytes, up to which it is not listed if its columns exclude each other.
MOST_TILED, TILED_BYTES = 1024, 1 << 29
BUNDLES_PER_ENTRY = 3.0


@dataclass(frozen=True, eq=False)
class SparseBins:
    """The cells that each row lists, ascending: entries[start[row]] to entries[start[row + 1]].

    The cells of column f are ``first_cell[f]`` plus its bins. ``column`` is the place of each column among those that
    are not listed, −1 for the others; ``usual`` is the bin that is not listed, −1 for columns that are not listed.
    """

    start: np.ndarray
    entries: np.ndarray
    first_cell: np.ndarray
    n_bins: np.ndarray
    column: np.ndarray
    usual: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes held by the lists."""
        return self.start.nbytes + self.entries.nbytes

    @property
    def table(self) -> np.ndarray:
        """A line per column: its place, first cell, bins and usual bin."""
        return np.stack([self.column, self.first_cell[:-1], self.n_bins, self.usual], axis=1).astype(np.int64)

    def counts(self) -> np.ndarray:
        """How many rows list each column."""
        return np.bincount(self._columns(), minlength=len(self.usual))

    def rows_by_feature(self) -> list[np.ndarray]:
        """The rows that list each feature, ascending."""
        of_entry = self._columns()
        rows = self._rows()[np.argsort(of_entry, kind="stable")]
        return np.split(rows, np.cumsum(np.bincount(of_entry, minlength=len(self.usual)))[:-1])

    def _columns(self) -> np.ndarray:
        """The column of each entry."""
        return np.repeat(np.arange(len(self.usual)), np.diff(self.first_cell))[self.entries]

    def _rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def without(self, features: np.ndarray) -> SparseBins:
        """The lists without some features, which then have no cells."""
        if not features.any():
            return self
        of_entry = self._columns()
        sizes = np.where(features, 0, np.diff(self.first_cell))
        first_cell = np.concatenate([[0], np.cumsum(sizes)])
        moved = self.entries.astype(np.int64) + (first_cell - self.first_cell)[of_entry]
        usual = np.where(features, -1, self.usual)
        shorter = self._keeping(~features[of_entry], moved.astype(np.uint32))
        return replace(shorter, first_cell=first_cell, usual=usual)

    def without_entries(self, places: np.ndarray) -> SparseBins:
        """The lists without those entries that are at places (row, feature), which get their usual bins."""
        n_features = len(self.usual)
        own = self._rows() * n_features + self._columns()
        return self._keeping(~np.isin(own, places[:, 0] * n_features + places[:, 1]), self.entries)

    def _keeping(self, kept: np.ndarray, entries: np.ndarray) -> SparseBins:
        """The lists with these entries in place of theirs, of which some are kept."""
        start = np.concatenate([[0], np.cumsum(kept)])[self.start]
        return replace(self, start=start, entries=entries[kept])

    def take(self, rows: np.ndarray) -> SparseBins:
        """The lists of some rows."""
        lengths = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.start[:-1][rows] - start[:-1], lengths) + np.arange(start[-1])
        return SparseBins(start, self.entries[places], self.first_cell, self.n_bins, self.column, self.usual)


def make_sparse_bins(
    rows: np.ndarray, features: np.ndarray, bins: np.ndarray, n_rows: int, n_bins: np.ndarray, usual: np.ndarray
) -> SparseBins:  # fmt: skip
    """Lists from entries (row, feature, bin); those in usual bins or of columns that are not listed are left out.

    ``usual`` is −1 for columns that are not listed.
    """
    first_cell = np.concatenate([[0], np.cumsum(n_bins + 1)]).astype(np.int64)
    kept = (usual[features] >= 0) & (bins != usual[features])
    rows, cells = rows[kept], (first_cell[features[kept]] + bins[kept]).astype(np.uint32)
    order = np.lexsort((cells, rows))
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))]).astype(np.int64)
    is_listed = usual >= 0
    column = np.where(is_listed, -1, np.cumsum(~is_listed) - 1)
    return SparseBins(start, np.ascontiguousarray(cells[order]), first_cell, n_bins, column, usual)


def find_sparse_edges(
    table: SparseTable, weight: np.ndarray | None, max_bins: int, seed: int, row_ids: np.ndarray, run: Run
) -> list[np.ndarray]:
    """The edges that ``find_edges`` would find for the dense table.

    A column of few distinct values is cut between all of them, whatever their numbers; only the others are made dense.
    """
    rows = sample_rows(row_ids, seed, run)
    if len(rows) < table.n_rows:
        taken = table.take(rows)
        assert isinstance(taken, SparseTable)
        table = taken
    column, value = _distinct(table)
    counts = np.bincount(column, minlength=table.n_features)
    between = middle(value[:-1].astype(np.float64), value[1:].astype(np.float64))[column[1:] == column[:-1]]
    edges = np.split(between, np.cumsum(np.maximum(counts - 1, 0))[:-1])
    many = np.flatnonzero(counts > max_bins)
    units = np.empty(0, dtype=np.int64) if weight is None else weight_units(weight[rows])
    every = np.arange(table.n_rows, dtype=np.int64)
    for first in range(0, len(many), DENSE_COLUMNS):
        part = many[first : first + DENSE_COLUMNS]
        values = gather(table.select(part.tolist()), every, 0, len(part), run)
        for f, line in zip(part, cut_sample(values, units, max_bins, run), strict=True):
            edges[f] = line
    return edges


def _distinct(table: SparseTable) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of every column, zeros that are not stored included and missing ones not, ascending."""
    n_stored = np.diff(table.start)
    kept = _first_or_new(table)
    column = np.searchsorted(table.start, kept, side="right") - 1
    with_zero = np.flatnonzero((n_stored < table.n_rows) & (not table.zero_as_missing))
    column = np.concatenate([column, with_zero])
    value = np.concatenate([table.values[kept], np.zeros(len(with_zero), table.dtype)])
    order = np.lexsort((value, column))
    column, value = column[order], value[order]
    first = np.ones(len(column), dtype=bool)
    first[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    return column[first], value[first]


def _first_or_new(table: SparseTable) -> np.ndarray:
    """Where the entries are that are not missing, and not the same as the one before in their column."""
    is_new = np.ones(len(table.values), dtype=bool)
    np.not_equal(table.values[1:], table.values[:-1], out=is_new[1:])
    begins = table.start[:-1]
    is_new[begins[begins < len(is_new)]] = True
    return np.flatnonzero(is_new & ~np.isnan(table.values))


def bins_of_entries(table: SparseTable, edges: Sequence[np.ndarray], run: Run = run_serial) -> np.ndarray:
    """The bin of every stored entry, column by column."""
    bins = np.empty(len(table.values), dtype=np.uint32)
    lines, starts = _in_a_row(edges)
    run(binning.assign_bins_sparse, table.values, table.start.astype(np.int64), lines, starts, bins)
    return bins


def bins_of_rest(table: SparseTable, edges: Sequence[np.ndarray]) -> np.ndarray:
    """The bin of what is not stored in each column: that of 0, or of missing values."""
    if table.zero_as_missing:
        return np.zeros(len(edges), dtype=np.int64)
    lines, starts = _in_a_row(edges)
    n_below = np.concatenate([[0], np.cumsum(lines < 0.0)])
    return n_below[starts[1:]] - n_below[starts[:-1]] + 1


def _in_a_row(edges: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All edges, and where those of each column begin; the last entry is their number."""
    starts = np.concatenate([[0], np.cumsum([len(line) for line in edges])]).astype(np.int64)
    return np.concatenate([np.empty(0), *edges]), starts


def listed_bins(table: SparseTable, edges: Sequence[np.ndarray], bundle: bool) -> np.ndarray | None:
    """The bin of what is not stored of columns that are listed, −1 for the others; None if there are only others.

    Without ``bundle`` columns that could share bytes are listed too.
    """
    is_listed = np.diff(table.start) <= MOST_LISTED * table.n_rows
    if not is_listed.any() or (bundle and _bundles_well(table, edges)):
        return None
    return np.where(is_listed, bins_of_rest(table, edges), -1)


def _bundles_well(table: SparseTable, edges: Sequence[np.ndarray]) -> bool:
    """Tell whether columns in bytes are quicker: a table not too large, whose columns mostly exclude each other.

    They then share bytes of tiles, and a row has about as many of these as entries.
    """
    n, p = table.n_rows, table.n_features
    if p > MOST_TILED or 2 * n * p > TILED_BYTES:
        return False
    bundler = Bundler(n)
    for f, (first, last) in enumerate(pairwise(table.start.tolist())):
        bundler.add(f, table.rows[first:last], len(edges[f]) + 2)
    return len(bundler.bundles) <= BUNDLES_PER_ENTRY * (len(table.values) / n + 1.0)


def encode_sparse(
    table: SparseTable, edges: Sequence[np.ndarray], tiles: np.ndarray, columns: np.ndarray, run: Run = run_serial
) -> None:  # fmt: skip
    """Write the bins into tiles (tile, row, lane) and columns (feature, row), unless that has no lines."""
    bins, rest = bins_of_entries(table, edges, run), bins_of_rest(table, edges)
    n_tiles, _, width = tiles.shape
    lanes = np.zeros(n_tiles * width, dtype=tiles.dtype)
    lanes[: len(rest)] = rest
    tiles[:] = lanes.reshape(n_tiles, 1, width)
    if len(columns):
        columns[:] = rest[:, None]
    for f, (first, last) in enumerate(pairwise(table.start.tolist())):
        rows, own = table.rows[first:last], bins[first:last].astype(tiles.dtype)
        tiles[f // width, :, f % width][rows] = own
        if len(columns):
            columns[f, rows] = own
