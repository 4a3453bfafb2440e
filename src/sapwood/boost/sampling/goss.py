"""Gradient-based one-side sampling: the rows of large gradient, and some of the others with more weight."""

from __future__ import annotations

import math

import numpy as np

from sapwood.boost.sampling.base import Drawn, Sampler
from sapwood.boost.sampling.select import Keys, kth_smallest
from sapwood.kernels import sample
from sapwood.kernels.random import ROWS


class GossSampler(Sampler):
    """Keeps ⌈a·n⌉ rows of largest |g| and draws m = ⌈b·n⌉ of the r others, whose pairs are multiplied by r/m.

    With several outputs |g| is the norm over them. Norms are compared as float32, equals at random.
    """

    def draw(self, pairs: np.ndarray, round: int) -> Drawn:
        """Draw the rows of a round; the first rounds take all."""
        weight, n = self.pool.weight, self.pool.n_everywhere
        n_other = math.ceil(self.choice.other * n)
        n_top = min(math.ceil(self.choice.top * n), n - 1)
        if round < self._full_rounds() or n_top + n_other >= n:
            return Drawn(None, weight)
        keys, crowd = self._hashes, self.pool.crowd
        self.pool.team.run(
            sample.rank_rows, pairs, weight, self.pool.seed, ROWS, round, self.pool.row_ids, keys
        )  # fmt: skip
        most, n_rest = kth_smallest(Keys(keys), n - n_top, n, crowd)
        bound, n_drawn = kth_smallest(Keys(keys, most, True), n_other, n_rest, crowd)
        return self._listed(
            sample.take_others, keys, np.uint64(most), np.uint64(bound), n_rest / n_drawn, weight, self._weight
        )  # fmt: skip

    def _full_rounds(self) -> int:
        full = self.choice.full_rounds
        return math.ceil(1.0 / self.params.learning_rate) if full is None else int(full)
