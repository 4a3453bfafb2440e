"""Copies of the bins and gradients of the rows sampled for a tree, side by side in memory."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.tiles import CACHE_LINE
from sapwood.kernels import layout
from sapwood.kernels.sampling.row_subset import TRANSPOSE_WORDS, compact_bins, compact_gradients, restore_row_numbers
from sapwood.native.threads.team import Team

# A larger fraction of the rows, or any of a smaller table, is as quick to read where it is.
MAX_FRACTION = 0.5
MIN_ROWS = 1 << 19


class RowSubset:
    """Copies the bins and gradients of sampled rows. The bins of a round are copied once for all of its trees.

    ``is_unbundled`` says that the columns of the tiles are the features, so that columns are made from copied tiles.
    """

    def __init__(self, bins: layout.BinMatrix, n_outputs: int, team: Team, is_unbundled: bool) -> None:
        self._bins = bins
        self._n_outputs = n_outputs
        self._team = team
        self._transposes_tiles = is_unbundled and len(bins.bins_u8) > 0
        self._n_rows = bins.tiles.shape[1]
        self._capacity = 0
        self._transpose_scratch = np.empty((team.size, TRANSPOSE_WORDS), dtype=np.uint64)
        self._rows: np.ndarray | None = None
        self._copied_bins = bins

    def set_bins(self, bins: layout.BinMatrix) -> None:
        """Copy from other bins of the same rows from now on."""
        self._bins = bins
        self._rows = None

    def is_worthwhile(self, n_sampled: int) -> bool:
        """Return whether so few rows of so many are sampled that copying them saves time."""
        return self._n_rows >= MIN_ROWS and n_sampled <= MAX_FRACTION * self._n_rows

    def copy_bins(self, rows: np.ndarray) -> layout.BinMatrix:
        """Copy the bins of some rows, given by ascending numbers; the copies are numbered 0, 1, 2 ..."""
        if rows is not self._rows:
            self._reserve(len(rows))
            self._copied_bins = self._bin_buffers(len(rows))
            columns = self._copied_bins.bins_u8 if self._transposes_tiles else self._bins_u8[:0].reshape(0, 8)
            self._team.run(
                compact_bins, rows, self._bins, self._copied_bins, columns.view(np.uint64), self._transpose_scratch
            )  # fmt: skip
            self._rows = rows
        return self._copied_bins

    def copy_gradients(self, gradients: layout.Gradients) -> layout.Gradients:
        """Copy the gradients of the rows whose bins were copied last; weights may be those of these rows already."""
        assert self._rows is not None
        n = len(self._rows)
        copied = self._gradient_buffers(n, gradients)
        if len(gradients.weight) == n:
            copied = copied._replace(weight=gradients.weight)
            gradients = gradients._replace(weight=gradients.weight[:0])
        self._team.run(compact_gradients, self._rows, gradients, copied)
        return copied

    def restore_row_numbers(self, rows: np.ndarray) -> None:
        """Replace the numbers of copies by those of the rows they were copied from."""
        assert self._rows is not None
        self._team.run(restore_row_numbers, self._rows, rows)

    def _reserve(self, n: int) -> None:
        """Allocate buffers for n rows and some more: the next sample may be larger."""
        if n <= self._capacity:
            return
        self._capacity = capacity = min(n + n // 16 + 64, self._n_rows)
        bins = self._bins
        self._tiles = _aligned_empty(bins.tiles.shape[0] * capacity * bins.tiles.shape[2], bins.tiles.dtype)
        self._bins_u8 = _aligned_empty(len(bins.bins_u8) * (capacity + 7), bins.bins_u8.dtype)
        self._bins_u16 = np.empty(len(bins.bins_u16) * capacity, np.uint16)
        self._pairs = np.empty(self._n_outputs * 2 * capacity, np.float32)
        self._weight = np.empty(capacity)
        self._row_ids = np.empty(capacity, np.uint64)

    def _bin_buffers(self, n: int) -> layout.BinMatrix:
        bins = self._bins
        n_tiles, _, n_words = bins.tiles.shape
        padded = -(-n // 8) * 8  # bytes of a column, so that each is a number of whole words
        return bins._replace(
            tiles=self._tiles[: n_tiles * n * n_words].reshape(n_tiles, n, n_words),
            bins_u8=self._bins_u8[: len(bins.bins_u8) * padded].reshape(-1, padded),
            bins_u16=self._bins_u16[: len(bins.bins_u16) * n].reshape(-1, n),
        )

    def _gradient_buffers(self, n: int, gradients: layout.Gradients) -> layout.Gradients:
        weight = self._weight[: n if len(gradients.weight) else 0]
        pairs = self._pairs[: self._n_outputs * 2 * n].reshape(self._n_outputs, 2 * n)
        return layout.Gradients(pairs, weight, self._row_ids[:n], gradients.weight_scale)


def _aligned_empty(n: int, dtype: np.dtype) -> np.ndarray:
    """Allocate n numbers that start at a cache line."""
    buffer = np.empty(n * dtype.itemsize + CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + n * dtype.itemsize].view(dtype)
