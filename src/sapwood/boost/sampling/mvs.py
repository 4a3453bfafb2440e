"""Minimum-variance sampling: chances in proportion to the regularised gradient, weights their inverse."""

from __future__ import annotations

import numpy as np

from sapwood.boost.sampling.base import Drawn, Sampler
from sapwood.boost.sampling.select import proportion_threshold
from sapwood.kernels import sample
from sapwood.kernels.quantise import EXACT, find_scale
from sapwood.kernels.sums import fixed_sum


class MvsSampler(Sampler):
    """Takes row i with p = min(1, ĝ/μ), ĝ = √(g² + λh²), and divides its pair by p; μ makes Σp = s·n."""

    def draw(self, pairs: np.ndarray, round: int) -> Drawn:
        """Draw the rows of a round."""
        team, weight, n = self.pool.team, self.pool.weight, self.pool.n_rows
        norms, amounts = self._weight, np.empty(n, dtype=np.uint64)
        team.run(sample.measure_rows, pairs, weight, 1.0, self._strength(pairs), norms)
        largest = float(norms.max())
        if self.params.subsample >= 1.0 or not 0.0 < largest < np.inf:
            return Drawn(None, weight)
        scale = np.empty(1)
        find_scale(EXACT, largest * n, n, scale)
        team.run(sample.round_amounts, norms, float(scale[0]), amounts)
        threshold = proportion_threshold(amounts, self.params.subsample * n, team)
        if threshold <= 0.0:
            return Drawn(None, weight)
        hashes = self._draw_hashes(round)
        team.run(
            sample.take_in_proportion, amounts, hashes, threshold, weight, self._states, self._weight
        )  # fmt: skip
        return Drawn(self._taken(), self._weight)

    def _strength(self, pairs: np.ndarray) -> float:
        """λ: ``smoothing`` times Σg²/Σh²."""
        sums = []
        for of_gradient in (1.0, 0.0):
            self.pool.team.run(
                sample.measure_rows, pairs, self.pool.weight, of_gradient, 1.0 - of_gradient, self._weight
            )  # fmt: skip
            sums.append(fixed_sum(self._weight, self._weight, self.pool.team.run))
        return self.choice.smoothing * sums[0] / sums[1] if sums[1] > 0.0 else 1.0
