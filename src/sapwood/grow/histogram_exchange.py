"""Histograms of leaves whose rows, or whose features, are split between workers."""

from __future__ import annotations

import numpy as np

from sapwood.distributed.workers import Workers
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_steps
from sapwood.native.runtime.kernel import CallCache

# Workers send each other whole histograms if a worker then sends at most so many bytes more for each, which takes less
# time than another exchange.
MAX_MORE_BYTES = 1 << 16
# Features of a leaf whose rows are counted at once: another exchange takes more time than features counted in vain.
MAX_COUNTED = 8


class HistogramExchange:
    """Builds the histograms of some leaves, and sums those of all workers for the features that each worker searches.

    Each worker searches a slice of the features (``own_features``). Where workers have rows of their own, each builds
    histograms from its rows; a reduce-scatter gives every worker the sums of its slice. Few workers with small
    histograms send each other all of them (``is_whole``): then all search all features, find the same splits, and need
    not compare them. ``capacity`` is the maximum number of histograms at once.
    """

    def __init__(
        self, workers: Workers, features: layout.FeatureMeta, n_planes: int, capacity: int, run: CallCache
    ) -> None:
        self._workers, self._features, self._n_planes, self._run = workers, features, n_planes, run
        communicator = workers.communicator
        n_bytes, n_others = 8 * n_planes * int(features.offset[-1]), communicator.size - 1
        self.is_whole = workers.splits_rows and n_bytes * n_others**2 <= communicator.size * MAX_MORE_BYTES
        self._worker_slices = _slice_features(features.offset, communicator.size)
        own = self._worker_slices[communicator.rank : communicator.rank + 2]
        first, last = (0, len(features.n_bins)) if self.is_whole else own.tolist()
        self.own_features = _with_features(features, first, last, len(features.slices) - 3)
        self._own_cells = slice(*features.offset[[first, last]].tolist())
        self.capacity, self._width = capacity, n_planes * int(features.offset[-1])
        self._buffer = np.empty(capacity * self._width, np.int64)

    def build(self, built: np.ndarray, state: layout.GrowState, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Build the histograms of some leaves of the leaf table.

        Return the sums over all workers of the cells of this worker's features, leaf by leaf and plane by plane, and of
        the integers ``shared``; one exchange is for both.
        """
        n = len(built)
        n_cells = n * self._width
        # The shared integers follow the histograms, so that both are sent without a copy.
        if len(self._buffer) < n_cells + len(shared):
            self._buffer = np.empty(n_cells + len(shared), np.int64)
        out = self._buffer[:n_cells].reshape(n, self._width)
        if not self._workers.splits_rows:
            self._run(
                distributed_steps.build_slices,
                built, state.bins, state.partition, self.own_features, state.leaves, out,
            )  # fmt: skip
            own = out.reshape(n, self._n_planes, -1)[:, :, self._own_cells]
            return own.reshape(n, own.shape[1] * own.shape[2]), shared
        self._run(
            distributed_steps.build_histograms,
            built, state.bins, state.partition, self._features, state.histograms.partial, state.leaves, out,
        )  # fmt: skip
        communicator = self._workers.communicator
        if self.is_whole:
            total = self._buffer[: n_cells + len(shared)]
            total[n_cells:] = shared
            gathered = communicator.gather(total)
            for rank in range(communicator.size):
                if rank != communicator.rank:
                    total += gathered[rank]
            return out, total[n_cells:].copy()
        cells = self._features.offset[self._worker_slices]
        planes = out.reshape(n * self._n_planes, -1)
        own, shared = communicator.reduce_scatter_with(planes, cells, shared)
        return own.reshape(n, self._n_planes * own.shape[1]), shared

    def sum_rows_of(self, features: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the sums over all workers of rows of integers that belong to features, zeros for those of others."""
        if self.is_whole or not self._workers.splits_rows:
            return self._workers.sum(values)
        owner = np.searchsorted(self._worker_slices, features, "right") - 1
        order, n_workers = np.argsort(owner, kind="stable"), self._workers.communicator.size
        start = np.searchsorted(owner[order], np.arange(n_workers + 1)) * values.shape[1]
        own = self._workers.communicator.reduce_scatter(values[order].reshape(1, -1), start)
        total = np.zeros_like(values)
        total[owner == self._workers.communicator.rank] = own.reshape(-1, values.shape[1])
        return total


def _slice_features(offset: np.ndarray, size: int) -> np.ndarray:
    """Return the first feature of each worker, and the number of features: about as many cells for each worker."""
    slices = np.searchsorted(offset, [offset[-1] * r // size for r in range(size + 1)]).astype(np.int64)
    slices[-1] = len(offset) - 1
    return slices


def _with_features(features: layout.FeatureMeta, first: int, last: int, members: int) -> layout.FeatureMeta:
    """Return the features with slices of those from ``first`` to ``last`` for the members of a team."""
    slices = first + np.arange(members + 1) * (last - first) // members
    active = np.zeros(members + len(features.n_bins), np.int32)
    active[:members] = np.diff(slices)
    active[members + first : members + last] = np.arange(first, last)
    return features._replace(slices=np.append(slices, (first, last)), all_active=active)
