"""The Bayesian bootstrap: all rows with random weights."""

from __future__ import annotations

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, sampler_for
from sapwood.kernels.sampling import row_sampling as sample
from sapwood.params.options import Bayesian


@sampler_for(Bayesian)
class BayesianSampler(Sampler):
    """Multiplies the weight of each row by (−log u)^temperature."""

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Draw the weights of a round."""
        if self.choice.temperature == 0.0:
            return SampledRows(None, self.pool.weight)
        hashes, weight = self._draw_hashes(round), np.empty(self.pool.n_rows)
        self.pool.team.run(
            sample.bayesian_weights, hashes, self.choice.temperature, self.pool.weight, weight
        )  # fmt: skip
        return SampledRows(None, weight)
