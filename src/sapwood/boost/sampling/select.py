"""Find thresholds among integers in linear time.

What is found is exact and depends on neither threads nor ranks, however the few numbers around it were come by.
"""

from __future__ import annotations

import bisect
import itertools
import math
from typing import NamedTuple

import numpy as np

from sapwood.data.ranks import Ranks
from sapwood.kernels import sample
from sapwood.native.team import Team

DIGIT_BITS = 11
UNIT = 1 << 20  # parts of a row
FEW = 1 << 13  # so many keys are quicker to sort than to count once more
MOST = (1 << 64) - 1
SAMPLED = 1 << 14  # keys that are looked at first
DEVIATIONS = 5.0


class Crowd(NamedTuple):
    """Who looks at the rows: the threads here, and other ranks that have rows of their own."""

    team: Team
    ranks: Ranks | None = None

    @property
    def is_spread(self) -> bool:
        """Whether other ranks have rows of their own."""
        return self.ranks is not None and self.ranks.share_rows

    def total(self, counts: np.ndarray) -> np.ndarray:
        """What the members of all ranks have counted together."""
        own: np.ndarray = counts.sum(axis=0)
        return self.ranks.reducer.sum(own) if self.ranks is not None and self.is_spread else own

    def largest(self, values: np.ndarray) -> np.ndarray:
        """The largest that the members of all ranks have found."""
        own: np.ndarray = values.max(axis=0)
        return self.ranks.reducer.max(own) if self.ranks is not None and self.is_spread else own

    def whole(self, values: np.ndarray) -> np.ndarray:
        """The values of all ranks."""
        return values if self.ranks is None else self.ranks.whole(values)

    def count(self, n_rows: int) -> int:
        """The rows of all ranks, given those here."""
        return int(self.total(np.array([[n_rows]], dtype=np.int64))[0])


class Keys(NamedTuple):
    """A u64 key per row that draws have made, of which those up to ``most`` are asked; or 32 other bits of them."""

    values: np.ndarray
    most: int = MOST
    mixed: bool = False

    def find_between(self, low: int, high: int, room: int, crowd: Crowd) -> tuple[int, np.ndarray | None]:
        """How many keys are below ``low``, and those up to ``high``, None if they are more than there is room for."""
        size = crowd.team.size
        counts, out = np.empty((size, 2), dtype=np.int64), np.empty((size, room), dtype=np.uint64)
        crowd.team.run(
            sample.find_between, self.values, np.uint64(self.most), int(self.mixed), np.uint64(low), np.uint64(high),
            counts, out,
        )  # fmt: skip
        n_below, n_between = crowd.total(counts).tolist()
        if crowd.largest(counts)[1] > room:
            return n_below, None
        lists = [line[:n] for line, n in zip(out, counts[:, 1].tolist(), strict=True)]
        found = crowd.whole(np.concatenate(lists))
        assert len(found) == n_between
        return n_below, found


def kth_smallest(keys: Keys, k: int, n: int, crowd: Crowd) -> tuple[int, int]:
    """The k-th smallest (from 1) of n keys, and how many are not above it.

    Some of them, or the share k/n for bits that are uniform, tell about where it is; a look at all finds those around.
    """
    if n <= 2 * SAMPLED and not keys.mixed and not crowd.is_spread:
        bound = np.partition(keys.values, k - 1)[k - 1]
        return int(bound), int(np.count_nonzero(keys.values <= bound))
    low, high = _uniform_window(k, n) if keys.mixed else _window(keys.values, k, n, crowd)
    room = len(keys.values) // crowd.team.size + 1
    n_below, found = keys.find_between(low, high, min(room, 2 * _spread(n) + FEW), crowd)
    if found is None or not n_below < k <= n_below + len(found):
        n_below, found = keys.find_between(0, MOST, room, crowd)
        assert found is not None
    bound = np.partition(found, k - n_below - 1)[k - n_below - 1]
    return int(bound), n_below + int(np.count_nonzero(found <= bound))


def _spread(n: int) -> int:
    """How many of n keys a window holds, about."""
    return int(2 * DEVIATIONS * 0.5 / math.sqrt(SAMPLED) * n)


def _window(values: np.ndarray, k: int, n: int, crowd: Crowd) -> tuple[int, int]:
    """Two of every so-many-th keys between which the k-th smallest of all is, unless chance plays a trick."""
    some = crowd.whole(values[:: max(1, n // SAMPLED)])
    share = k / n
    place, margin = share * len(some), DEVIATIONS * math.sqrt(len(some) * share * (1.0 - share)) + 2.0
    low, high = int(place - margin), int(place + margin)
    ordered = np.partition(some, [max(low, 0), min(high, len(some) - 1)])
    return (0 if low < 0 else int(ordered[low])), (MOST if high >= len(some) else int(ordered[high]))


def _uniform_window(k: int, n: int) -> tuple[int, int]:
    """The same for 32 bits that are uniform."""
    share = k / n
    margin = DEVIATIONS * math.sqrt(share * (1.0 - share) / n) + 2.0 / n
    return int(max(0.0, share - margin) * 2**32), int(min(1.0, share + margin) * 2**32)


def places(n_bits: int) -> list[tuple[int, int]]:
    """The digits of keys of so many bits from the left: how far each is from the right, and how many bits it has."""
    ends = [*range(n_bits, 0, -DIGIT_BITS), 0]
    return [(low, high - low) for high, low in itertools.pairwise(ends)]


def proportion_threshold(amounts: np.ndarray, largest: int, wanted: float, crowd: Crowd) -> float:
    """The μ at which Σ min(1, amount / μ) is ``wanted``, for u64 amounts whose sum is below 2^63; 0 if all are 0.

    None of the amounts is above ``largest``.

    Rows of at least μ count 1 each. With c such rows and the others adding up to S, μ = S / (wanted − c). The digits of
    the largest integer v with c(v)·v + S(v) ≥ wanted·v are found one by one, in exact arithmetic.
    """
    counts = np.empty((crowd.team.size, sample.DIGITS), dtype=np.int64)
    sums = np.empty_like(counts)
    around = Around(int(wanted * UNIT))
    prefix = 0
    for shift, width in places(max(1, largest.bit_length())):
        place = np.array([shift, width], dtype=np.int64)
        crowd.team.run(sample.add_digits, amounts, np.uint64(prefix), place, counts, sums)
        n_of, sum_of = crowd.total(counts), crowd.total(sums)
        used = np.flatnonzero(n_of)
        chosen = around.narrow((prefix << width) + used, shift, n_of[used], sum_of[used])
        if chosen is None or shift == 0:
            break
        digit = int(used[chosen])
        prefix = prefix << width | digit
        if n_of[digit] <= FEW:
            found = _collect(amounts, prefix, shift, counts[:, digit], crowd)
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


def _collect(keys: np.ndarray, prefix: int, shift: int, counts: np.ndarray, crowd: Crowd) -> np.ndarray:
    """The keys of all ranks whose digits down to a shift are ``prefix``; members here have counted their own."""
    begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.empty(int(begin[-1]), dtype=np.uint64)
    crowd.team.run(sample.collect_digits, keys, np.uint64(prefix), shift, begin, found)
    return crowd.whole(found)
