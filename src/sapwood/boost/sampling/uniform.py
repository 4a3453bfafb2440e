"""Uniform sampling: of rows, of whole groups, or of the same fraction of every class; with or without replacement."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, SamplingContext, sampler_for
from sapwood.distributed.selection import group_ids, smallest_keys
from sapwood.kernels.numeric.elementwise import apply_elementwise, exp_values
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import row_sampling
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Uniform

HASH_RANGE = 2.0**64
MAX_HASH = 2**64 - 1


@sampler_for(Uniform)
class UniformSampler(Sampler):
    """Samples a row if the hash of its number is below a bound, so that it depends on no other row."""

    def __init__(self, option: Any, params: BoostingParams, context: SamplingContext) -> None:
        super().__init__(option, params, context)
        self._repeat_bounds = poisson_bounds(params.subsample) if option.replacement else None
        self._bound = np.uint64(min(int(params.subsample * HASH_RANGE), MAX_HASH))
        if option.by == "groups":
            assert context.target.groups is not None
            self._row_ids = group_ids(context.target.groups, context.row_ids, context.workers)
        self._classes = _rows_by_class(context) if option.by == "classes" else []
        self._n_of_class = self._sample_sizes()

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Sample the rows of a round."""
        context = self.context
        if self._repeat_bounds is not None:
            hashes = self._draw_hashes(round)
            return self._at_least_one(
                self._select_weighted(
                    row_sampling.sample_with_replacement, hashes, self._repeat_bounds, context.weight
                ),
                round,
            )
        if self._classes:
            return SampledRows(self._sample_classes(self._draw_hashes(round)), context.weight)
        counts = np.zeros(context.team.members, dtype=np.int64)
        context.team.run(
            row_sampling.sample_uniformly,
            context.seed, SAMPLING, round, self._row_ids, self._bound, counts, self._scratch,
            self._rows,
        )  # fmt: skip
        return self._at_least_one(SampledRows(self._rows[: int(counts.sum())], context.weight), round)

    def _sample_sizes(self) -> np.ndarray:
        """Return the number of rows that are sampled of each class, at least one of those that there are."""
        n_rows = self.context.workers.sum(np.array([len(rows) for rows in self._classes], dtype=np.int64))
        return np.maximum((self.params.subsample * n_rows + 0.5).astype(np.int64), n_rows > 0)

    def _sample_classes(self, hashes: np.ndarray) -> np.ndarray:
        """Return the rows of the smallest hashes of every class."""
        workers = self.context.workers
        if workers.splits_rows:
            code = self.context.target.y.astype(np.int64)
            return np.flatnonzero(smallest_keys(hashes, code, self._n_of_class, workers)).astype(np.uint32)
        sampled = [
            rows[hashes[rows] <= np.partition(hashes[rows], n - 1)[n - 1]]
            for rows, n in zip(self._classes, self._n_of_class, strict=True)
            if n > 0
        ]
        return np.sort(np.concatenate(sampled)).astype(np.uint32)


def poisson_bounds(mean: float) -> np.ndarray:
    """Return the hashes from which on a row is sampled 1, 2, 3 ... times, so that this number has a Poisson law."""
    probability, cumulative, bounds, times = float(apply_elementwise(exp_values, np.array([-mean]))[0]), 0.0, [], 0
    while cumulative + probability < 1.0 and probability * HASH_RANGE >= 1.0:
        cumulative += probability
        bounds.append(min(int(cumulative * HASH_RANGE), MAX_HASH))
        times += 1
        probability *= mean / times
    return np.array(bounds, dtype=np.uint64)


def _rows_by_class(context: SamplingContext) -> list[np.ndarray]:
    y = context.target.y
    _, largest = context.workers.extrema(y)
    return [np.flatnonzero(y == code) for code in range(int(largest) + 1)]
