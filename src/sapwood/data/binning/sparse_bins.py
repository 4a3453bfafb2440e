"""Columns that nearly always have the same bin, as lists of the rows' other bins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

# A column with more than this share of other bins is quicker to read as bytes.
MOST_LISTED = 0.25


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
