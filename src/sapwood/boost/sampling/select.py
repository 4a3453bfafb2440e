"""Find thresholds among integers in linear time: count digits from the highest down."""

from __future__ import annotations

import bisect

import numpy as np

from sapwood.kernels import sample
from sapwood.native.team import Team

SHIFTS = (48, 32, 16, 0)
UNIT = 1 << 20  # parts of a row
FEW_ROWS = 1 << 15  # so few are quicker to rearrange than to count


def kth_smallest(keys: np.ndarray, states: np.ndarray, k: int, team: Team) -> int:
    """The k-th smallest (from 1) of the open u64 keys, or a number up to the next one: k keys are not above it."""
    if len(keys) < FEW_ROWS:
        return int(np.partition(keys[states == sample.OPEN], k - 1)[k - 1])
    counts = np.empty((team.size, sample.DIGITS), dtype=np.int64)
    prefix = 0
    for shift in SHIFTS:
        team.run(sample.count_digits, keys, states, np.uint64(prefix), shift, counts)
        totals = np.cumsum(counts.sum(axis=0))
        digit = int(np.searchsorted(totals, k))
        prefix = prefix << sample.DIGIT_BITS | digit
        if totals[digit] == k:
            return (prefix + 1 << shift) - 1
        k -= int(totals[digit - 1]) if digit > 0 else 0
    return prefix


def proportion_threshold(amounts: np.ndarray, wanted: float, team: Team) -> float:
    """The μ at which Σ min(1, amount / μ) is ``wanted``, for u64 amounts whose sum is below 2^63; 0 if all are 0.

    Rows of at least μ count 1 each. With c such rows and the others adding up to S, μ = S / (wanted − c). The digits of
    the largest integer v with c(v)·v + S(v) ≥ wanted·v are found one by one, in exact arithmetic.
    """
    counts = np.empty((team.size, sample.DIGITS), dtype=np.int64)
    sums = np.empty_like(counts)
    target = int(wanted * UNIT)
    prefix, n_above, sum_below = 0, 0, 0
    for shift in SHIFTS:
        team.run(sample.add_digits, amounts, np.uint64(prefix), shift, counts, sums)
        n_of, sum_of = counts.sum(axis=0), sums.sum(axis=0)
        used = np.flatnonzero(n_of)
        n_until, sum_until = (np.concatenate([[0], np.cumsum(line[used])]).tolist() for line in (n_of, sum_of))
        starts = [(prefix << sample.DIGIT_BITS | digit) << shift for digit in used.tolist()]

        def is_past(place: int) -> bool:
            n_left = n_above + n_until[-1] - n_until[place]  # noqa: B023
            below = sum_below + sum_until[place]  # noqa: B023
            return (n_left * starts[place] + below) * UNIT < target * starts[place]  # noqa: B023

        past = bisect.bisect_left(range(len(starts)), True, key=is_past)
        if past == 0:  # even the smallest of them is above the threshold
            n_above += n_until[-1]
            break
        n_above += n_until[-1] - n_until[past]
        sum_below += sum_until[past if shift == 0 else past - 1]
        prefix = prefix << sample.DIGIT_BITS | int(used[past - 1])
    short = target - n_above * UNIT
    return sum_below * UNIT / short if short > 0 else 0.0
