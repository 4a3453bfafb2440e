"""Every row with the same chance: row by row, whole groups, or the same share of every class; once or many times."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, SamplingContext, sampler_for
from sapwood.kernels.numeric.elementwise import apply_elementwise, exp_values
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import row_sampling as sample
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Uniform

HASH_RANGE = 2.0**64
MOST_HASH = 2**64 - 1


@sampler_for(Uniform)
class UniformSampler(Sampler):
    """A row is drawn when the hash of its number falls below the share, so its draw depends on no other row."""

    def __init__(self, choice: Any, params: BoostingParams, pool: SamplingContext) -> None:
        super().__init__(choice, params, pool)
        self._times = poisson_bounds(params.subsample) if choice.replacement else None
        self._bound = np.uint64(min(int(params.subsample * HASH_RANGE), MOST_HASH))
        if choice.by == "groups":
            self._ids = _group_ids(pool)
        self._classes = _rows_by_class(pool) if choice.by == "classes" else []

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Draw the rows of a round."""
        pool = self.pool
        if self._times is not None:
            hashes = self._draw_hashes(round)
            return self._not_empty(
                self._listed(sample.sample_with_replacement, hashes, self._times, pool.weight), round
            )
        if self._classes:
            return SampledRows(self._draw_classes(self._draw_hashes(round)), pool.weight)
        counts = np.zeros(pool.team.size, dtype=np.int64)
        pool.team.run(
            sample.sample_uniformly, pool.seed, SAMPLING, round, self._ids, self._bound, counts, self._spare, self._rows
        )  # fmt: skip
        return self._not_empty(SampledRows(self._rows[: int(counts.sum())], pool.weight), round)

    def _draw_classes(self, hashes: np.ndarray) -> np.ndarray:
        drawn = []
        for rows in self._classes:
            every = self.pool.workers.gather_rows(hashes[rows])
            wanted = max(1, int(self.params.subsample * len(every) + 0.5))
            drawn.append(rows[hashes[rows] <= np.partition(every, wanted - 1)[wanted - 1]])
        return np.sort(np.concatenate(drawn)).astype(np.uint32)


def poisson_bounds(mean: float) -> np.ndarray:
    """Hashes from which on a row is drawn 1, 2, 3 ... times, so that the number of times is Poisson."""
    first = apply_elementwise(exp_values, np.array([-mean]))
    chance, below, bounds, times = float(first[0]), 0.0, [], 0
    while below + chance < 1.0 and chance * HASH_RANGE >= 1.0:
        below += chance
        bounds.append(min(int(below * HASH_RANGE), MOST_HASH))
        times += 1
        chance *= mean / times
    return np.array(bounds, dtype=np.uint64)


def _group_ids(pool: SamplingContext) -> np.ndarray:
    """A number for the group of each row: the least of the original numbers of its rows."""
    groups = pool.target.groups
    assert groups is not None
    least = np.full(int(groups.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    numbers = pool.numbers if len(pool.numbers) else np.arange(pool.n_rows, dtype=np.uint64)
    np.minimum.at(least, groups, numbers)
    return least[groups]


def _rows_by_class(pool: SamplingContext) -> list[np.ndarray]:
    y = pool.target.y
    return [np.flatnonzero(y == label) for label in np.unique(pool.workers.gather_rows(y))]
