"""Find where the values of a column are cut into bins, and put values into them.

Cuts are found on *keys*: the bits of a float turned into an unsigned integer of the same order, so that one radix sort
serves both float types and no comparison of floats decides anything. Bin 0 is missing; a value is in bin
1 + (number of edges below it).
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import draw, stream_key
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

DIGIT_BITS = 11
DIGITS = 2048  # values of one digit
MAX_DIGITS = 6  # digits of a 64-bit key
ROWS_PER_BLOCK = 256  # rows of 28 features of float32 stay in the L1 cache


@kernel("i64, i64, u64[:], u64[:]")
def hash_rows(member, members, sync, seed, purpose, row_ids, out):
    """Write 64 random bits for every row number; different numbers never draw the same."""
    key = stream_key(seed, purpose, 0)
    for i in range(slice_start(member, members, out.shape[0]), slice_start(member + 1, members, out.shape[0])):
        out[i] = draw(key, row_ids[i])


@kernel(
    "f32[:], i64, i64, i64[:], i64, f32[:,:]",
    "f64[:], i64, i64, i64[:], i64, f64[:,:]",
)
def gather_rows(member, members, sync, values, row_stride, column_stride, rows, first, out):
    """Copy ``rows`` of a strided matrix into ``out[:, first:]``, one line of ``out`` per column."""
    low = slice_start(member, members, rows.shape[0])
    end = slice_start(member + 1, members, rows.shape[0])
    while low < end:
        high = min(low + np.uint64(ROWS_PER_BLOCK), end)
        for f in range(out.shape[0]):
            for k in range(low, high):
                out[f, np.uint64(first) + k] = values[np.uint64(rows[k] * row_stride + f * column_stride)]
        low = high


@kernel()
def collect_keys(bits, sign, infinity, weight, keys, amounts):
    """Write the key of every value that is not NaN, and its weight if there are weights; return how many there are."""
    mask = (sign - np.uint64(1)) + sign  # all bits of a key
    magnitude = sign - np.uint64(1)
    weighted = weight.shape[0] > 0
    m = 0
    for i in range(bits.shape[0]):
        b = np.uint64(bits[i])
        if b == sign:
            b = np.uint64(0)  # -0.0 is 0.0
        keys[np.uint64(m)] = (b ^ mask) if (b & sign) != np.uint64(0) else (b | sign)
        if weighted:
            amounts[np.uint64(m)] = weight[i]
        m += np.int64((b & magnitude) <= infinity)
    return m


@kernel()
def sort_keys(keys, amounts, m, weighted, counts):
    """Sort ``keys[0, :m]`` and its amounts by least significant digits first; return the line that holds the result."""
    n_digits = (8 * keys.itemsize + DIGIT_BITS - 1) // DIGIT_BITS
    for d in range(n_digits):
        for b in range(DIGITS):
            counts[d, b] = 0
    for i in range(m):
        key = np.uint64(keys[0, i])
        for d in range(n_digits):
            counts[d, (key >> np.uint64(DIGIT_BITS * d)) & np.uint64(DIGITS - 1)] += 1
    side = 0
    for d in range(n_digits):
        shift = np.uint64(DIGIT_BITS * d)
        if m == 0 or counts[d, (np.uint64(keys[0, 0]) >> shift) & np.uint64(DIGITS - 1)] == m:
            continue  # all keys agree in this digit
        total = np.int64(0)
        for b in range(DIGITS):
            count = counts[d, b]
            counts[d, b] = total
            total += count
        source = keys[side]
        target = keys[1 - side]
        place_of = counts[d]
        for i in range(m):
            key = source[i]
            digit = (np.uint64(key) >> shift) & np.uint64(DIGITS - 1)
            place = np.uint64(place_of[digit])
            place_of[digit] += 1
            target[place] = key
            if weighted:
                amounts[1 - side, place] = amounts[side, i]
        side = 1 - side
    return side


@kernel()
def merge_equal(keys, amounts, m, weighted):
    """Keep each distinct key of a sorted line once, with the sum of its amounts (its count, without weights)."""
    last = -1
    for i in range(m):
        amount = amounts[i] if weighted else np.int64(1)
        if last >= 0 and keys[i] == keys[last]:
            amounts[last] += amount
        else:
            last += 1
            keys[last] = keys[i]
            amounts[last] = amount
    return last + 1


@kernel()
def choose_cuts(amounts, m, max_bins, cuts):
    """Choose after which of ``m`` distinct values a bin ends; return how many such cuts there are.

    Values that weigh at least a bin's fair share have a bin of their own as far as bins suffice; the light ones between
    them share the rest about equally. All tests are products of integers, so the unit of weight does not matter.
    """
    if m <= max_bins:
        for i in range(m - 1):
            cuts[i] = i
        return max(m - 1, 0)
    total = np.int64(0)
    for i in range(m):
        total += amounts[i]
    heavy_left = 0
    light_left = np.int64(0)  # weight of light values in bins not yet closed
    runs_left = 0  # stretches of light values between heavy ones
    in_run = False
    for i in range(m):
        heavy = amounts[i] * max_bins >= total
        if heavy:
            heavy_left += 1
        else:
            light_left += amounts[i]
            runs_left += np.int64(not in_run)
        in_run = not heavy
    bins_left = max_bins  # the open bin included
    every_run_has_a_bin = bins_left - heavy_left >= runs_left
    n_cuts = 0
    current = np.int64(0)  # weight of the light values in the open bin
    for i in range(m - 1):
        heavy = amounts[i] * max_bins >= total
        next_is_heavy = amounts[i + 1] * max_bins >= total
        light_bins = bins_left - heavy_left
        if heavy:
            close = True
        else:
            current += amounts[i]
            if next_is_heavy:
                runs_left -= 1
                close = light_bins >= 1 and (every_run_has_a_bin or 2 * current * light_bins >= light_left)
            else:
                spare = light_bins - 1 >= (runs_left if every_run_has_a_bin else 0)
                close = spare and (2 * current + amounts[i + 1]) * light_bins >= 2 * light_left
        if m - 1 - i <= bins_left - 1:
            close = True  # as many values as bins are left
        if close and bins_left >= 2:
            cuts[n_cuts] = i
            n_cuts += 1
            bins_left -= 1
            light_left -= current
            current = np.int64(0)
        if heavy:
            heavy_left -= 1
    return n_cuts


@kernel(
    "u32[:,:], u64, u64, i64[:], i64, u32[:,:,:], i64[:,:,:], i64[:,:,:], u32[:,:,:], i64[:]",
    "u64[:,:], u64, u64, i64[:], i64, u64[:,:,:], i64[:,:,:], i64[:,:,:], u64[:,:,:], i64[:]",
)
def cut_columns(
    member, members, sync, bits, sign, infinity, weight, max_bins, keys, amounts, counts, neighbours, n_cuts
):
    """Cut every line of ``bits`` into bins: ``neighbours[f, :, c]`` are the bits of the values around cut c.

    ``keys``, ``amounts`` and ``counts`` are workspaces with a plane per member; members beyond them stand by.
    """
    weighted = weight.shape[0] > 0
    mask = (np.uint64(sign) - np.uint64(1)) + np.uint64(sign)
    workers = min(members, keys.shape[0])
    if member >= workers:
        return
    for turn in range((bits.shape[0] - member + workers - 1) // workers):
        f = member + turn * workers
        my_keys = keys[member]
        my_amounts = amounts[member]
        m = collect_keys(bits[f], np.uint64(sign), np.uint64(infinity), weight, my_keys[0], my_amounts[0])
        side = sort_keys(my_keys, my_amounts, m, weighted, counts[member])
        line = my_keys[side]
        sums = my_amounts[side]
        m = merge_equal(line, sums, m, weighted)
        cuts = my_amounts[1 - side]
        n = choose_cuts(sums, m, max_bins, cuts)
        n_cuts[f] = n
        for c in range(n):
            for s in range(2):
                key = np.uint64(line[cuts[c] + s])
                neighbours[f, s, c] = (key ^ np.uint64(sign)) if (key & np.uint64(sign)) != np.uint64(0) else key ^ mask


@kernel()
def step_up(edges, at, below, shift, x):
    """Half of what is left to search: if its middle edge is below x, so are 2**shift edges more."""
    # The bit of the comparison is shifted, not chosen by: a choice that waits for memory is compiled to a branch.
    return below + (np.uint64(edges[at + below] < x) << shift)


@kernel()
def put_bin(below, x, tiles, columns, tile, lane, f, row):
    """Write the bin of a value with so many edges below it."""
    b = (below + np.uint64(1)) * np.uint64(x == x)
    tiles[tile, row, lane] = b
    if columns.shape[0] > 0:
        columns[f, row] = b


@kernel(
    "f32[:], i64, i64, i64, i64, i64, i64, f32[:], i64[:], u8[:,:,:], u8[:,:]",
    "f32[:], i64, i64, i64, i64, i64, i64, f32[:], i64[:], u16[:,:,:], u16[:,:]",
    "f64[:], i64, i64, i64, i64, i64, i64, f64[:], i64[:], u8[:,:,:], u8[:,:]",
    "f64[:], i64, i64, i64, i64, i64, i64, f64[:], i64[:], u16[:,:,:], u16[:,:]",
)
def encode(
    member, members, sync,
    values, row_stride, column_stride, first_row, n_rows, first_feature, n_features,
    edges, edge_start, tiles, columns,
):  # fmt: skip
    """Write the bins of a strided block of values into ``tiles`` and, if it has any lines, ``columns``.

    The edges of feature f stand at ``edges[edge_start[f] : edge_start[f + 1]]``, padded with infinity to a power of two
    larger than their number; for f32 they are rounded down, which leaves every comparison as it was.
    """
    begin = slice_start(member, members, n_rows)
    end = slice_start(member + 1, members, n_rows)
    low = begin
    while low < end:
        high = min(low + np.uint64(ROWS_PER_BLOCK), end)
        for j in range(n_features):
            encode_rows(
                values, np.uint64(row_stride), np.uint64(j * column_stride), low, high,
                edges, edge_start, first_feature + j, tiles, columns, np.uint64(first_row),
            )  # fmt: skip
        low = high


@kernel()
def encode_rows(values, stride, offset, low, high, edges, edge_start, f, tiles, columns, first_row):
    """Write the bins of feature f for the values ``offset + stride * row``, rows ``low`` to ``high``."""
    one = np.uint64(1)
    start = np.uint64(edge_start[f])
    size = np.uint64(edge_start[f + 1]) - start
    tile = np.uint64(f // tiles.shape[2])
    lane = np.uint64(f % tiles.shape[2])
    g = np.uint64(f)
    depth = np.uint64(0)
    while (one << depth) < size:
        depth += one
    twice = stride + stride
    thrice = twice + stride
    i = low
    # Eight searches at a time: each waits for its own edge, and they wait together.
    while i + np.uint64(8) <= high:
        p = offset + stride * i
        x0, x1, x2, x3 = values[p], values[p + stride], values[p + twice], values[p + thrice]
        p += twice + twice
        x4, x5, x6, x7 = values[p], values[p + stride], values[p + twice], values[p + thrice]
        b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = np.uint64(0)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            at = start + (one << shift) - one
            b0, b1 = step_up(edges, at, b0, shift, x0), step_up(edges, at, b1, shift, x1)
            b2, b3 = step_up(edges, at, b2, shift, x2), step_up(edges, at, b3, shift, x3)
            b4, b5 = step_up(edges, at, b4, shift, x4), step_up(edges, at, b5, shift, x5)
            b6, b7 = step_up(edges, at, b6, shift, x6), step_up(edges, at, b7, shift, x7)
        row = first_row + i
        put_bin(b0, x0, tiles, columns, tile, lane, g, row)
        put_bin(b1, x1, tiles, columns, tile, lane, g, row + one)
        put_bin(b2, x2, tiles, columns, tile, lane, g, row + np.uint64(2))
        put_bin(b3, x3, tiles, columns, tile, lane, g, row + np.uint64(3))
        put_bin(b4, x4, tiles, columns, tile, lane, g, row + np.uint64(4))
        put_bin(b5, x5, tiles, columns, tile, lane, g, row + np.uint64(5))
        put_bin(b6, x6, tiles, columns, tile, lane, g, row + np.uint64(6))
        put_bin(b7, x7, tiles, columns, tile, lane, g, row + np.uint64(7))
        i += np.uint64(8)
    while i < high:
        x = values[offset + stride * i]
        below = np.uint64(0)
        shift = depth
        while shift > np.uint64(0):
            shift -= one
            below = step_up(edges, start + (one << shift) - one, below, shift, x)
        put_bin(below, x, tiles, columns, tile, lane, g, first_row + i)
        i += one


@kernel(
    "f32[:], i64[:], f64[:], i64[:], u32[:]",
    "f64[:], i64[:], f64[:], i64[:], u32[:]",
)
def encode_entries(member, members, sync, values, start, edges, edge_start, out):
    """Write the bin of every entry; those of column f lie from start[f] on, its edges from edge_start[f] on."""
    n = start.shape[0] - 1
    for f in range(member * n // members, (member + 1) * n // members):
        for e in range(np.uint64(start[f]), np.uint64(start[f + 1])):
            value = np.float64(values[e])
            low = np.uint64(edge_start[f])
            high = np.uint64(edge_start[f + 1])
            while low < high:
                middle = (low + high) >> np.uint64(1)
                if edges[middle] < value:
                    low = middle + np.uint64(1)
                else:
                    high = middle
            out[e] = np.uint32(np.int64(low) - edge_start[f] + 1) if value == value else np.uint32(0)
