"""Sums, maxima and gathered arrays of many workers, in a number of steps that grows with the logarithm of theirs."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sapwood.distributed.communicator import SMALL_BYTES, Communicator

DIRECT_WORKERS = 8  # up to here one step in which every worker sends to every other is quicker than several steps
LENGTH = np.dtype(np.int64)


class PointToPointCommunicator(Communicator):
    """A communicator whose transport can send to single workers: it implements ``send_receive``.

    Among more than ``DIRECT_WORKERS`` workers, R, arrays are gathered by doubling (Bruck), in which a worker has
    2, 4, 8 ... of them; matrices are summed by recursive halving, in which the workers of one half of a group send
    the columns of the other half; small sums, maxima and choices are combined with partners at distances 1, 2, 4 ...
    Each takes about log2 R steps of one message, and sends no more bytes than R − 1 messages would. The results are
    the same, since sums are of integers.

    ``exchanges`` counts the steps.

    Parameters
    ----------
    rank : int
        Number of this worker, from 0.
    size : int
        Number of workers.

    Examples
    --------
    Workers that are threads, with a queue for each pair:

    >>> from sapwood.distributed import PointToPointCommunicator
    >>> class QueueCommunicator(PointToPointCommunicator):
    ...     def __init__(self, rank, size, queues):
    ...         super().__init__(rank, size)
    ...         self.queues = queues
    ...
    ...     def send_receive(self, parts, senders):
    ...         for worker, part in parts.items():
    ...             self.queues[self.rank, worker].put(part)
    ...         return {worker: self.queues[worker, self.rank].get() for worker in senders}
    """

    @abstractmethod
    def send_receive(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> Mapping[int, bytes]:
        """Send ``parts[r]`` to worker r; return the next part that each of ``senders`` has sent or will send.

        Parts from one worker to another arrive in the order in which they were sent.
        """

    @property
    def is_direct(self) -> bool:
        """Whether there are so few workers that all send to all."""
        return self.size <= DIRECT_WORKERS

    def exchange(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send ``parts[r]`` to worker r; return the parts received from each worker, its own included."""
        # Each worker begins with the one after it, so that no worker is the first of all others.
        others = [(self.rank + k) % self.size for k in range(1, self.size)]
        received = self.send_receive({r: parts[r] for r in others}, others)
        return [parts[r] if r == self.rank else received[r] for r in range(self.size)]

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of all workers, which may differ in the length of the first axis."""
        if self.is_direct:
            return super().gather(values)
        blocks, distance = [np.ascontiguousarray(values).tobytes()], 1  # blocks[k] is that of worker rank + k
        while distance < self.size:
            known = blocks[: self.size - distance]
            before, after = (self.rank - distance) % self.size, (self.rank + distance) % self.size
            blocks += _unpack(self._step({before: _pack(known)}, [after])[after], len(known))
            distance *= 2
        in_order = [blocks[(r - self.rank) % self.size] for r in range(self.size)]
        return [np.frombuffer(block, values.dtype).reshape(-1, *values.shape[1:]) for block in in_order]

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the arrays of all workers: of integers, so that it does not depend on their order."""
        if self.is_direct or values.nbytes > SMALL_BYTES:
            return super().sum(values)
        assert values.dtype == np.int64
        return self._combine(values, np.add)

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maximum over all workers of each entry."""
        return super().max(values) if self.is_direct else self._combine(values, np.maximum)

    def choose(self, scores: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Return each row of the records, integers, of the worker with its highest score, the first of equals."""
        if self.is_direct:
            return super().choose(scores, records)
        own = np.column_stack([scores.view(np.int64), np.full(len(records), self.rank), records])
        return np.ascontiguousarray(self._combine(own, _better_rows)[:, 2:])

    def reduce_scatter(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the sums over all workers' matrices of integers of the columns start[rank] to start[rank + 1]."""
        if self.is_direct:
            return super().reduce_scatter(values, start)
        return self.reduce_scatter_with(values, start, np.empty(0, np.int64))[0]

    def reduce_scatter_with(
        self, values: np.ndarray, start: np.ndarray, shared: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``reduce_scatter`` and the sum of the vectors ``shared`` of all workers, by the same exchanges."""
        if self.is_direct:
            return super().reduce_scatter_with(values, start, shared)
        assert values.dtype == shared.dtype == np.int64
        first, last, offset = 0, self.size, 0  # ``values`` has the columns of the workers first to last, from offset on
        while last - first > 1:
            middle = (first + last + 1) // 2
            is_lower = self.rank < middle
            kept, sent = ((first, middle), (middle, last)) if is_lower else ((middle, last), (first, middle))
            to, senders = self._partners(first, middle, last)
            columns = values[:, start[sent[0]] - offset : start[sent[1]] - offset]
            # Every worker of one half sends to one of the other: the shared vectors of each half add up to all of them.
            received = self._step({to: columns.tobytes() + shared.tobytes()}, senders)
            values, offset = values[:, start[kept[0]] - offset : start[kept[1]] - offset], start[kept[0]]
            for part in received.values():
                numbers = np.frombuffer(part, np.int64)
                values = values + numbers[: values.size].reshape(values.shape)
                shared = shared + numbers[values.size :]
            first, last = kept
        return values, shared

    def sum_before(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of integers over the workers before this one, and over all."""
        if self.is_direct:
            return super().sum_before(values)
        assert values.dtype == np.int64
        sums, distance = values, 1  # over this worker and the distance - 1 workers before it
        while distance < self.size:
            parts = {self.rank + distance: sums.tobytes()} if self.rank + distance < self.size else {}
            received = self._step(parts, [self.rank - distance] if self.rank >= distance else [])
            for part in received.values():
                sums = sums + np.frombuffer(part, values.dtype).reshape(values.shape)
            distance *= 2
        return sums - values, self.sum(values)

    def _partners(self, first: int, middle: int, last: int) -> tuple[int, list[int]]:
        """Return the worker of the other half of a group that this one sends to, and those that send to this one.

        The lower half may have one worker more, which sends to the last of the upper half and receives nothing.
        """
        n_lower, n_upper = middle - first, last - middle
        if self.rank >= middle:
            place = self.rank - middle
            extra = [middle - 1] if place == n_upper - 1 and n_lower > n_upper else []
            return first + place, [first + place, *extra]
        place = self.rank - first
        return middle + min(place, n_upper - 1), [middle + place] if place < n_upper else []

    def _combine(self, values: np.ndarray, combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Combine the arrays of all workers; those beyond a power of two hand theirs to a partner."""
        n_paired = 1 << (self.size.bit_length() - 1)
        partner = self.rank ^ n_paired
        if self.rank >= n_paired:
            self._step({partner: values.tobytes()}, [])
            return np.frombuffer(bytearray(self._step({}, [partner])[partner]), values.dtype).reshape(values.shape)
        has_partner = partner < self.size
        if has_partner:
            received = self._step({}, [partner])[partner]
            values = combine(values, np.frombuffer(received, values.dtype).reshape(values.shape))
        distance = 1
        while distance < n_paired:
            other = self.rank ^ distance
            received = self._step({other: values.tobytes()}, [other])[other]
            theirs = np.frombuffer(received, values.dtype).reshape(values.shape)
            # The lower rank's comes first, so that all workers get the same bits, also of zeros with a sign.
            values = combine(values, theirs) if self.rank < other else combine(theirs, values)
            distance *= 2
        if has_partner:
            self._step({partner: values.tobytes()}, [])
        return values

    def _step(self, parts: Mapping[int, bytes], senders: Sequence[int]) -> Mapping[int, bytes]:
        """Send and receive, and count it."""
        start = time.perf_counter()
        received = self.send_receive(parts, senders)
        self._count(sum(map(len, parts.values())), len(parts), time.perf_counter() - start)
        return received


def _better_rows(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the rows (score, rank, record) of the higher score, of equals those of the lower rank."""
    a, b = (np.ascontiguousarray(rows[:, 0]).view(np.float64) for rows in (first, second))
    is_first = (a > b) | ((a == b) & (first[:, 1] < second[:, 1]))
    return np.where(is_first[:, None], first, second)


def _pack(blocks: Sequence[bytes]) -> bytes:
    """Return the lengths of blocks and their bytes."""
    return b"".join([np.array([len(block) for block in blocks], LENGTH).tobytes(), *blocks])


def _unpack(packed: bytes, n_blocks: int) -> list[bytes]:
    """Return the blocks that ``_pack`` joined."""
    view = memoryview(packed)
    ends = n_blocks * LENGTH.itemsize + np.cumsum(np.frombuffer(packed, LENGTH, n_blocks))
    starts = np.append(n_blocks * LENGTH.itemsize, ends[:-1])
    return [bytes(view[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
