"""Send the rows of a large leaf apart where hardly any goes to one of the sides.

The few are found by reading the feature's column from end to end, without looking at the rows of the leaf; each is then
looked up among these, and the rows in between are moved as they are.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel

MIN_ROWS = 4096  # of a leaf that is looked at
SAMPLE_ROWS, SAMPLE_STRIDE = (
    np.uint64(64),
    np.uint64(1024),
)  # rows that are looked at first, and how far apart such samples begin
RARE_DIVISOR = 32  # one row in so many may go to the rare side
BLOCK_ROWS = np.uint64(32)  # rows that are looked at together
NO_RARE_SIDE, RARE_LEFT, RARE_RIGHT = range(3)  # which side is rare
ONE = np.uint64(1)


@kernel()
def goes_left(bin, shift, most):
    """Tell whether a bin, ``shift`` taken off, is at most ``most``; 0 less 1 is beyond every limit.

    Numbers of 16 bits make vectors of sixteen.
    """
    return np.uint16(np.uint16(bin) - np.uint16(shift)) <= np.uint16(most)


@kernel(noinline=True)
def find_rare_side(bins, shift, most, order, start, stop):
    """The side that hardly any of the rows at ``start`` to ``stop`` goes to, as far as some rows of the column tell.

    The rows ascend. Where they lie far apart, reading the column would take longer than asking each of them.
    """
    n = np.int64(stop) - np.int64(start)
    if n < MIN_ROWS:
        return NO_RARE_SIDE
    begin = np.uint64(order[start])
    end = np.uint64(order[stop - 1]) + ONE
    if np.int64(end - begin) > 2 * n:
        return NO_RARE_SIDE
    seen = np.int64(0)
    lefts = np.int64(0)
    while begin + SAMPLE_ROWS <= end:
        for row in range(begin, begin + SAMPLE_ROWS):
            lefts += np.int64(goes_left(bins[row], shift, most))
        seen += np.int64(SAMPLE_ROWS)
        begin += SAMPLE_STRIDE
    if lefts * RARE_DIVISOR <= seen:
        return RARE_LEFT
    return RARE_RIGHT if (seen - lefts) * RARE_DIVISOR <= seen else NO_RARE_SIDE


@kernel()
def lower_bound(order, first, stop, row):
    """The first place from ``first`` on whose row is not below ``row``; rows ascend, so it cannot be far."""
    if first >= stop or np.uint64(order[first]) >= row:
        return first
    low = first
    high = min(stop, first + (row - np.uint64(order[first])))
    while low + ONE < high:
        middle = (low + high) // np.uint64(2)
        if np.uint64(order[middle]) < row:
            low = middle
        else:
            high = middle
    return high


@kernel()
def any_left(bins, begin, shift, most):
    """Tell whether one of ``WIDTH`` rows goes left."""
    found = np.int64(0)
    for row in range(begin, begin + BLOCK_ROWS):
        found |= np.int64(goes_left(bins[row], shift, most))
    return found != 0


@kernel()
def any_right(bins, begin, shift, most):
    """Tell whether one of ``WIDTH`` rows goes right."""
    found = np.int64(0)
    for row in range(begin, begin + BLOCK_ROWS):
        found |= np.int64(1) - np.int64(goes_left(bins[row], shift, most))
    return found != 0


@kernel()
def copy_run(order, begin, end, is_left, target, at):
    """Put the rows at ``begin`` to ``end`` at ``at``: rising where they go left, else falling."""
    if is_left:
        for i in range(end - begin):
            target[at + i] = order[begin + i]
    else:
        for i in range(end - begin):
            target[at - i] = order[begin + i]


@kernel(noinline=True)
def partition_rare_side(bins, shift, most, rare, order, left_order, spare, start, stop):
    """Send the ascending rows at ``start`` to ``stop`` apart, lefts going to ``left_order``; return how many.

    Those that go right wait at the end of ``spare``, the last one first. ``rare`` is the side that few go to.
    """
    left = np.uint64(start)
    right = np.uint64(stop) - ONE
    end = np.uint64(stop)
    run = np.uint64(start)  # where those begin that have not been moved
    at = run
    row = np.uint64(order[run])
    last = np.uint64(order[end - ONE])
    while row <= last:
        is_whole = row + BLOCK_ROWS <= last + ONE
        next_row = row + BLOCK_ROWS if is_whole else last + ONE
        if is_whole and not (
            any_left(bins, row, shift, most) if rare == RARE_LEFT else any_right(bins, row, shift, most)
        ):
            row = next_row
            continue
        while row < next_row:
            if goes_left(bins[row], shift, most) == (rare == RARE_LEFT):
                at = lower_bound(order, at, end, row)
                if at < end and np.uint64(order[at]) == row:
                    if rare == RARE_LEFT:
                        copy_run(order, run, at, False, spare, right)
                        right -= at - run
                        left_order[left] = np.uint32(row)
                        left += ONE
                    else:
                        copy_run(order, run, at, True, left_order, left)
                        left += at - run
                        spare[right] = np.uint32(row)
                        right -= ONE
                    at += ONE
                    run = at
            row += ONE
    if rare == RARE_LEFT:
        copy_run(order, run, end, False, spare, right)
    else:
        copy_run(order, run, end, True, left_order, left)
        left += end - run
    return np.int64(left) - np.int64(start)
