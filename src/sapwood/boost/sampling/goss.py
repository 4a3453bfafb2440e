"""Gradient-based one-side sampling: the rows of large gradient, and some of the others with more weight."""

from __future__ import annotations

import math

import numpy as np

from sapwood.boost.sampling.base import Drawn, Sampler
from sapwood.boost.sampling.select import kth_smallest
from sapwood.kernels import sample


class GossSampler(Sampler):
    """Keeps ⌈a·n⌉ rows of largest |g| and draws m = ⌈b·n⌉ of the r others, whose pairs are multiplied by r/m.

    With several outputs |g| is the norm over them. Equals at the cut are ordered by hash.
    """

    def draw(self, pairs: np.ndarray, round: int) -> Drawn:
        """Draw the rows of a round; the first rounds take all."""
        weight, n = self.pool.weight, self.pool.n_rows
        n_other = math.ceil(self.choice.other * n)
        n_top = min(math.ceil(self.choice.top * n), n - 1)
        if round < self._full_rounds() or n_top + n_other >= n:
            return Drawn(None, weight)
        hashes = self._draw_hashes(round)
        self._take_largest(pairs, hashes, n_top)
        team, rest = self.pool.team, n - n_top
        opened = np.where(self._states == sample.LEFT_OUT, sample.OPEN, sample.LEFT_OUT)
        bound = kth_smallest(hashes, opened, n_other, team)
        team.run(
            sample.add_others, hashes, np.uint64(bound), rest / n_other, weight, self._states, self._weight
        )  # fmt: skip
        return Drawn(self._taken(), self._weight)

    def _full_rounds(self) -> int:
        full = self.choice.full_rounds
        return math.ceil(1.0 / self.params.learning_rate) if full is None else int(full)

    def _take_largest(self, pairs: np.ndarray, hashes: np.ndarray, n_top: int) -> None:
        """Mark the ``n_top`` rows of largest norm; numbers of at least 0 are ordered like their bits."""
        team, norms = self.pool.team, self._weight
        if n_top == 0:
            self._states[:] = sample.LEFT_OUT
            return
        team.run(sample.measure_rows, pairs, self.pool.weight, 1.0, 0.0, norms)
        keys = norms.view(np.uint64)
        self._states[:] = sample.OPEN
        n = len(keys)
        bound = kth_smallest(keys, self._states, n - n_top, team)  # so many are not above it
        team.run(sample.take_above, keys, np.uint64(bound), self._states)
        short = n_top - int(np.count_nonzero(self._states == sample.TAKEN))
        if short > 0:  # equals at the cut
            tie_bound = kth_smallest(hashes, self._states, short, team)
            team.run(sample.settle_open, hashes, np.uint64(tie_bound), self._states)
        else:
            self._states[self._states == sample.OPEN] = sample.LEFT_OUT
