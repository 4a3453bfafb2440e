"""Base class of samplers, the rows they sample from and the rows they return."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from sapwood.boost.target import Target
from sapwood.cached_property import cached_property
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.grow.grower import MAX_ROUNDS
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import row_sampling
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import CallCache, Kernel
from sapwood.native.threads.team import Team
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Sampling

MAX_EXPONENT = 24  # of the largest weight, beyond which weights are rescaled


def sample_number(round: int, copy: int) -> int:
    """Return the number on which the draws of one of the parallel trees of a round depend; the first has the round."""
    return round + MAX_ROUNDS * copy


def round_of_sample(number: int) -> int:
    """Return the round of a ``sample_number``."""
    return number % MAX_ROUNDS


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The sampled rows, as ascending u32 (None: all rows), and their weights.

    ``row_weights`` are the weights of all rows, empty if equal. Where sampling changes weights, ``sampled_weights`` are
    those of the sampled rows, of ``n_rows`` rows in all.
    """

    rows: np.ndarray | None
    row_weights: np.ndarray
    sampled_weights: np.ndarray | None = None
    n_rows: int = 0

    @property
    def weight(self) -> np.ndarray:
        """Weights of the sampled rows, or of all rows."""
        return self.row_weights if self.sampled_weights is None else self.sampled_weights

    @cached_property
    def weight_by_row(self) -> np.ndarray:
        """Weights of all rows; 0 for rows that were not sampled where sampling changes weights."""
        if self.sampled_weights is None:
            return self.row_weights
        weight = np.zeros(self.n_rows)
        weight[self.rows] = self.sampled_weights
        return weight


@dataclass(frozen=True, eq=False)
class SamplingContext:
    """The rows to sample from: their numbers, targets and weights; ``task`` is that of the loss.

    ``kept_row_ids`` is empty where the numbers are 0, 1, 2 ...
    """

    kept_row_ids: np.ndarray
    target: Target
    task: str
    seed: int
    team: Team
    workers: Workers = LOCAL

    @property
    def n_rows(self) -> int:
        """Number of rows of this worker."""
        return len(self.target.y)

    @property
    def row_ids(self) -> np.ndarray:
        """Numbers of the rows, on which random draws depend."""
        return self.kept_row_ids if len(self.kept_row_ids) else np.arange(self.n_rows, dtype=np.uint64)

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
        """Weights of the rows, empty if all are equal."""
        return np.empty(0) if self.target.weight is None else self.target.weight


class Sampler(ABC):
    """Samples rows for each round. A sample depends on the numbers of rows, never on threads or workers."""

    def __init__(self, option: Any, params: BoostingParams, context: SamplingContext) -> None:
        self.option = option
        self.params = params
        self.context = context
        self._run = CallCache(context.team.run)
        self._row_ids = context.kept_row_ids
        self._hashes = np.empty(context.n_rows, dtype=np.uint64)
        self._rows = np.empty(context.n_rows, dtype=np.uint32)
        self._scratch = np.empty(context.n_rows, dtype=np.uint32)
        self._weight = np.empty(0)

    @cached_property
    def relative_weight(self) -> np.ndarray:
        """Weights of the rows for comparisons, empty if all are equal.

        They are multiplied by a power of two where squares of weighted gradients could overflow.
        """
        weight, workers = self.context.weight, self.context.workers
        if len(weight) == 0 and not workers.splits_rows:
            return weight
        exponent = math.frexp(float(workers.max(np.array([weight.max(initial=0.0)]))[0]))[1]
        return weight if abs(exponent) <= MAX_EXPONENT else np.ldexp(weight, -exponent)

    @abstractmethod
    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Sample the rows of a round, given the unweighted gradient pairs (outputs, rows, 2).

        ``round`` is a ``sample_number`` where a round has parallel trees. The next call may overwrite the arrays that
        are returned.
        """

    def _draw_hashes(self, round: int) -> np.ndarray:
        """Return 64 random bits for each row in a round."""
        self._run(row_sampling.draw_hashes, self.context.seed, SAMPLING, round, self._row_ids, self._hashes)
        return self._hashes

    def _select_weighted(self, kernel: Kernel, *args: Any) -> SampledRows:
        """Run a kernel that writes sampled rows and their weights to the buffers that follow its arguments."""
        if len(self._weight) == 0:
            self._weight = np.empty(self.context.n_rows)
        counts = np.zeros(self.context.team.members, dtype=np.int64)
        self._run(kernel, *args, counts, self._scratch, self._rows, self._weight)
        n_sampled = int(counts.sum())
        return self._with_weights(self._rows[:n_sampled], self._weight[:n_sampled])

    def _with_weights(self, rows: np.ndarray, weight: np.ndarray) -> SampledRows:
        """Return sampled rows with their weights."""
        sampled = SampledRows(rows, self.context.weight, weight, self.context.n_rows)
        # A worker may have sampled none of its rows: an empty array of weights would mean that all are equal.
        return SampledRows(rows, sampled.weight_by_row) if self.context.workers.splits_rows else sampled

    def _at_least_one(self, sampled: SampledRows, round: int) -> SampledRows:
        """Return the sampled rows; if there are none, the row (or group) of the smallest hash."""
        assert sampled.rows is not None
        workers = self.context.workers
        if workers.sum(np.array([len(sampled.rows)], dtype=np.int64))[0] > 0:
            return sampled
        self._draw_hashes(round)
        smallest = self._hashes.min(initial=np.iinfo(np.uint64).max)
        rows = np.flatnonzero(self._hashes == smallest).astype(np.uint32)
        rows = rows if smallest == workers.min(smallest) else rows[:0]
        if sampled.weight is self.context.weight:
            return SampledRows(rows, self.context.weight)
        return self._with_weights(rows, self.context.weight[rows] if len(self.context.weight) else np.ones(len(rows)))


SAMPLERS: dict[type[Sampling], type[Sampler]] = {}
_SamplerClass = TypeVar("_SamplerClass", bound=type[Sampler])


def sampler_for(option: type[Sampling]) -> Callable[[_SamplerClass], _SamplerClass]:
    """Return a decorator that registers the sampler for the objects of a class of ``params/options/``."""

    def register(sampler: _SamplerClass) -> _SamplerClass:
        SAMPLERS[option] = sampler
        return sampler

    return register
