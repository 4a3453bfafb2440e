"""Exchange of arrays between the workers of a distributed fit: sums, maxima and lists of arrays."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

SMALL_BYTES = 4096  # up to here one exchange of whole arrays is quicker than a reduce-scatter and an all-gather


class Communicator(ABC):
    """Combines arrays of all workers. A transport implements ``exchange``; the other operations are built on it.

    All workers make the same calls in the same order. ``sent`` counts the bytes that this worker has sent to others, by
    the ``purpose`` at the time: "level 3" are those of splits three levels below the root. ``messages`` counts the
    messages, ``exchanges`` the exchanges and ``seconds`` the time in them, waiting for slower workers included, by
    purpose alike.

    Parameters
    ----------
    rank : int
        Number of this worker, from 0.
    size : int
        Number of workers.

    Examples
    --------
    >>> from sapwood.distributed import Communicator
    >>> class MpiCommunicator(Communicator):
    ...     def __init__(self, comm):
    ...         super().__init__(comm.rank, comm.size)
    ...         self.comm = comm
    ...
    ...     def exchange(self, parts):
    ...         return self.comm.alltoall(parts)
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.purpose = "start"
        self.sent: dict[str, int] = {}
        self.messages: dict[str, int] = {}
        self.exchanges: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    @abstractmethod
    def exchange(self, parts: Sequence[bytes]) -> Sequence[bytes]:
        """Send ``parts[r]`` to worker r; return the parts received from each worker, its own included."""

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of all workers, which may differ in the length of the first axis."""
        return self.exchange_arrays([values] * self.size)

    def exchange_arrays(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send ``parts[r]`` to worker r; return the arrays received.

        Types and all axes but the first are the same at all workers.
        """
        encoded = {id(part): self.encode(part) for part in parts}  # one for all if it is the same
        to_send = [encoded[id(part)] for part in parts]
        n_bytes = sum(map(len, to_send)) - len(to_send[self.rank])
        start = time.perf_counter()
        received = self.exchange(to_send)
        self._count(n_bytes, self.size - 1, time.perf_counter() - start)
        kept = parts[self.rank]
        return [np.frombuffer(part, kept.dtype).reshape(-1, *kept.shape[1:]) for part in received]

    def encode(self, values: np.ndarray) -> Any:
        """Return the bytes of an array; a transport whose exchanges end when all is sent need not copy them."""
        return np.ascontiguousarray(values).tobytes()

    def _count(self, n_bytes: int, n_messages: int, seconds: float) -> None:
        """Count an exchange under the current purpose."""
        self.sent[self.purpose] = self.sent.get(self.purpose, 0) + n_bytes
        self.messages[self.purpose] = self.messages.get(self.purpose, 0) + n_messages
        self.exchanges[self.purpose] = self.exchanges.get(self.purpose, 0) + 1
        self.seconds[self.purpose] = self.seconds.get(self.purpose, 0.0) + seconds

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the arrays of all workers: of integers, so that it does not depend on their order."""
        assert values.dtype == np.int64
        flat = values.reshape(-1)
        if flat.nbytes <= SMALL_BYTES or self.size == 2:  # two workers send the same bytes either way
            return add_arrays(self.gather(flat)).reshape(values.shape)
        summed = self.reduce_scatter(flat[None], np.arange(self.size + 1) * len(flat) // self.size)
        return np.concatenate(self.gather(summed[0])).reshape(values.shape)

    def reduce_scatter(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the sums over all workers' matrices of integers of the columns start[rank] to start[rank + 1]."""
        width = int(start[self.rank + 1] - start[self.rank])
        parts = [values[:, start[r] : start[r + 1]].reshape(-1) for r in range(self.size)]
        return add_arrays(self.exchange_arrays(parts)).reshape(len(values), width)

    def reduce_scatter_with(
        self, values: np.ndarray, start: np.ndarray, shared: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``reduce_scatter`` and the sum of the vectors ``shared`` of all workers, by one exchange."""
        width = int(start[self.rank + 1] - start[self.rank])
        parts = [np.append(values[:, start[r] : start[r + 1]].reshape(-1), shared) for r in range(self.size)]
        total = add_arrays(self.exchange_arrays(parts))
        return total[: len(values) * width].reshape(len(values), width), total[len(values) * width :]

    def sum_before(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of integers over the workers before this one, and over all; each worker adds up a slice."""
        assert values.dtype == np.int64
        flat = values.reshape(-1)
        borders = np.arange(1, self.size) * len(flat) // self.size
        received = np.stack(self.exchange_arrays(np.split(flat, borders)))
        sums = np.cumsum(received, axis=0)
        answers = [np.stack([before, sums[-1]], axis=1) for before in sums - received]
        before, total = np.concatenate(self.exchange_arrays(answers)).T
        return np.ascontiguousarray(before).reshape(values.shape), np.ascontiguousarray(total).reshape(values.shape)

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maximum over all workers of each entry."""
        return np.maximum.reduce(self.gather(values.reshape(-1))).reshape(values.shape)

    def choose(self, scores: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Return each row of the records, integers, of the worker with its highest score, the first of equals."""
        gathered = np.stack(self.gather(np.column_stack([scores.view(np.int64), records])))
        best = np.argmax(np.ascontiguousarray(gathered[:, :, 0]).view(np.float64), axis=0)
        return np.ascontiguousarray(gathered[best, np.arange(len(records)), 1:])

    def report(self) -> str:
        """Return the number of bytes sent so far, by purpose."""
        return ", ".join(f"{purpose}: {n_bytes}" for purpose, n_bytes in self.sent.items())


def add_arrays(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of arrays of one shape, without the copy that ``np.add.reduce`` makes of a list of them."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


Reducer = Communicator  # its public name in version 0.1


class LocalCommunicator(Communicator):
    """The communicator of a fit on one machine: nothing is sent, counted or copied."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1)

    def exchange(self, parts: Sequence[bytes]) -> Sequence[bytes]:
        """Return the only part."""
        return parts

    def exchange_arrays(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the only array."""
        return list(parts)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the array itself."""
        return values

    def reduce_scatter(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the array itself."""
        return values

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the array itself."""
        return values
