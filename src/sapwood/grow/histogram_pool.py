"""Which leaves of a leaf table have which histograms of a pool."""

from __future__ import annotations

import numpy as np

from sapwood.kernels import layout


class HistogramPool:
    """Gives histograms to leaves and takes them back; leaves of a tree that is larger than the pool lose theirs."""

    def __init__(self, leaves: layout.LeafTable, size: int) -> None:
        self._hists, self._gains = leaves.ints[:, layout.LEAF_HIST], leaves.floats[:, layout.LEAF_GAIN]
        self._size = size
        self._free: list[int] = []

    def begin_tree(self) -> None:
        """Take all histograms back but the first, which the root has."""
        self._free = list(range(self._size - 1, 0, -1))

    @property
    def n_free(self) -> int:
        """Number of histograms that no leaf has."""
        return len(self._free)

    def has(self, leaves: np.ndarray) -> np.ndarray:
        """Return which leaves have a histogram."""
        is_kept: np.ndarray = self._hists[leaves] >= 0
        return is_kept

    def give(self, leaves: np.ndarray) -> None:
        """Give each of some leaves a free histogram."""
        for leaf in leaves.tolist():
            self._hists[leaf] = self._free.pop()

    def hand_over(self, leaves: np.ndarray, heirs: np.ndarray) -> None:
        """Give the histograms of some leaves, if they have one, to others."""
        self._hists[heirs] = self._hists[leaves]
        self._hists[leaves] = -1

    def release(self, leaves: np.ndarray) -> None:
        """Take the histograms of some leaves back."""
        self._free += self._hists[leaves].tolist()
        self._hists[leaves] = -1

    def reserve(self, n: int, kept: int, n_rows: int) -> None:
        """Have n free histograms: take them from leaves of least gain, other than the leaf ``kept``.

        ``n_rows`` rows of the leaf table are used.
        """
        while len(self._free) < n:
            holders = np.flatnonzero(self._hists[:n_rows] >= 0)
            holders = holders[holders != kept]
            self.release(holders[np.argmin(self._gains[holders])][None])
