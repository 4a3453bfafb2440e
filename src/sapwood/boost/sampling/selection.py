"""Find thresholds among integers in linear time.

What is found is exact and depends on neither threads nor workers, however the few numbers around it were come by.
"""

from __future__ import annotations

import bisect
import itertools
import math

import numpy as np

from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.sampling import row_sampling as sample
from sapwood.native.threads.team import Team

DIGIT_BITS = 11
UNIT = 1 << 20  # parts of a row
FEW = 1 << 13  # so many keys are quicker to sort than to count once more
MOST = (1 << 64) - 1
SAMPLED = 1 << 14  # keys that are looked at first
DEVIATIONS = 4.0


def kth_smallest(keys: np.ndarray, k: int) -> tuple[int, int] | None:
    """The k-th smallest (from 1) of some keys and how many are not above it; None if there is none."""
    if not 0 < k <= len(keys):
        return None
    bound = np.partition(keys, k - 1)[k - 1]
    return int(bound), int(np.count_nonzero(keys <= bound))


def room_near(n_rows: int, n_members: int, is_everything: bool) -> int:
    """How many keys each member may have to list of its rows: all, or those in a window."""
    every = n_rows // n_members + 1
    return every if is_everything else min(every, 2 * int(2 * DEVIATIONS * 0.5 / math.sqrt(SAMPLED) * n_rows) + FEW)


def window(some: np.ndarray, share: float) -> tuple[int, int]:
    """Two keys between which the given share of all of them ends, unless chance plays a trick, given some of them."""
    place, margin = share * len(some), DEVIATIONS * math.sqrt(len(some) * share * (1.0 - share)) + 2.0
    low, high = int(place - margin), int(place + margin)
    # One after the other is several times quicker than both at once.
    least = 0 if low < 0 else int(np.partition(some, low)[low])
    return least, MOST if high >= len(some) else int(np.partition(some, high)[high])


def uniform_window(k: int, n: int) -> tuple[int, int]:
    """The same for the k-th smallest of n times 32 bits that are uniform."""
    share = k / n
    margin = DEVIATIONS * math.sqrt(share * (1.0 - share) / n) + 2.0 / n
    return int(max(0.0, share - margin) * 2**32), int(min(1.0, share + margin) * 2**32)


def places(n_bits: int) -> list[tuple[int, int]]:
    """The digits of keys of so many bits from the left: how far each is from the right, and how many bits it has."""
    ends = [*range(n_bits, 0, -DIGIT_BITS), 0]
    return [(low, high - low) for high, low in itertools.pairwise(ends)]


def proportion_threshold(
    amounts: np.ndarray, largest: int, wanted: float, team: Team, workers: Workers = LOCAL
) -> float:  # fmt: skip
    """The μ at which Σ min(1, amount / μ) is ``wanted``, for u64 amounts whose sum is below 2^63; 0 if all are 0.

    None of the amounts is above ``largest``.

    Rows of at least μ count 1 each. With c such rows and the others adding up to S, μ = S / (wanted − c). The digits of
    the largest integer v with c(v)·v + S(v) ≥ wanted·v are found one by one, in exact arithmetic.
    """
    counts = np.empty((team.size, sample.DIGITS), dtype=np.int64)
    sums = np.empty_like(counts)
    around = Around(max(1, int(wanted * UNIT)))
    prefix = 0
    for shift, width in places(max(1, largest.bit_length())):
        place = np.array([shift, width], dtype=np.int64)
        team.run(sample.count_digits, amounts, np.uint64(prefix), place, counts, sums)
        n_of, sum_of = workers.sum(counts.sum(axis=0)), workers.sum(sums.sum(axis=0))
        used = np.flatnonzero(n_of)
        chosen = around.narrow((prefix << width) + used, shift, n_of[used], sum_of[used])
        if chosen is None or shift == 0:
            break
        digit = int(used[chosen])
        prefix = prefix << width | digit
        if n_of[digit] <= FEW:
            found = workers.gather_rows(_collect(amounts, prefix, shift, counts[:, digit], team))
            values, times = np.unique(found, return_counts=True)
            around.narrow(values, 0, times, values.astype(np.int64) * times)
            break
    return around.threshold()


class Around:
    """What is known of the rows around a threshold: how many are above it, and the sum of those below."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._n_above = 0
        self._sum_below = 0

    def narrow(self, digits: np.ndarray, shift: int, counts: np.ndarray, sums: np.ndarray) -> int | None:
        """Settle rows in ranges that begin at ``digits`` << shift; return the range of the threshold, if it is in one.

        Ranges of shift 0 are single numbers, and those of the threshold's own count as below.
        """
        n_until, sum_until = (np.concatenate([[0], np.cumsum(one)]) for one in (counts, sums))
        n_all = int(n_until[-1])

        def is_past(place: int) -> bool:
            start = int(digits[place]) << shift
            n_left = self._n_above + n_all - int(n_until[place])
            below = self._sum_below + int(sum_until[place])
            return (n_left * start + below) * UNIT < self._target * start

        past = bisect.bisect_left(range(len(digits)), True, key=is_past)
        self._n_above += n_all - int(n_until[past])
        if past == 0:  # even the smallest of them is above the threshold
            return None
        self._sum_below += int(sum_until[past if shift == 0 else past - 1])
        return past - 1

    def threshold(self) -> float:
        """The threshold, once all rows are settled."""
        short = self._target - self._n_above * UNIT
        return self._sum_below * UNIT / short if short > 0 else 0.0


def _collect(keys: np.ndarray, prefix: int, shift: int, counts: np.ndarray, team: Team) -> np.ndarray:
    """Return the keys whose digits down to a shift are ``prefix``; ``counts`` are the numbers of each thread's."""
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.empty(int(begin[-1]), dtype=np.uint64)
    team.run(sample.collect_prefixed_keys, keys, np.uint64(prefix), shift, begin, found)
    return found
