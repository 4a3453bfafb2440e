"""Rows that were drawn for a tree, copied next to each other."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.tiles import CACHE_LINE
from sapwood.kernels import layout
from sapwood.kernels.sampling.row_subset import TRANSPOSE_WORDS, compact_bins, compact_gradients, restore_row_numbers
from sapwood.native.threads.team import Team

# A larger share of the rows is about as quick to read where it is.
MOST_DRAWN = 0.5


class RowSubset:
    """Copies the bins and gradients of the rows drawn. A round's bins are copied once for all of its trees.

    ``is_l2_only`` tells that columns and tiles hold the same, feature by feature.
    """

    def __init__(self, bins: layout.BinMatrix, n_outputs: int, team: Team, is_plain: bool) -> None:
        self._bins = bins
        self._n_outputs = n_outputs
        self._team = team
        self._is_turned = is_plain and len(bins.bins_u8) > 0
        self._n_rows = bins.tiles.shape[1]
        self._room = 0
        self._turned = np.empty((team.size, TRANSPOSE_WORDS), dtype=np.uint64)
        self._rows: np.ndarray | None = None
        self._compact = bins

    def see(self, bins: layout.BinMatrix) -> None:
        """Copy from other bins of the same rows from now on."""
        self._bins = bins
        self._rows = None

    def pays(self, n_drawn: int) -> bool:
        """Tell whether so few rows are drawn that copying them saves time."""
        return n_drawn <= MOST_DRAWN * self._n_rows

    def take_bins(self, rows: np.ndarray) -> layout.BinMatrix:
        """The bins of some rows, ascending, in which they have their places among themselves as numbers."""
        if rows is not self._rows:
            self._make_room(len(rows))
            self._compact = self._bins_room(len(rows))
            eights = self._compact.bins_u8 if self._is_turned else self._bytes[:0].reshape(0, 8)
            self._team.run(compact_bins, rows, self._bins, self._compact, eights.view(np.uint64), self._turned)
            self._rows = rows
        return self._compact

    def take_gradients(self, gradients: layout.Gradients) -> layout.Gradients:
        """The gradients of the same rows; weights may be theirs alone already."""
        assert self._rows is not None
        n = len(self._rows)
        compact = self._gradients_room(n, gradients)
        if len(gradients.weight) == n:
            compact = compact._replace(weight=gradients.weight)
            gradients = gradients._replace(weight=gradients.weight[:0])
        self._team.run(compact_gradients, self._rows, gradients, compact)
        return compact

    def restore(self, order: np.ndarray) -> None:
        """Turn their places back into the rows themselves."""
        assert self._rows is not None
        self._team.run(restore_row_numbers, self._rows, order)

    def _make_room(self, n: int) -> None:
        """Make arrays for n rows, with something to spare: the next draw may be larger."""
        if n <= self._room:
            return
        self._room = room = min(n + n // 16 + 64, self._n_rows)
        bins = self._bins
        self._words = _aligned(bins.tiles.shape[0] * room * bins.tiles.shape[2], bins.tiles.dtype)
        self._bytes = _aligned(len(bins.bins_u8) * (room + 7), bins.bins_u8.dtype)
        self._halves = np.empty(len(bins.bins_u16) * room, np.uint16)
        self._pairs = np.empty(self._n_outputs * 2 * room, np.float32)
        self._weight = np.empty(room)
        self._ids = np.empty(room, np.uint64)

    def _bins_room(self, n: int) -> layout.BinMatrix:
        bins = self._bins
        n_tiles, _, n_words = bins.tiles.shape
        whole = -(-n // 8) * 8  # places of a column of bytes, so that each is whole words
        return bins._replace(
            tiles=self._words[: n_tiles * n * n_words].reshape(n_tiles, n, n_words),
            bins_u8=self._bytes[: len(bins.bins_u8) * whole].reshape(-1, whole),
            bins_u16=self._halves[: len(bins.bins_u16) * n].reshape(-1, n),
        )

    def _gradients_room(self, n: int, gradients: layout.Gradients) -> layout.Gradients:
        weight = self._weight[: n if len(gradients.weight) else 0]
        pairs = self._pairs[: self._n_outputs * 2 * n].reshape(self._n_outputs, 2 * n)
        return layout.Gradients(pairs, weight, self._ids[:n], gradients.weight_scale)


def _aligned(n: int, dtype: np.dtype) -> np.ndarray:
    """Room for n numbers that starts at a cache line."""
    buffer = np.empty(n * dtype.itemsize + CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + n * dtype.itemsize].view(dtype)
