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

AHEAD = 32


@kernel()
def split_part(bins, limit, missing_left, rows, start, stop, in_place):
    """Send the positions ``start`` to ``stop`` apart; return how many went left."""
    left = start
    right = stop - 1
    # Missing is bin 0. Where it goes right, a shift by one sends it around to the largest number, beyond any limit.
    shift = np.uint32(1) if missing_left == 0 else np.uint32(0)
    most = np.uint32(limit) - shift
    order = rows.order
    spare = rows.spare
    pairs = rows.pairs[0]
    spare_pairs = rows.spare_pairs[0]
    n_planes = rows.pairs.shape[0]
    for k in range(start, stop):
        if k + AHEAD < stop:
            prefetch(bins, order[k + AHEAD])
        row = order[k]
        pair = pairs[k]
        go = np.int64((np.uint32(bins[row]) - shift) & np.uint32(0xFFFFFFFF) <= most)
        spare[right] = row
        spare_pairs[right] = pair
        if in_place != 0:
            order[left] = row
            pairs[left] = pair
        else:
            spare[left] = row
            spare_pairs[left] = pair
        for p in range(1, n_planes):
            value = rows.pairs[p, k]
            rows.spare_pairs[p, right] = value
            if in_place != 0:
                rows.pairs[p, left] = value
            else:
                rows.spare_pairs[p, left] = value
        left += go
        right -= 1 - go
    return left - start


@kernel()
def settle_part(rows, start, stop, n_left, left_at, right_at, in_place):
    """Put what waits of a part in its final place: its lefts from ``left_at`` on, its rights from ``right_at`` on."""
    for p in range(rows.pairs.shape[0]):
        if in_place == 0:
            for i in range(n_left):
                rows.pairs[p, left_at + i] = rows.spare_pairs[p, start + i]
        for i in range(stop - start - n_left):
            rows.pairs[p, right_at + i] = rows.spare_pairs[p, stop - 1 - i]
    if in_place == 0:
        for i in range(n_left):
            rows.order[left_at + i] = rows.spare[start + i]
    for i in range(stop - start - n_left):
        rows.order[right_at + i] = rows.spare[stop - 1 - i]
