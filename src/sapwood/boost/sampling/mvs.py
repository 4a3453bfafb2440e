"""Minimum-variance sampling: chances in proportion to the regularised gradient, weights their inverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, SamplingContext, sampler_for
from sapwood.boost.sampling.selection import proportion_threshold
from sapwood.grow.fixed_point import scale_for
from sapwood.kernels.histogram.quantised_gradients import EXACT_LIMIT
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import row_sampling as sample
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Mvs

STEPS = 2.0**50  # of one row at most
MOST_SMOOTHING = 1e30  # chances then go by hessians alone
ROUNDED_UP = 1.0 + 1e-9  # no norm in floats is above the true one by more


@sampler_for(Mvs)
class MvsSampler(Sampler):
    """Takes row i with p = min(1, ĝ/μ), ĝ = √(g² + λh²), and divides its pair by p; μ makes Σp = s·n."""

    def __init__(self, choice: Any, params: BoostingParams, pool: SamplingContext) -> None:
        super().__init__(choice, params, pool)
        self._amounts = np.empty(pool.n_rows, dtype=np.uint64)

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Draw the rows of a round."""
        pool, weight = self.pool, self.relative_weight
        tops = np.empty((pool.team.size, 2))
        pool.team.run(sample.max_weighted_pairs, pairs, weight, tops)
        top_g, top_h = pool.max(tops).tolist()
        if self.params.subsample >= 1.0 or not 0.0 < max(top_g, top_h) < np.inf:
            return SampledRows(None, pool.weight)
        n, strength = pool.n_total, self._strength(pairs, top_g, top_h)
        largest = math.sqrt(len(pairs) * (top_g * top_g + strength * (top_h * top_h)))
        if largest == 0.0:
            return SampledRows(None, pool.weight)
        amounts = self._amounts
        scale = scale_for(most_of(n), largest * n, n)
        pool.team.run(sample.regularised_norms, pairs, weight, strength, scale, amounts)
        most = int(largest * scale * ROUNDED_UP) + 1
        threshold = proportion_threshold(amounts, most, self.params.subsample * n, pool.team, pool.workers)
        if threshold <= 0.0:
            return SampledRows(None, pool.weight)
        drawn = self._listed(
            sample.sample_in_proportion, amounts, pool.seed, SAMPLING, round, self._ids, threshold, pool.weight
        )  # fmt: skip
        return self._not_empty(drawn, round)

    def _strength(self, pairs: np.ndarray, top_g: float, top_h: float) -> float:
        """λ: ``smoothing`` times Σg²/Σh²."""
        if top_h == 0.0:
            return 1.0
        n = self.pool.n_total * len(pairs)
        scale = np.array([scale_for(most_of(n), top * top * n, n) for top in (top_g, top_h)])
        sums = np.empty((self.pool.team.size, 2), dtype=np.int64)
        self.pool.team.run(sample.sum_squares, pairs, self.relative_weight, scale, sums)
        of_g, of_h = (int(total) / unit for total, unit in zip(self.pool.sum(sums), scale.tolist(), strict=True))
        return min(self.choice.smoothing, MOST_SMOOTHING) * (of_g / of_h) if of_h > 0.0 else 1.0


def most_of(n: int) -> float:
    """The steps of n rows at most: none of them has more than ``STEPS``, and no sum overflows."""
    return min(EXACT_LIMIT, STEPS * n)
