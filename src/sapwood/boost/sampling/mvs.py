"""Minimum-variance sampling: probabilities proportional to regularised gradients, weights their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, SamplingContext, sampler_for
from sapwood.boost.sampling.thresholds import ProportionSearch
from sapwood.grow.fixed_point import scale_for
from sapwood.kernels.histogram.gradient_scales import EXACT_LIMIT
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import row_sampling
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Mvs

MAX_STEPS = 2.0**50  # of the fixed-point norm of one row
MAX_SMOOTHING = 1e30  # probabilities are then proportional to hessians
ROUNDING = 1.0 + 1e-9  # bound of the relative rounding error of a norm


@sampler_for(Mvs)
class MvsSampler(Sampler):
    """Samples row i with p = min(1, ĝ/μ), ĝ = √(g² + λh²), and divides its pair by p; μ is such that Σp = s·n."""

    def __init__(self, option: Any, params: BoostingParams, context: SamplingContext) -> None:
        super().__init__(option, params, context)
        size = context.team.size
        self._norms = np.empty(context.n_rows, dtype=np.uint64)
        self._maxima, self._scale = np.empty((size, 2)), np.empty(2)
        self._sums = np.empty((size, 2), dtype=np.int64)
        self._search = ProportionSearch(context.team, context.workers)

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Sample the rows of a round."""
        context, weight = self.context, self.relative_weight
        self._run(row_sampling.max_weighted_pairs, pairs, weight, self._maxima)
        max_g, max_h = context.max(self._maxima[: context.team.members]).tolist()
        if self.params.subsample >= 1.0 or not 0.0 < max(max_g, max_h) < np.inf:
            return SampledRows(None, context.weight)
        n, hessian_weight = context.n_total, self._hessian_weight(pairs, max_g, max_h)
        max_norm = math.sqrt(len(pairs) * (max_g * max_g + hessian_weight * (max_h * max_h)))
        if max_norm == 0.0:
            return SampledRows(None, context.weight)
        norms, scale = self._norms, scale_for(max_sum(n), max_norm * n, n)
        self._run(row_sampling.regularised_norms, pairs, weight, hessian_weight, scale, norms)
        largest = int(max_norm * scale * ROUNDING) + 1
        threshold = self._search.threshold(norms, largest, self.params.subsample * n)
        if threshold <= 0.0:
            return SampledRows(None, context.weight)
        sampled = self._select_weighted(
            row_sampling.sample_in_proportion,
            norms, context.seed, SAMPLING, round, self._row_ids, threshold, context.weight
        )  # fmt: skip
        return self._at_least_one(sampled, round)

    def _hessian_weight(self, pairs: np.ndarray, max_g: float, max_h: float) -> float:
        """Return λ: ``smoothing`` times Σg²/Σh²."""
        if max_h == 0.0:
            return 1.0
        n = self.context.n_total * len(pairs)
        scale_g, scale_h = (scale_for(max_sum(n), bound * bound * n, n) for bound in (max_g, max_h))
        self._scale[:] = scale_g, scale_h
        self._run(row_sampling.sum_squares, pairs, self.relative_weight, self._scale, self._sums)
        steps_g, steps_h = self.context.sum(self._sums[: self.context.team.members]).tolist()
        sum_g, sum_h = steps_g / scale_g, steps_h / scale_h
        return min(self.option.smoothing, MAX_SMOOTHING) * (sum_g / sum_h) if sum_h > 0.0 else 1.0


def max_sum(n: int) -> float:
    """Return the maximum sum of the steps of n rows: none has more than ``MAX_STEPS``, and no sum overflows."""
    return min(EXACT_LIMIT, MAX_STEPS * n)
