"""Training rows sorted by every column, and their division among the children of a node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from sapwood.kernels.grow.sorted_children import divide_entries
from sapwood.kernels.split.impurity import SortedEntries
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import RepeatedCall

MIN_FRACTION = 1e-3  # of the weight of its row: a smaller part of a divided row is dropped


class EntryBuffer:
    """Entries of some nodes: a row, or the part of a row that went to one of several children.

    ``order`` has the entries sorted by each column and by the target; the entries of a node are at the same positions
    of every row of it. ``whole`` are the weights of the rows that the entries are parts of.
    """

    def __init__(
        self, values: np.ndarray, order: np.ndarray, target: np.ndarray, weight: np.ndarray, whole: np.ndarray
    ) -> None:
        self.arrays = SortedEntries(values, order, target, weight)
        self._whole = whole
        self._child = np.empty(len(target), dtype=np.int32)
        self._scratch = np.empty(len(target), dtype=np.int32)
        self.rank = np.empty(len(target), dtype=np.int32)
        self._divide = RepeatedCall(divide_entries)
        self._starts, self._position = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)  # of two children

    @classmethod
    def of(cls, values: np.ndarray, target: np.ndarray, weight: np.ndarray) -> EntryBuffer:
        """Sort all rows by each column, missing values last, and by the target; equal values in the order of rows."""
        order = np.empty((len(values) + 1, len(target)), dtype=np.int32)
        for column, x in enumerate(values):
            order[column] = np.argsort(x, kind="stable")
        order[-1] = np.argsort(target, kind="stable")
        return cls(values, order, target, weight, weight)

    def entries(self, start: int, stop: int) -> np.ndarray:
        """Return the entries of a node."""
        return self.arrays.order[0, start:stop]

    def divide(self, start: int, stop: int, child: np.ndarray, n_children: int) -> list[int]:
        """Move the entries of each child to positions next to each other; return where each starts, and the end."""
        bounds = list(accumulate(np.bincount(child, minlength=n_children).tolist(), initial=start))
        starts, position = self._starts, self._position
        if n_children > 2:
            starts, position = np.empty(n_children, dtype=np.int64), np.empty(n_children, dtype=np.int64)
        starts[:] = bounds[:-1]
        self._child[self.entries(start, stop)] = child
        self._divide(self.arrays.order, start, stop, self._child, starts, position, self._scratch)
        return bounds

    def spread(
        self, start: int, stop: int, child: np.ndarray, shares: Sequence[float]
    ) -> tuple[EntryBuffer, list[int]]:
        """Give every child its entries and a share of those without a child (negative); return a buffer and starts."""
        values, order, target, weight = self.arrays
        entries = self.entries(start, stop).copy()
        least = MIN_FRACTION * self._whole[entries]
        chosen, new_weight, new_order = [], [], []
        number = np.empty(len(target), dtype=np.int32)
        n_before = 0
        for k, share in enumerate(shares):
            part = np.where(child == k, weight[entries], weight[entries] * share)
            is_in = (child == k) | ((child < 0) & (part >= least))
            chosen.append(entries[is_in])
            new_weight.append(part[is_in])
            number[:] = -1
            number[chosen[-1]] = np.arange(n_before, n_before + len(chosen[-1]))
            sorted_numbers = number[order[:, start:stop]]
            new_order.append(sorted_numbers[sorted_numbers >= 0].reshape(len(order), -1))
            n_before += len(chosen[-1])
        old = np.concatenate(chosen)
        buffer = EntryBuffer(
            np.ascontiguousarray(values[:, old]),
            np.ascontiguousarray(np.concatenate(new_order, axis=1)),
            target[old],
            np.concatenate(new_weight),
            self._whole[old],
        )
        return buffer, list(accumulate(map(len, chosen), initial=0))


@dataclass(frozen=True, eq=False)
class NodeEntries:
    """The entries of a node: a range of positions of a buffer."""

    buffer: EntryBuffer
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def numbers(self) -> np.ndarray:
        """Numbers of the entries in the buffer."""
        return self.buffer.entries(self.start, self.stop)

    @property
    def span(self) -> tuple[SortedEntries, int, int]:
        """Arguments of kernels that read the entries."""
        return self.buffer.arrays, self.start, self.stop

    def divide(self, child: np.ndarray, shares: Sequence[float]) -> list[NodeEntries]:
        """Return the entries of each child; those without one (negative) go to all, with shares of their weight."""
        if child.min() >= 0:
            starts, buffer = self.buffer.divide(self.start, self.stop, child, len(shares)), self.buffer
        else:
            buffer, starts = self.buffer.spread(self.start, self.stop, child, shares)
        return [NodeEntries(buffer, first, last) for first, last in pairwise(starts)]
