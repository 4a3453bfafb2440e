"""Exact thresholds among integers, in linear time; they depend on neither threads nor workers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.sampling import row_sampling
from sapwood.native.runtime.kernel import CallCache, RepeatedCall
from sapwood.native.threads.team import Team

DIGIT_BITS = 11
ROW_UNITS = 1 << int(row_sampling.ROW_BITS)
MAX_SORTED = 1 << 13  # so many keys are quicker to sort than to count once more
MAX_KEY = (1 << 64) - 1
N_SAMPLED_KEYS = 1 << 14  # from which a window is estimated
DEVIATIONS = 4.0  # standard deviations on either side of the middle of a window


def candidate_capacity(n_rows: int, n_members: int, are_all: bool) -> int:
    """Return the maximum number of candidate keys of each member: all of its rows, or those in a window."""
    n_all = n_rows // n_members + 1
    if are_all:
        return n_all
    return min(n_all, 2 * int(2 * DEVIATIONS * 0.5 / math.sqrt(N_SAMPLED_KEYS) * n_rows) + MAX_SORTED)


def sample_window(keys: np.ndarray, fraction: float) -> tuple[int, int]:
    """Return two keys that very likely enclose the quantile ``fraction`` of all keys, given a sample of them."""
    margin = DEVIATIONS * math.sqrt(len(keys) * fraction * (1.0 - fraction)) + 2.0
    low, high = int(fraction * len(keys) - margin), int(fraction * len(keys) + margin)
    # Two calls for one place each are several times quicker than one call for both.
    first = 0 if low < 0 else int(np.partition(keys, low)[low])
    return first, MAX_KEY if high >= len(keys) else int(np.partition(keys, high)[high])


def uniform_window(k: int, n: int) -> tuple[int, int]:
    """Return two integers that very likely enclose the k-th smallest of n uniform 32-bit integers."""
    fraction = k / n
    margin = DEVIATIONS * math.sqrt(fraction * (1.0 - fraction) / n) + 2.0 / n
    return int(max(0.0, fraction - margin) * 2**32), int(min(1.0, fraction + margin) * 2**32)


def digit_positions(n_bits: int) -> list[tuple[int, int]]:
    """Return the shift and the width in bits of each digit of keys of ``n_bits`` bits, from the left."""
    ends = [*range(n_bits, 0, -DIGIT_BITS), 0]
    return [(low, high - low) for high, low in itertools.pairwise(ends)]


class ProportionSearch:
    """Finds the μ at which Σ min(1, amount / μ) is some number of rows.

    Amounts of at least μ count 1 each: with c of them and S the sum of the others, μ = S / (wanted − c). The digits of
    the largest integer v with c(v)·v + S(v) ≥ wanted·v are found one by one, in exact arithmetic. Amounts are u64, and
    their sum is below 2^63.
    """

    def __init__(self, team: Team, workers: Workers = LOCAL) -> None:
        self._team = team
        self._workers = workers
        self._run = CallCache(team.run)
        self._counters = np.empty((team.size, 2, row_sampling.DIGITS), dtype=np.int64)
        self._search = np.empty(4, dtype=np.int64)
        self._narrow_to_digit = RepeatedCall(row_sampling.narrow_to_digit)
        self._narrow_to_key = RepeatedCall(row_sampling.narrow_to_key)

    def threshold(self, amounts: np.ndarray, largest: int, wanted: float) -> float:
        """Return μ for ``wanted`` rows; 0 if all amounts are 0. None of them is more than ``largest``."""
        search, workers, prefix = self._search, self._workers, 0
        search[:] = max(1, int(wanted * ROW_UNITS)), 0, 0, 0
        for shift, width in digit_positions(max(1, largest.bit_length())):
            self._run(row_sampling.count_digits, amounts, prefix, shift, width, self._counters)
            by_member = self._counters[: self._team.members]
            counters = workers.sum(by_member.sum(axis=0))
            self._narrow_to_digit(counters, prefix << width, shift, search)
            digit = int(search[3])
            if digit < 0 or shift == 0:
                break
            prefix = prefix << width | digit
            if counters[0, digit] <= MAX_SORTED:
                found = workers.gather_rows(self._collect(amounts, prefix, shift, by_member[:, 0, digit]))
                self._narrow_to_key(np.sort(found), search)
                break
        target, n_above, sum_below, _ = search.tolist()
        remaining = target - n_above * ROW_UNITS
        return sum_below * ROW_UNITS / remaining if remaining > 0 else 0.0

    def _collect(self, keys: np.ndarray, prefix: int, shift: int, counts: np.ndarray) -> np.ndarray:
        """Return the keys whose digits down to a shift are ``prefix``; each member has ``counts`` of them."""
        begin = np.concatenate([[0], np.cumsum(counts)])
        found = np.empty(int(begin[-1]), dtype=np.uint64)
        self._run(row_sampling.collect_prefixed_keys, keys, prefix, shift, begin, found)
        return found
