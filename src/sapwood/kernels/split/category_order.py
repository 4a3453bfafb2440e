"""Sort the categories of a feature by gradient statistics, for splits of categories into two sets.

The best of all splits into two sets is among those that cut this order in two (Fisher, 1958; Breiman et al., 1984).
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import MAX_CATEGORY_BINS
from sapwood.kernels.numeric.fixed_point import LOW_HALF
from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
BUCKETS = 128
FULL_BUCKET = 12  # categories in a bucket beyond which an insertion sort would be slow
FIRST_GAP = 103  # of Shell's sort; then 45, 20, 8, 3, 1
MIN_SPAN, MAX_SPAN = 1e-290, 1e290  # ranges of keys that can be scaled to buckets
HIGH_SHIFT = np.int64(32)  # of the gradient in a packed cell
BIN_BITS = np.int64(8)
CATEGORY_SCRATCH = 4 * (MAX_CATEGORY_BINS + 1) + BUCKETS + 1  # integers of the buffer of ``order_categories``


@kernel()
def sort_key(x):
    """Return the bits of a float as an integer that sorts in the same order."""
    bits = float_bits(x)
    return bits if bits >= 0 else bits ^ MAGNITUDE


@kernel(noinline=True)
def shell_sort(keys, order, first, last, gap):
    """Sort keys with their bins from ``first`` to ``last`` by Shell's sort, equal keys by bin."""
    while gap > 0:
        for i in range(first + gap, last):
            key = keys[i]
            b = order[i]
            position = i
            while position >= first + gap and (
                keys[position - gap] > key or (keys[position - gap] == key and order[position - gap] > b)
            ):
                keys[position] = keys[position - gap]
                order[position] = order[position - gap]
                position -= gap
            keys[position] = key
            order[position] = b
        gap = gap * 4 // 9


@kernel(noinline=True)
def sort_ends(keys, bins, starts, sorted_keys, order, min_key, max_key):
    """Sort bins by their keys, equal keys by bin, into ``order``: at least the first and last ``starts[0]`` of them.

    Keys are the bits of floats between ``min_key`` and ``max_key``. They go into buckets of equal width first, whose
    ends are then sorted.
    """
    n = keys.shape[0]
    n_ends = starts[0]
    span = max_key - min_key
    is_spread = MIN_SPAN < span < MAX_SPAN
    scale = (BUCKETS - 0.5) / span if is_spread else 0.0
    for c in range(BUCKETS + 1):
        starts[c] = 0
    for i in range(n):
        bucket = np.int64((bits_float(keys[i]) - min_key) * scale) if is_spread else np.int64(0)
        starts[bucket + 1] += 1
        bins[i] |= bucket << BIN_BITS
    fullest = np.int64(0)
    for c in range(BUCKETS):
        fullest = max(fullest, starts[c + 1])
        starts[c + 1] += starts[c]
    for i in range(n):
        bucket = bins[i] >> BIN_BITS
        position = starts[bucket]
        starts[bucket] = position + 1
        sorted_keys[position] = sort_key(bits_float(keys[i]))
        order[position] = bins[i] & np.int64(MAX_CATEGORY_BINS)
    # ``starts`` are now the ends of buckets; whole buckets are sorted.
    gap = np.int64(1) if fullest <= FULL_BUCKET else np.int64(FIRST_GAP)
    low_end = n
    high_start = n
    if n > 2 * n_ends:
        high_start = 0
        for c in range(BUCKETS):
            if starts[c] >= n_ends:
                low_end = min(low_end, starts[c])
            if starts[c] <= n - n_ends:
                high_start = max(high_start, starts[c])
    if low_end > high_start:
        shell_sort(sorted_keys, order, 0, n, gap)
    else:
        shell_sort(sorted_keys, order, 0, low_end, gap)
        shell_sort(sorted_keys, order, high_start, n, gap)


@kernel()
def cell_sums(cells, n_cells, b, wide):
    """Return the quantised G and H of a bin."""
    if wide != 0:
        return cells[b], cells[n_cells + b]
    return cells[b] >> HIGH_SHIFT, cells[b] & LOW_HALF


@kernel()
def order_categories(cells, n_cells, n_bins, counts, n_rows, params, scales, min_h, total, buffer):
    """Sort the nonempty bins by G/(H + ``category_smoothing``) into ``buffer[3 * size : 4 * size]``; return how many.

    With ``n_rows`` above 0, only bins of ``min_category_rows`` rows take part. None do if the heaviest bin leaves the
    others too little hessian.
    """
    size = n_bins + 1
    keys = buffer[:size]
    bins = buffer[size : 2 * size]
    n = 0
    min_key = np.inf
    max_key = -np.inf
    heaviest = np.int64(0)
    for b in range(size):
        if cells[b] == 0 and (params.wide == 0 or cells[n_cells + b] == 0):
            continue
        g, h = cell_sums(cells, n_cells, b, params.wide)
        heaviest = max(heaviest, h)
        if n_rows > 0 and counts[b] < params.min_category_rows:
            continue
        key = (
            np.float64(g)
            / scales.histogram[0, 0]
            / (np.float64(h) / scales.histogram[0, 1] + params.category_smoothing)
        )
        keys[n] = float_bits(key)
        bins[n] = b
        min_key = min(min_key, key)
        max_key = max(max_key, key)
        n += 1
    if np.float64(total - heaviest) / scales.histogram[0, 1] < min_h:
        return 0
    starts = buffer[4 * size : 4 * size + BUCKETS + 1]
    starts[0] = min(params.max_categories, (n + 1) // 2)
    sort_ends(keys[:n], bins[:n], starts, buffer[2 * size : 3 * size], buffer[3 * size : 4 * size], min_key, max_key)
    return n
