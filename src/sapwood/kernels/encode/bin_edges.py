"""Find the edges between the bins of columns: weighted quantiles of sampled rows.

Edges are found on *keys*: the bits of a float turned into an unsigned integer of the same order, so that one radix sort
serves both float types and no comparison of floats decides anything.
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
    """Write 64 random bits for every row number; different numbers never have the same bits."""
    key = stream_key(seed, purpose, 0)
    for i in range(slice_start(member, members, out.shape[0]), slice_start(member + 1, members, out.shape[0])):
        out[i] = draw(key, row_ids[i])


@kernel(
    "f32[:], i64, i64, i64[:], i64, f32[:,:]",
    "f64[:], i64, i64, i64[:], i64, f64[:,:]",
)
def gather_rows(member, members, sync, values, row_stride, column_stride, rows, first, out):
    """Copy ``rows`` of a strided matrix into ``out[:, first:]``, one row of ``out`` per column."""
    begin = slice_start(member, members, rows.shape[0])
    end = slice_start(member + 1, members, rows.shape[0])
    while begin < end:
        block_end = min(begin + np.uint64(ROWS_PER_BLOCK), end)
        for f in range(out.shape[0]):
            for k in range(begin, block_end):
                out[f, np.uint64(first) + k] = values[np.uint64(rows[k] * row_stride + f * column_stride)]
        begin = block_end


@kernel()
def collect_keys(bits, sign, infinity, weights, keys, key_weights):
    """Write the key of every value that is not NaN, and its weight if there are weights; return how many there are."""
    mask = (sign - np.uint64(1)) + sign  # all bits of a key
    magnitude = sign - np.uint64(1)
    weighted = weights.shape[0] > 0
    n = 0
    for i in range(bits.shape[0]):
        b = np.uint64(bits[i])
        if b == sign:
            b = np.uint64(0)  # -0.0 is 0.0
        keys[np.uint64(n)] = (b ^ mask) if (b & sign) != np.uint64(0) else (b | sign)
        if weighted:
            key_weights[np.uint64(n)] = weights[i]
        n += np.int64((b & magnitude) <= infinity)
    return n


@kernel()
def sort_keys(keys, weights, n, weighted, counts):
    """Radix-sort ``keys[0, :n]`` and their weights, lowest digit first; return the row that holds the result."""
    n_digits = (8 * keys.itemsize + DIGIT_BITS - 1) // DIGIT_BITS
    for d in range(n_digits):
        for b in range(DIGITS):
            counts[d, b] = 0
    for i in range(n):
        key = np.uint64(keys[0, i])
        for d in range(n_digits):
            counts[d, (key >> np.uint64(DIGIT_BITS * d)) & np.uint64(DIGITS - 1)] += 1
    side = 0
    for d in range(n_digits):
        shift = np.uint64(DIGIT_BITS * d)
        if n == 0 or counts[d, (np.uint64(keys[0, 0]) >> shift) & np.uint64(DIGITS - 1)] == n:
            continue  # all keys agree in this digit
        total = np.int64(0)
        for b in range(DIGITS):
            count = counts[d, b]
            counts[d, b] = total
            total += count
        source = keys[side]
        target = keys[1 - side]
        position_of = counts[d]
        for i in range(n):
            key = source[i]
            digit = (np.uint64(key) >> shift) & np.uint64(DIGITS - 1)
            position = np.uint64(position_of[digit])
            position_of[digit] += 1
            target[position] = key
            if weighted:
                weights[1 - side, position] = weights[side, i]
        side = 1 - side
    return side


@kernel()
def merge_equal(keys, weights, n, weighted):
    """Keep each distinct one of n sorted keys once, with the sum of its weights (its count without weights)."""
    last = -1
    for i in range(n):
        weight = weights[i] if weighted else np.int64(1)
        if last >= 0 and keys[i] == keys[last]:
            weights[last] += weight
        else:
            last += 1
            keys[last] = keys[i]
            weights[last] = weight
    return last + 1


@kernel()
def choose_edges(weights, n, max_bins, edges):
    """Choose the positions among ``n`` distinct values after which a bin ends; return how many there are.

    Values that weigh at least the mean weight of a bin are heavy and have a bin of their own as far as bins suffice;
    the light ones between them divide the rest about equally. All tests are products of integers, so the unit of weight
    does not matter.
    """
    if n <= max_bins:
        for i in range(n - 1):
            edges[i] = i
        return max(n - 1, 0)
    total = np.int64(0)
    for i in range(n):
        total += weights[i]
    heavy_left = 0
    light_left = np.int64(0)  # weight of light values in bins not yet closed
    runs_left = 0  # stretches of light values between heavy ones
    in_run = False
    for i in range(n):
        heavy = weights[i] * max_bins >= total
        if heavy:
            heavy_left += 1
        else:
            light_left += weights[i]
            runs_left += np.int64(not in_run)
        in_run = not heavy
    bins_left = max_bins  # the open bin included
    each_run_has_bin = bins_left - heavy_left >= runs_left
    n_edges = 0
    open_weight = np.int64(0)  # of the light values in the open bin
    for i in range(n - 1):
        heavy = weights[i] * max_bins >= total
        next_is_heavy = weights[i + 1] * max_bins >= total
        light_bins = bins_left - heavy_left
        if heavy:
            close = True
        else:
            open_weight += weights[i]
            if next_is_heavy:
                runs_left -= 1
                close = light_bins >= 1 and (each_run_has_bin or 2 * open_weight * light_bins >= light_left)
            else:
                can_close = light_bins - 1 >= (runs_left if each_run_has_bin else 0)
                close = can_close and (2 * open_weight + weights[i + 1]) * light_bins >= 2 * light_left
        if n - 1 - i <= bins_left - 1:
            close = True  # as many values as bins are left
        if close and bins_left >= 2:
            edges[n_edges] = i
            n_edges += 1
            bins_left -= 1
            light_left -= open_weight
            open_weight = np.int64(0)
        if heavy:
            heavy_left -= 1
    return n_edges


@kernel(
    "u32[:,:], u64, u64, i64[:], i64, u32[:,:,:], i64[:,:,:], i64[:,:,:], u32[:,:,:], i64[:]",
    "u64[:,:], u64, u64, i64[:], i64, u64[:,:,:], i64[:,:,:], i64[:,:,:], u64[:,:,:], i64[:]",
)
def find_bin_edges(
    member, members, sync, bits, sign, infinity, weights, max_bins, keys, key_weights, counts, neighbours, n_edges
):
    """Find the edges of every row of ``bits``: ``neighbours[f, :, e]`` are the bits of the values around edge e.

    ``keys``, ``key_weights`` and ``counts`` are workspaces, one entry per member; members without one do nothing.
    """
    weighted = weights.shape[0] > 0
    mask = (np.uint64(sign) - np.uint64(1)) + np.uint64(sign)
    n_active = min(members, keys.shape[0])
    if member >= n_active:
        return
    for k in range((bits.shape[0] - member + n_active - 1) // n_active):
        f = member + k * n_active
        my_keys = keys[member]
        my_weights = key_weights[member]
        n = collect_keys(bits[f], np.uint64(sign), np.uint64(infinity), weights, my_keys[0], my_weights[0])
        side = sort_keys(my_keys, my_weights, n, weighted, counts[member])
        values = my_keys[side]
        sums = my_weights[side]
        n = merge_equal(values, sums, n, weighted)
        edges = my_weights[1 - side]
        n_found = choose_edges(sums, n, max_bins, edges)
        n_edges[f] = n_found
        for e in range(n_found):
            for s in range(2):
                key = np.uint64(values[edges[e] + s])
                neighbours[f, s, e] = (key ^ np.uint64(sign)) if (key & np.uint64(sign)) != np.uint64(0) else key ^ mask
