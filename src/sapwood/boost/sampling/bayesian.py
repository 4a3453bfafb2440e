"""The Bayesian bootstrap: all rows with random weights."""

from __future__ import annotations

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, sampler_for
from sapwood.kernels.sampling import row_sampling
from sapwood.params.options import Bayesian


@sampler_for(Bayesian)
class BayesianSampler(Sampler):
    """Multiplies the weight of each row by (−log u)^temperature."""

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Return all rows with the weights of a round."""
        if self.option.temperature == 0.0:
            return SampledRows(None, self.context.weight)
        hashes, weight = self._draw_hashes(round), np.empty(self.context.n_rows)
        self.context.team.run(
            row_sampling.bayesian_weights, hashes, self.option.temperature, self.context.weight, weight
        )  # fmt: skip
        return SampledRows(None, weight)
