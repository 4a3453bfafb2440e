"""Move the rows of a leaf to its two children, keeping their order.

A member takes a part of the leaf. Left rows (l) and right rows (r) leave it like this::

    part 0:  order l l l . . . .     the lefts stay in place ...
             spare . . . . r r r     ... the rights wait in the spare array, last one first
    part t:  spare l l l l . r r     all wait

When all parts are done and their numbers of lefts are known, each member puts what waits in its final place.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.intrinsics import prefetch
from sapwood.native.kernel import kernel

AHEAD = np.uint64(32)
ONE = np.uint64(1)


@kernel(apart=True)
def split_part(bins, limit, missing_left, rows, start, stop, in_place):
    """Send the positions ``start`` to ``stop`` apart; return how many went left.

    Every row is written to both sides and one of the two is overwritten by the next: no branch to mispredict.
    """
    left = np.uint64(start)
    right = np.uint64(stop - 1)
    end = np.uint64(stop)
    # Missing is bin 0. Where it goes right, a shift by one sends it around to the largest number, beyond any limit.
    shift = np.uint32(1) if missing_left == 0 else np.uint32(0)
    most = np.uint32(limit) - shift
    order = rows.order
    spare = rows.spare
    pairs = rows.pairs[0]
    spare_pairs = rows.spare_pairs[0]
    left_order = order if in_place != 0 else spare
    left_pairs = pairs if in_place != 0 else spare_pairs
    n_planes = rows.pairs.shape[0]
    for k in range(np.uint64(start), end):
        if k + AHEAD < end:
            prefetch(bins, order[k + AHEAD])
        row = order[k]
        pair = pairs[k]
        go = np.uint64(np.uint32(np.uint32(bins[row]) - shift) <= most)
        spare[right] = row
        spare_pairs[right] = pair
        left_order[left] = row
        left_pairs[left] = pair
        for p in range(1, n_planes):
            value = rows.pairs[p, k]
            rows.spare_pairs[p, right] = value
            if in_place != 0:
                rows.pairs[p, left] = value
            else:
                rows.spare_pairs[p, left] = value
        left += go
        right -= ONE - go
    return np.int64(left) - start


@kernel()
def copy_back(source, target, first, n, at):
    """Put n waiting elements from ``first`` on at ``at``."""
    begin = np.uint64(first)
    to = np.uint64(at)
    for i in range(np.uint64(n)):
        target[to + i] = source[begin + i]


@kernel()
def copy_back_reversed(source, target, last, n, at):
    """Put n waiting elements, the first of which is at ``last`` and the others before it, at ``at``."""
    end = np.uint64(last)
    to = np.uint64(at)
    for i in range(np.uint64(n)):
        target[to + i] = source[end - i]


@kernel()
def settle_part(rows, start, stop, n_left, left_at, right_at, in_place):
    """Put what waits of a part in its final place: its lefts from ``left_at`` on, its rights from ``right_at`` on."""
    n_right = stop - start - n_left
    for p in range(rows.pairs.shape[0]):
        if in_place == 0:
            copy_back(rows.spare_pairs[p], rows.pairs[p], start, n_left, left_at)
        copy_back_reversed(rows.spare_pairs[p], rows.pairs[p], stop - 1, n_right, right_at)
    if in_place == 0:
        copy_back(rows.spare, rows.order, start, n_left, left_at)
    copy_back_reversed(rows.spare, rows.order, stop - 1, n_right, right_at)
