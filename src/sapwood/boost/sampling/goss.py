"""Gradient-based one-side sampling: the rows of large gradient, and some of the others with more weight."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, SamplingContext, sampler_for
from sapwood.boost.sampling.selection import MOST, SAMPLED, kth_smallest, room_near, uniform_window, window
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import goss
from sapwood.objectives.base import flat_pairs
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Goss

EVERY_KEY = (0, MOST)
SMALL_TABLE = 2048  # rows up to which all keys are listed
# Keys on either side of the last threshold among which the next one is looked for: a share of all, and some more.
NEXT_SHARE, NEXT_ROWS = 512, 128


class Limits(NamedTuple):
    """The largest key that is not taken for its norm, how many keys are up to it, and the bound of their other bits."""

    most: int
    n_rest: int
    bound: int
    n_drawn: int


@sampler_for(Goss)
class GossSampler(Sampler):
    """Keeps ⌈a·n⌉ rows of largest |g| and draws m = ⌈b·n⌉ of the r others, whose pairs are multiplied by r/m.

    With several outputs |g| is the norm over them. Norms are compared as float32, equals at random.
    """

    def __init__(self, choice: Any, params: BoostingParams, pool: SamplingContext) -> None:
        super().__init__(choice, params, pool)
        self._last: tuple[int, int] | None = None
        self._listed_near = np.empty((2, pool.team.size, 0), dtype=np.uint64)
        self._blocks = np.empty((pool.team.size, 3, int(goss.BLOCK)), dtype=np.uint32)

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Draw the rows of a round; the first rounds take all."""
        weight, n = self.pool.weight, self.pool.n_total
        n_other = math.ceil(self.choice.other * n)
        n_top = min(math.ceil(self.choice.top * n), n - 1)
        if round < self._full_rounds() or n_top + n_other >= n:
            return SampledRows(None, weight)
        rest = n - n_top
        found_in = (
            self._limits(pairs, round, (rest, n_other), windows)
            for windows in self._windows(pairs, round, rest, n_other)
        )
        found = next(limits for limits in found_in if limits is not None)
        factor = found.n_rest / found.n_drawn
        return self._listed(
            goss.select_rows, self._counts, self._hashes, np.uint64(found.most), np.uint64(found.bound), factor, weight
        )  # fmt: skip

    def _windows(self, pairs: np.ndarray, round: int, k: int, n_other: int) -> Iterator[tuple[int, int, int, int]]:
        """Windows in which the k-th smallest key and the bound of the other bits very likely are; at last all keys."""
        others = uniform_window(n_other, k)
        if self._last is not None:
            most, reach = self._last
            yield max(0, most - reach), min(MOST, most + reach), *others
        pool, n = self.pool, self.pool.n_total
        self._last = None
        if n > SMALL_TABLE or pool.workers.splits_rows:
            step = max(1, n // SAMPLED)
            some = np.empty(-(-pool.n_rows // step), dtype=np.uint64)
            pool.team.run(
                goss.sample_keys,
                flat_pairs(pairs),
                self.relative_weight,
                pool.seed,
                SAMPLING,
                round,
                self._ids,
                step,
                some,
            )
            yield *window(pool.workers.gather_rows(some), k / n), *others
        yield *EVERY_KEY, *EVERY_KEY

    def _limits(
        self, pairs: np.ndarray, round: int, wanted: tuple[int, int], windows: tuple[int, int, int, int]
    ) -> Limits | None:  # fmt: skip
        """Rank all rows, and find the limits near which these windows are; None if they are not there."""
        pool, workers, is_everything = self.pool, self.pool.workers, windows[:2] == EVERY_KEY
        size, room = pool.team.size, room_near(pool.n_rows, pool.team.size, is_everything)
        self._counts = counts = np.empty((size, goss.N_CANDIDATES + 1), dtype=np.int64)
        near = self._room(room)
        bounds, flat = np.array(windows, dtype=np.uint64), flat_pairs(pairs)
        pool.team.run(
            goss.collect_candidates, flat, flat.view(np.uint32), self.relative_weight,
            pool.seed, SAMPLING, round, self._ids, bounds, self._blocks, self._hashes, self._spare, counts, near,
        )  # fmt: skip
        if pool.max(counts[:, [goss.N_NEAR, goss.N_HASHES_NEAR]] - room).max() > 0:
            return None
        total = pool.sum(counts).tolist()
        keys = workers.gather_rows(_listed(near[0], counts[:, goss.N_NEAR]))
        top = kth_smallest(keys, wanted[0] - total[goss.N_BELOW])
        if top is None:
            return None
        most, n_near = top
        bits, n_bits = np.empty(len(keys), dtype=np.uint64), np.empty(2, dtype=np.int64)
        goss.hash_keys(keys, np.uint64(most), bounds, bits, n_bits)
        more_below, more_near = n_bits.tolist()
        found = np.concatenate([workers.gather_rows(_listed(near[1], counts[:, goss.N_HASHES_NEAR])), bits[:more_near]])
        n_low = total[goss.N_HASHES_BELOW] + more_below
        low = kth_smallest(found, wanted[1] - n_low)
        if low is None:
            return None
        self._remember(most, len(keys), windows)
        return Limits(most, total[goss.N_BELOW] + n_near, low[0], n_low + low[1])

    def _remember(self, most: int, n_near: int, windows: tuple[int, int, int, int]) -> None:
        """Remember the threshold of keys, and how far that of the next round may be from it."""
        least, largest = windows[:2]
        if least == 0 or largest == MOST:
            self._last = None
            return
        moved = abs(most - self._last[0]) if self._last is not None else 0
        wanted = self.pool.n_total // NEXT_SHARE + NEXT_ROWS
        self._last = most, max((largest - least) * wanted // n_near, 8 * moved)

    def _room(self, room: int) -> np.ndarray:
        """Where members list keys and other bits near the limits: (2, members, room)."""
        if self._listed_near.shape[2] < room:
            self._listed_near = np.empty((2, self.pool.team.size, room), dtype=np.uint64)
        return self._listed_near

    def _full_rounds(self) -> int:
        full = self.choice.full_rounds
        return math.ceil(1.0 / self.params.learning_rate) if full is None else int(full)


def _listed(lines: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What members have listed, each in its line."""
    return np.concatenate([line[:n] for line, n in zip(lines, counts.tolist(), strict=True)])
