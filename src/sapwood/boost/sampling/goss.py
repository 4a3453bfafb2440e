"""Gradient-based one-side sampling: the rows of large gradients, and some of the others with higher weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sapwood.boost.sampling.base import SampledRows, Sampler, SamplingContext, round_of_sample, sampler_for
from sapwood.boost.sampling.thresholds import (
    MAX_KEY,
    N_SAMPLED_KEYS,
    candidate_capacity,
    sample_window,
    uniform_window,
)
from sapwood.distributed.selection import kth_smallest
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import goss
from sapwood.objectives.base import flat_pairs
from sapwood.params.declaration import BoostingParams
from sapwood.params.options import Goss

ALL_KEYS = (0, MAX_KEY)
SMALL_TABLE = 2048  # rows up to which all keys are candidates
# Keys on either side of the last threshold among which the next one is searched: n / NEXT_DIVISOR + NEXT_ROWS.
NEXT_DIVISOR, NEXT_ROWS = 512, 128

Windows = tuple[int, int, int, int]  # first and last candidate of the key threshold, and of the hash threshold


class Thresholds(NamedTuple):
    """The largest key of the rows of small gradient, how many these are, and the largest hash of those sampled."""

    key: int
    n_small: int
    hash: int
    n_sampled: int


@sampler_for(Goss)
class GossSampler(Sampler):
    """Keeps ⌈a·n⌉ rows of largest |g| and samples m = ⌈b·n⌉ of the r others, whose pairs are multiplied by r/m.

    With several outputs |g| is the norm over them. A key orders rows by |g| as float32, equals at random. Both
    thresholds are exact: windows of candidates only save time, and if a threshold is outside they are widened.
    """

    def __init__(self, option: Any, params: BoostingParams, context: SamplingContext) -> None:
        super().__init__(option, params, context)
        self._last_key: tuple[int, int] | None = None  # threshold of the last round, and the reach of the next window
        self._candidates = np.empty((2, 0, 0), dtype=np.uint64)
        self._blocks = np.empty((context.team.size, 3, int(goss.BLOCK)), dtype=np.uint32)

    def draw(self, pairs: np.ndarray, round: int) -> SampledRows:
        """Sample the rows of a round; the first rounds use all rows."""
        weight, n = self.context.weight, self.context.n_total
        n_other = math.ceil(self.option.other * n)
        n_top = min(math.ceil(self.option.top * n), n - 1)
        if round_of_sample(round) < self._full_rounds() or n_top + n_other >= n:
            return SampledRows(None, weight)
        n_small = n - n_top
        attempts = (
            self._find_thresholds(pairs, round, (n_small, n_other), windows)
            for windows in self._windows(pairs, round, n_small, n_other)
        )
        found = next(thresholds for thresholds in attempts if thresholds is not None)
        factor = found.n_small / found.n_sampled
        return self._select_weighted(
            goss.select_rows, self._counts, self._hashes, np.uint64(found.key), np.uint64(found.hash), factor, weight
        )  # fmt: skip

    def _windows(self, pairs: np.ndarray, round: int, n_small: int, n_other: int) -> Iterator[Windows]:
        """Return windows that very likely contain both thresholds; the last contain all keys."""
        hash_window = uniform_window(n_other, n_small)
        if self._last_key is not None:
            key, reach = self._last_key
            yield max(0, key - reach), min(MAX_KEY, key + reach), *hash_window
        context, n = self.context, self.context.n_total
        self._last_key = None
        if n > SMALL_TABLE or context.workers.splits_rows:
            step = max(1, n // N_SAMPLED_KEYS)
            keys = np.empty(-(-context.n_rows // step), dtype=np.uint64)
            context.team.run(
                goss.sample_keys, flat_pairs(pairs), self.relative_weight, context.seed, SAMPLING, round, self._row_ids,
                step, keys,
            )  # fmt: skip
            yield *sample_window(context.workers.gather_rows(keys), n_small / n), *hash_window
        yield *ALL_KEYS, *ALL_KEYS

    def _find_thresholds(
        self, pairs: np.ndarray, round: int, counts: tuple[int, int], windows: Windows
    ) -> Thresholds | None:  # fmt: skip
        """Return the thresholds below which so many rows are small and are sampled; None if they are in no window."""
        n_small, n_other = counts
        bounds = np.array(windows, dtype=np.uint64)
        candidates = self._collect_candidates(pairs, round, bounds, windows[:2] == ALL_KEYS)
        if candidates is None:
            return None
        keys, hashes, totals = candidates
        workers = self.context.workers
        found_key = kth_smallest(keys, n_small - totals[goss.N_BELOW], totals[goss.N_NEAR], workers)
        if found_key is None:
            return None
        key, n_up_to_key = found_key
        hashes_of_keys, n_hashes = np.empty(len(keys), dtype=np.uint64), np.empty(2, dtype=np.int64)
        goss.hash_keys(keys, np.uint64(key), bounds, hashes_of_keys, n_hashes)
        hashes = np.concatenate([hashes, hashes_of_keys[: n_hashes[1]]])
        n_more_below, n_more_near = workers.sum(n_hashes).tolist()
        n_below, n_near = totals[goss.N_HASHES_BELOW] + n_more_below, totals[goss.N_HASHES_NEAR] + n_more_near
        found_hash = kth_smallest(hashes, n_other - n_below, n_near, workers)
        if found_hash is None:
            return None
        self._remember(key, totals[goss.N_NEAR], windows)
        n_rows_up_to_key = totals[goss.N_BELOW] + n_up_to_key
        return Thresholds(key, n_rows_up_to_key, found_hash[0], n_below + found_hash[1])

    def _collect_candidates(
        self, pairs: np.ndarray, round: int, bounds: np.ndarray, are_all: bool
    ) -> tuple[np.ndarray, np.ndarray, list[int]] | None:  # fmt: skip
        """Return keys and hashes in the windows, and counts of those of all workers; None if there are too many."""
        context = self.context
        members = context.team.members
        capacity = candidate_capacity(context.n_rows, members, are_all)
        if self._candidates.shape[1] != members or self._candidates.shape[2] < capacity:
            self._candidates = np.empty((2, members, capacity), dtype=np.uint64)
        self._counts = counts = np.empty((members, goss.N_CANDIDATES + 1), dtype=np.int64)
        flat = flat_pairs(pairs)
        context.team.run(
            goss.collect_candidates, flat, flat.view(np.uint32), self.relative_weight, context.seed, SAMPLING, round,
            self._row_ids, bounds, self._blocks, self._hashes, self._scratch, counts, self._candidates,
        )  # fmt: skip
        if context.max(counts[:, [goss.N_NEAR, goss.N_HASHES_NEAR]] - capacity).max() > 0:
            return None
        totals = context.sum(counts).tolist()
        keys = _concatenate(self._candidates[0], counts[:, goss.N_NEAR])
        hashes = _concatenate(self._candidates[1], counts[:, goss.N_HASHES_NEAR])
        return keys, hashes, totals

    def _remember(self, key: int, n_near: int, windows: Windows) -> None:
        """Remember the key threshold, and how far that of the next round may be from it."""
        first, last = windows[:2]
        if first == 0 or last == MAX_KEY:
            self._last_key = None
            return
        change = abs(key - self._last_key[0]) if self._last_key is not None else 0
        n_candidates = self.context.n_total // NEXT_DIVISOR + NEXT_ROWS
        self._last_key = key, max((last - first) * n_candidates // n_near, 8 * change)

    def _full_rounds(self) -> int:
        full_rounds = self.option.full_rounds
        return math.ceil(1.0 / self.params.rate_of(0)) if full_rounds is None else int(full_rounds)


def _concatenate(buffers: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the first ``counts[t]`` entries of each member's buffer, one member after the other."""
    return np.concatenate([buffer[:n] for buffer, n in zip(buffers, counts.tolist(), strict=True)])
