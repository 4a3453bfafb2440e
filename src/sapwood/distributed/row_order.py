"""An order of the rows of all workers, such as a random permutation, and rows that are sent to their places in it.

In a fit on one machine an order is a permutation of the rows. Where workers have rows of their own, every worker takes
a *range* of the order, as many positions as the others: rows travel to the worker of their range, where all that comes
before a row in the range is at hand, and what is computed there travels back.
"""

from __future__ import annotations

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.lazy_dataclass import dataclass

SPLITTERS = 512  # keys of each worker among which the borders of ranges are chosen


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The rows of this worker in the order of all workers' rows.

    ``permutation`` are the rows of this worker in that order, ``positions`` the ascending places that they have among
    the ``n_rows`` rows of all workers; they are None where this worker has all rows.
    """

    permutation: np.ndarray
    n_rows: int
    positions: np.ndarray | None = None
    workers: Workers = LOCAL

    @classmethod
    def of(cls, keys: np.ndarray, row_ids: np.ndarray, workers: Workers = LOCAL) -> RowOrder:
        """Sort rows by ascending keys, NaN last, and rows with equal keys by ``row_ids``.

        Rows of one machine with equal keys stay as they are.
        """
        if not workers.splits_rows:
            return cls(np.argsort(keys, kind="stable").astype(np.uint32), len(keys))
        positions = _positions(keys, row_ids, workers)
        permutation = np.argsort(positions).astype(np.uint32)
        return cls(permutation, workers.count_rows(len(keys)), positions[permutation], workers)

    @classmethod
    def unchanged(cls, row_ids: np.ndarray, workers: Workers = LOCAL) -> RowOrder:
        """Return the order of the table of all rows, given the numbers of this worker's rows in it."""
        if workers.splits_rows:
            return cls.of(row_ids, row_ids, workers)
        return cls(np.arange(len(row_ids), dtype=np.uint32), len(row_ids))

    def without(self, dropped: np.ndarray) -> RowOrder:
        """Return the order of the rows that remain when those of a mask are dropped."""
        new_number = np.cumsum(~dropped) - 1
        is_kept = ~dropped[self.permutation]
        permutation = new_number[self.permutation[is_kept]].astype(np.uint32)
        if self.positions is None:
            return RowOrder(permutation, len(permutation))
        kept = self.positions[is_kept]
        return RowOrder(
            permutation, self.workers.count_rows(len(kept)), _positions(kept, kept, self.workers), self.workers
        )

    @property
    def places(self) -> np.ndarray:
        """Ascending places of this worker's rows, those of ``permutation``, among the rows of all workers."""
        return np.arange(len(self.permutation)) if self.positions is None else self.positions

    def values_at(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the values (rows,) of the rows at some places of the order, at all workers."""
        is_wanted = np.isin(self.places, places)
        known = self.workers.gather_rows(self.places[is_wanted])
        found = self.workers.gather_rows(values[self.permutation[is_wanted]])
        order = np.argsort(known)
        return found[order][np.searchsorted(known[order], places)]

    def count_first(self, n: int) -> int:
        """Return how many of the first n rows in the order this worker has."""
        return min(n, len(self.permutation)) if self.positions is None else int(np.searchsorted(self.positions, n))

    def gather_first(self, values: np.ndarray, n: int) -> np.ndarray:
        """Return the values (..., rows) of the first n rows in the order, at all workers."""
        rows = self.permutation[: self.count_first(n)]
        own = np.ascontiguousarray(values[..., rows])
        if self.positions is None:
            return own
        order = np.argsort(self.workers.gather_rows(self.positions[: len(rows)]))
        return np.ascontiguousarray(self.workers.gather_rows(own)[..., order])

    # --- ranges -------------------------------------------------------------------------------------------------------

    @property
    def range_order(self) -> np.ndarray:
        """Order of the values that ``to_range`` returns."""
        n = sum(map(len, self._received_places))
        return self.permutation if self.positions is None else np.arange(n, dtype=np.uint32)

    def to_range(self, values: np.ndarray) -> np.ndarray:
        """Return the values (columns, rows) of the rows in this worker's range, for use in ``range_order``."""
        if self.positions is None:
            return values
        received = self.workers.communicator.exchange_arrays(self._parts(values.T[self.permutation]))
        out = np.empty_like(np.concatenate(received))
        out[np.concatenate(self._received_places)] = np.concatenate(received)
        return np.ascontiguousarray(out.T)

    def to_rows(self, values: np.ndarray) -> np.ndarray:
        """Send values (columns, rows) of this worker's range back; return those of this worker's own rows."""
        if self.positions is None:
            return values
        parts = [values.T[places] for places in self._received_places]
        received = np.concatenate(self.workers.communicator.exchange_arrays(parts))
        out = np.empty_like(received)
        out[self.permutation] = received
        return np.ascontiguousarray(out.T)

    def _parts(self, values: np.ndarray) -> list[np.ndarray]:
        """Divide values of this worker's rows, in the order, by the worker that takes the range they belong to."""
        size = self.workers.communicator.size
        borders = np.searchsorted(self.positions, np.arange(1, size) * self.n_rows // size)  # type: ignore[arg-type]
        return np.split(values, borders)

    @cached_property
    def _received_places(self) -> list[np.ndarray]:
        """Places in this worker's range of the rows that each worker sends."""
        if self.positions is None:
            return []
        communicator = self.workers.communicator
        first = communicator.rank * self.n_rows // communicator.size
        return [positions - first for positions in communicator.exchange_arrays(self._parts(self.positions))]


def _positions(keys: np.ndarray, row_ids: np.ndarray, workers: Workers) -> np.ndarray:
    """Return the place of each row of this worker among the rows of all, by ascending keys and row numbers."""
    communicator = workers.communicator
    order = np.lexsort((row_ids, keys))
    sorted_keys = keys[order]
    # Borders between ranges of keys: they decide which worker sorts a row, not where it comes.
    chosen = np.linspace(0, max(0, len(keys) - 1), min(len(keys), SPLITTERS)).astype(np.int64)
    candidates = np.sort(workers.gather_rows(sorted_keys[chosen]))
    at = np.arange(1, communicator.size) * len(candidates) // communicator.size
    borders = np.searchsorted(sorted_keys, candidates[at], side="left")
    all_keys, numbers = (
        communicator.exchange_arrays(np.split(values[order], borders)) for values in (keys, row_ids.astype(np.uint64))
    )
    merged = np.lexsort((np.concatenate(numbers), np.concatenate(all_keys)))
    places = np.empty(len(merged), dtype=np.int64)
    places[merged] = np.arange(len(merged)) + workers.row_offset(len(merged))
    sizes = np.cumsum([len(part) for part in numbers])[:-1]
    out = np.empty(len(keys), dtype=np.int64)
    out[order] = np.concatenate(communicator.exchange_arrays(np.split(places, sizes)))
    return out
