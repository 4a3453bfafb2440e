"""Exact thresholds among integers, in linear time; they depend on neither threads nor workers."""

from __future__ import annotations

import bisect
import itertools
import math

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.sampling import row_sampling
from sapwood.native.threads.team import Team

DIGIT_BITS = 11
ROW_UNITS = 1 << 20  # units of a row, in which the wanted number of rows is rounded
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


def proportion_threshold(
    amounts: np.ndarray, largest: int, wanted: float, team: Team, workers: Workers = LOCAL
) -> float:  # fmt: skip
    """Return the μ at which Σ min(1, amount / μ) is ``wanted``; 0 if all amounts are 0.

    The amounts are u64 of at most ``largest``, and their sum is below 2^63. Those of at least μ count 1 each: with c of
    them and S the sum of the others, μ = S / (wanted − c). The digits of the largest integer v with
    c(v)·v + S(v) ≥ wanted·v are found one by one, in exact arithmetic.
    """
    counts = np.empty((team.members, row_sampling.DIGITS), dtype=np.int64)
    sums = np.empty_like(counts)
    search = ThresholdSearch(max(1, int(wanted * ROW_UNITS)))
    prefix = 0
    for shift, width in digit_positions(max(1, largest.bit_length())):
        position = np.array([shift, width], dtype=np.int64)
        team.run(row_sampling.count_digits, amounts, np.uint64(prefix), position, counts, sums)
        n_of, sum_of = workers.sum(counts.sum(axis=0)), workers.sum(sums.sum(axis=0))
        used = np.flatnonzero(n_of)
        chosen = search.narrow((prefix << width) + used, shift, n_of[used], sum_of[used])
        if chosen is None or shift == 0:
            break
        digit = int(used[chosen])
        prefix = prefix << width | digit
        if n_of[digit] <= MAX_SORTED:
            found = workers.gather_rows(_collect(amounts, prefix, shift, counts[:, digit], team))
            values, times = np.unique(found, return_counts=True)
            search.narrow(values, 0, times, values.astype(np.int64) * times)
            break
    return search.threshold()


class ThresholdSearch:
    """A range that contains a threshold, narrowed step by step: the number of amounts above, the sum of those below."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._n_above = 0
        self._sum_below = 0

    def narrow(self, digits: np.ndarray, shift: int, counts: np.ndarray, sums: np.ndarray) -> int | None:
        """Return which of the ranges that begin at ``digits`` << shift contains the threshold; None if it is below all.

        ``counts`` and ``sums`` are those of the amounts in each range; all but those of the range returned are added to
        the amounts above or below. Ranges of shift 0 are single integers, and equals of the threshold count as below.
        """
        n_until, sum_until = (np.concatenate([[0], np.cumsum(values)]) for values in (counts, sums))
        n_all = int(n_until[-1])

        def is_past(place: int) -> bool:
            start = int(digits[place]) << shift
            n_from = self._n_above + n_all - int(n_until[place])
            below = self._sum_below + int(sum_until[place])
            return (n_from * start + below) * ROW_UNITS < self._target * start

        past = bisect.bisect_left(range(len(digits)), True, key=is_past)
        self._n_above += n_all - int(n_until[past])
        if past == 0:  # even the smallest of them is above the threshold
            return None
        self._sum_below += int(sum_until[past if shift == 0 else past - 1])
        return past - 1

    def threshold(self) -> float:
        """Return the threshold, once all amounts are above or below."""
        remaining = self._target - self._n_above * ROW_UNITS
        return self._sum_below * ROW_UNITS / remaining if remaining > 0 else 0.0


def _collect(keys: np.ndarray, prefix: int, shift: int, counts: np.ndarray, team: Team) -> np.ndarray:
    """Return the keys whose digits down to a shift are ``prefix``; each member has ``counts`` of them."""
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.empty(int(begin[-1]), dtype=np.uint64)
    team.run(row_sampling.collect_prefixed_keys, keys, np.uint64(prefix), shift, begin, found)
    return found
