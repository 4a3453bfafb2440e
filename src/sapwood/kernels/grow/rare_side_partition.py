"""Partition the rows of a large leaf when very few of them go to one side.

The rows of the rare side are found by reading the feature's column in order, without looking at the rows of the leaf;
each is then looked up among these, and the runs of rows in between are copied.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel

MIN_ROWS = 4096  # of a leaf for which the rare side is estimated
SAMPLE_ROWS = np.uint64(64)  # consecutive rows of a sample of the column
SAMPLE_STRIDE = np.uint64(1024)  # rows from the start of one sample to that of the next
RARE_DIVISOR = 32  # a side is rare if at most one row in so many goes to it
BLOCK_ROWS = np.uint64(32)  # rows of the column that are tested together
NO_RARE_SIDE, RARE_LEFT, RARE_RIGHT = range(3)
ONE = np.uint64(1)


@kernel()
def goes_left(bin, shift, max_bin):
    """Return whether a bin minus ``shift`` is at most ``max_bin``; 0 minus 1 wraps around to above any ``max_bin``.

    16-bit numbers make vectors of sixteen.
    """
    return np.uint16(np.uint16(bin) - np.uint16(shift)) <= np.uint16(max_bin)


@kernel(noinline=True)
def find_rare_side(bins, shift, max_bin, rows, start, stop):
    """Return the side that very few of the rows at ``start`` to ``stop`` go to, estimated from samples of the column.

    The rows ascend. If they lie far apart, reading the column would take longer than looking up each row.
    """
    n = np.int64(stop) - np.int64(start)
    if n < MIN_ROWS:
        return NO_RARE_SIDE
    row_begin = np.uint64(rows[start])
    row_end = np.uint64(rows[stop - 1]) + ONE
    if np.int64(row_end - row_begin) > 2 * n:
        return NO_RARE_SIDE
    n_seen = np.int64(0)
    n_left = np.int64(0)
    while row_begin + SAMPLE_ROWS <= row_end:
        for row in range(row_begin, row_begin + SAMPLE_ROWS):
            n_left += np.int64(goes_left(bins[row], shift, max_bin))
        n_seen += np.int64(SAMPLE_ROWS)
        row_begin += SAMPLE_STRIDE
    if n_left * RARE_DIVISOR <= n_seen:
        return RARE_LEFT
    return RARE_RIGHT if (n_seen - n_left) * RARE_DIVISOR <= n_seen else NO_RARE_SIDE


@kernel()
def lower_bound(rows, first, stop, row):
    """Return the first position from ``first`` on whose row is at least ``row``; rows ascend, so that it is near."""
    if first >= stop or np.uint64(rows[first]) >= row:
        return first
    low = first
    high = min(stop, first + (row - np.uint64(rows[first])))
    while low + ONE < high:
        middle = (low + high) // np.uint64(2)
        if np.uint64(rows[middle]) < row:
            low = middle
        else:
            high = middle
    return high


@kernel()
def any_left(bins, begin, shift, max_bin):
    """Return whether any of ``BLOCK_ROWS`` rows goes left."""
    found = np.int64(0)
    for row in range(begin, begin + BLOCK_ROWS):
        found |= np.int64(goes_left(bins[row], shift, max_bin))
    return found != 0


@kernel()
def any_right(bins, begin, shift, max_bin):
    """Return whether any of ``BLOCK_ROWS`` rows goes right."""
    found = np.int64(0)
    for row in range(begin, begin + BLOCK_ROWS):
        found |= np.int64(1) - np.int64(goes_left(bins[row], shift, max_bin))
    return found != 0


@kernel()
def copy_run(rows, begin, end, is_left, target, to):
    """Copy the rows at ``begin`` to ``end`` to ``to``: forwards if they go left, else backwards."""
    if is_left:
        for i in range(end - begin):
            target[to + i] = rows[begin + i]
    else:
        for i in range(end - begin):
            target[to - i] = rows[begin + i]


@kernel(noinline=True)
def partition_rare_side(bins, shift, max_bin, rare, rows, left_rows, scratch, start, stop):
    """Partition the ascending rows at ``start`` to ``stop``, left ones into ``left_rows``; return how many.

    Right rows go to the end of ``scratch``, the last one first. ``rare`` is the side that few go to.
    """
    left = np.uint64(start)
    right = np.uint64(stop) - ONE
    end = np.uint64(stop)
    run_start = np.uint64(start)  # first position that has not been copied
    position = run_start
    row = np.uint64(rows[run_start])
    last = np.uint64(rows[end - ONE])
    while row <= last:
        is_whole = row + BLOCK_ROWS <= last + ONE
        next_row = row + BLOCK_ROWS if is_whole else last + ONE
        if is_whole and not (
            any_left(bins, row, shift, max_bin) if rare == RARE_LEFT else any_right(bins, row, shift, max_bin)
        ):
            row = next_row
            continue
        while row < next_row:
            if goes_left(bins[row], shift, max_bin) == (rare == RARE_LEFT):
                position = lower_bound(rows, position, end, row)
                if position < end and np.uint64(rows[position]) == row:
                    if rare == RARE_LEFT:
                        copy_run(rows, run_start, position, False, scratch, right)
                        right -= position - run_start
                        left_rows[left] = np.uint32(row)
                        left += ONE
                    else:
                        copy_run(rows, run_start, position, True, left_rows, left)
                        left += position - run_start
                        scratch[right] = np.uint32(row)
                        right -= ONE
                    position += ONE
                    run_start = position
            row += ONE
    if rare == RARE_LEFT:
        copy_run(rows, run_start, end, False, scratch, right)
    else:
        copy_run(rows, run_start, end, True, left_rows, left)
        left += end - run_start
    return np.int64(left) - np.int64(start)
