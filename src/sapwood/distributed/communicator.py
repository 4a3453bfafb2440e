"""What ranks that train one model together need of each other: sums, maxima and lists of arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

SMALL = 4096  # bytes: so few reach everybody at once sooner than in shares


class Reducer(ABC):
    """Brings arrays of all ranks together; whoever has a network gives it ``exchange``, and the rest follows from that.

    All ranks make the same calls in the same order. ``sent`` counts the bytes that this rank has sent to others, by
    what they were for (``purpose``): "level 3" are those of splits three below the root.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.purpose = "start"
        self.sent: dict[str, int] = {}

    @abstractmethod
    def exchange(self, parts: Sequence[bytes]) -> Sequence[bytes]:
        """Send ``parts[r]`` to rank r; return what each rank has sent to this one, its own part included."""

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """The arrays of all ranks, which may differ in the length of the first axis."""
        return self.deal([values] * self.size)

    def deal(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Give every rank its part; return what they gave. Types and all axes but the first are the same everywhere."""
        sent = [np.ascontiguousarray(part).tobytes() for part in parts]
        self.sent[self.purpose] = self.sent.get(self.purpose, 0) + sum(map(len, sent)) - len(sent[self.rank])
        own = parts[self.rank]
        return [np.frombuffer(got, own.dtype).reshape(-1, *own.shape[1:]) for got in self.exchange(sent)]

    def sum(self, values: np.ndarray) -> np.ndarray:
        """The sum of the arrays of all ranks: integers, so that their order has no say."""
        assert values.dtype == np.int64
        flat = values.reshape(-1)
        if flat.nbytes <= SMALL:
            return np.add.reduce(self.gather(flat)).reshape(values.shape)
        own = self.sum_shares(flat[None], np.arange(self.size + 1) * len(flat) // self.size)
        return np.concatenate(self.gather(own[0])).reshape(values.shape)

    def sum_shares(self, values: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The sums of the columns start[rank] to start[rank + 1] of all ranks' matrices of integers."""
        width = int(start[self.rank + 1] - start[self.rank])
        parts = [values[:, start[r] : start[r + 1]].reshape(-1) for r in range(self.size)]
        return np.add.reduce(self.deal(parts)).reshape(len(values), width)

    def max(self, values: np.ndarray) -> np.ndarray:
        """The largest of each entry."""
        return np.maximum.reduce(self.gather(values.reshape(-1))).reshape(values.shape)

    def report(self) -> str:
        """The bytes sent so far, by what they were for."""
        return ", ".join(f"{purpose}: {n_bytes}" for purpose, n_bytes in self.sent.items())
