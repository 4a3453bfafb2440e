"""What every way of drawing rows is given, and what it returns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sapwood.boost.target import Target
from sapwood.cached_property import cached_property
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import row_sampling as sample
from sapwood.native.runtime.kernel import Kernel
from sapwood.native.threads.team import Team
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Sampling

MOST_EXPONENT = 24  # of the largest weight, beyond which weights are rescaled to be compared


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The places of the rows drawn, ascending u32 (None: all), and their weights.

    ``given`` are the weights of all rows, empty if equal; ``own`` those of the rows drawn where these differ.
    """

    rows: np.ndarray | None
    given: np.ndarray
    own: np.ndarray | None = None
    n_rows: int = 0

    @property
    def weight(self) -> np.ndarray:
        """The weights of the rows drawn, or of all rows."""
        return self.given if self.own is None else self.own

    @cached_property
    def weight_by_row(self) -> np.ndarray:
        """The weights of all rows, 0 for those that were not drawn if draws have a say in weights."""
        if self.own is None:
            return self.given
        weight = np.zeros(self.n_rows)
        weight[self.rows] = self.own
        return weight


@dataclass(frozen=True, eq=False)
class SamplingContext:
    """The rows to draw from: their original numbers, targets and weights; ``task`` is that of the loss.

    There are no ``numbers`` where they are 0, 1, 2 ...
    """

    numbers: np.ndarray
    target: Target
    task: str
    seed: int
    team: Team
    workers: Workers = LOCAL

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.target.y)

    @cached_property
    def n_total(self) -> int:
        """Number of rows of all workers."""
        return self.workers.count_rows(self.n_rows)

    def sum(self, counts: np.ndarray) -> np.ndarray:
        """Return the sum of integers that the threads of all workers have found, one row per thread here."""
        return self.workers.sum(counts.sum(axis=0))

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maxima of numbers that the threads of all workers have found, one row per thread here."""
        return self.workers.max(values.max(axis=0))

    @cached_property
    def weight(self) -> np.ndarray:
        """The weights of the rows, empty if all weigh the same."""
        return np.empty(0) if self.target.weight is None else self.target.weight


class Sampler(ABC):
    """Draws rows, round by round. What it draws depends on the rows' original numbers, never on threads."""

    def __init__(self, choice: Any, params: BoostingParams, pool: SamplingContext) -> None:
        self.choice = choice
        self.params = params
        self.pool = pool
        self._ids = pool.numbers
        self._hashes = np.empty(pool.n_rows, dtype=np.uint64)
        self._rows = np.empty(pool.n_rows, dtype=np.uint32)
        self._spare = np.empty(pool.n_rows, dtype=np.uint32)
        self._weight = np.empty(0)

    @cached_property
    def relative_weight(self) -> np.ndarray:
        """The weights of the rows by which they are compared, empty if all weigh the same.

        They are those given times a power of two where these would carry gradients or their squares out of range.
        """
        weight = self.pool.weight
        if len(weight) == 0:
            return weight
        exponent = math.frexp(float(self.pool.max(weight[:, None])[0]))[1]
        return weight if abs(exponent) <= MOST_EXPONENT else np.ldexp(weight, -exponent)

    @abstractmethod
    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Draw the rows of a round, given the unweighted gradient pairs (outputs, rows, 2).

        The arrays returned are overwritten by the next draw.
        """

    def _draw_hashes(self, round: int) -> np.ndarray:
        """The random bits of the rows for a round."""
        self.pool.team.run(sample.draw_hashes, self.pool.seed, SAMPLING, round, self._ids, self._hashes)
        return self._hashes

    def _listed(self, take: Kernel, *args: Any) -> SampledRows:
        """Run a kernel that lists rows and their weights as its last arguments say."""
        if len(self._weight) == 0:
            self._weight = np.empty(self.pool.n_rows)
        counts = np.zeros(self.pool.team.size, dtype=np.int64)
        self.pool.team.run(take, *args, counts, self._spare, self._rows, self._weight)
        n_taken = int(counts.sum())
        return self._weighted(self._rows[:n_taken], self._weight[:n_taken])

    def _weighted(self, rows: np.ndarray, weight: np.ndarray) -> SampledRows:
        """Return some rows with their weights."""
        drawn = SampledRows(rows, self.pool.weight, weight, self.pool.n_rows)
        # A worker that has drawn none of its rows has weights nevertheless: an empty array would mean equal weights.
        return SampledRows(rows, drawn.weight_by_row) if self.pool.workers.splits_rows else drawn

    def _not_empty(self, drawn: SampledRows, round: int) -> SampledRows:
        """What was drawn; the row, or the group, of the least hash if that is none."""
        assert drawn.rows is not None
        workers = self.pool.workers
        if workers.sum(np.array([len(drawn.rows)], dtype=np.int64))[0] > 0:
            return drawn
        self._draw_hashes(round)
        smallest = self._hashes.min()
        rows = np.flatnonzero(self._hashes == smallest).astype(np.uint32)
        rows = rows if workers.has_min(smallest) else rows[:0]
        if drawn.weight is self.pool.weight:
            return SampledRows(rows, self.pool.weight)
        return self._weighted(rows, self.pool.weight[rows] if len(self.pool.weight) else np.ones(len(rows)))


SAMPLERS: dict[type[Sampling], type[Sampler]] = {}
_SamplerClass = TypeVar("_SamplerClass", bound=type[Sampler])


def sampler_for(option: type[Sampling]) -> Callable[[_SamplerClass], _SamplerClass]:
    """Return a decorator that registers the sampler for the objects of a class of ``params/options.py``."""

    def register(sampler: _SamplerClass) -> _SamplerClass:
        SAMPLERS[option] = sampler
        return sampler

    return register
