"""Columns that never, or hardly ever, differ from their usual bins in the same row: exclusive feature bundling.

Such columns, like those of a one-hot encoding, can share a byte: it tells which of them differs, and how.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST_CELLS = 255  # of a bundle, beside that of rows in which no column differs
LEAST_USUAL = 0.5  # share of the rows in the usual bin
OPEN = 64  # bundles that a column is tried on, each a bit of a word per row; half of them are closed when all are used
AT_ONCE = 4096  # rows that are looked at before it is asked whether that was enough
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
