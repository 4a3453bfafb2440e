"""Sample the rows of a tree: norms of gradients, thresholds found by radix counting, and the rows that pass them.

Thresholds are found among integers by counting digits of 11 bits from the highest down, so that they depend neither on
threads nor on the order of rows; the counters of a digit fit into the L1 cache. What is drawn for a row depends only on
its number in the user's table.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp, log
from sapwood.kernels.numeric.fixed_point import int_to_float, round_to_int
from sapwood.kernels.numeric.random import draw, stream_key
from sapwood.kernels.threads.barrier import barrier
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

DIGITS = 2048  # values of one digit
TO_UNIT = 2.0**-53
MAX_VALUE = 2.0**250  # of a weighted gradient or hessian; a larger one counts as infinite
ROW_BITS = np.uint64(20)  # a row is 2^20 units, in which the wanted number of rows is rounded
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
BLOCK = np.uint64(1024)  # rows at a time, whose probabilities stay in the L1 cache


@kernel()
def row_weight(weight, i):
    """Return the weight of a row, 1 if there are no weights."""
    return weight[i] if weight.shape[0] > 0 else 1.0


@kernel("f32[:,:,:], f64[:], f64[:,:]")
def max_weighted_pairs(member, members, sync, pairs, weight, out):
    """Write the maxima of |w g| and |w h| over the member's rows, infinite if one is not finite."""
    n = pairs.shape[1]
    max_g = 0.0
    max_h = 0.0
    is_infinite = False
    for k in range(pairs.shape[0]):
        output_pairs = pairs[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            w = row_weight(weight, i)
            g = abs(np.float64(output_pairs[i, 0])) * w
            h = abs(np.float64(output_pairs[i, 1])) * w
            is_infinite = is_infinite or not (g <= MAX_VALUE and h <= MAX_VALUE)
            max_g = g if g > max_g else max_g
            max_h = h if h > max_h else max_h
    out[member, 0] = np.inf if is_infinite else max_g
    out[member, 1] = np.inf if is_infinite else max_h


@kernel("f32[:,:,:], f64[:], f64[:], i64[:,:]")
def sum_squares(member, members, sync, pairs, weight, scale, out):
    """Sum (w g)² and (w h)² of the member's rows in fixed point; no term exceeds 2^51."""
    n = pairs.shape[1]
    scale_g = scale[0]
    scale_h = scale[1]
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    for k in range(pairs.shape[0]):
        output_pairs = pairs[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            w = row_weight(weight, i)
            g = np.float64(output_pairs[i, 0]) * w
            h = np.float64(output_pairs[i, 1]) * w
            sum_g += round_to_int(g * g * scale_g)
            sum_h += round_to_int(h * h * scale_h)
    out[member, 0] = sum_g
    out[member, 1] = sum_h


@kernel()
def regularised_square(pairs, i, hessian_factor):
    """Return g² + λ h² of a row; λ is ``hessian_factor``."""
    g = np.float64(pairs[i, 0])
    h = np.float64(pairs[i, 1])
    return g * g + hessian_factor * (h * h)


@kernel("f32[:,:,:], f64[:], f64, f64, u64[:]")
def regularised_norms(member, members, sync, pairs, weight, hessian_factor, scale, out):
    """Write w √(Σ g² + λ h²) over the outputs of each row in fixed point, below 2^51."""
    n = out.shape[0]
    first_pairs = pairs[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = regularised_square(first_pairs, i, hessian_factor)
        for k in range(1, pairs.shape[0]):
            total += regularised_square(pairs[k], i, hessian_factor)
        out[i] = np.uint64(round_to_int(np.sqrt(total) * row_weight(weight, i) * scale))


@kernel("i64, i64, i64, u64[:], u64[:]")
def draw_hashes(member, members, sync, seed, purpose, round, ids, out):
    """Write 64 random bits for every row; without ``ids`` rows are numbered 0, 1, 2 ..."""
    key = stream_key(seed, purpose, round)
    n = out.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = draw(key, ids[i] if ids.shape[0] > 0 else i)


@kernel("u64[:], u64, i64, i64, i64[:,:,:]")
def count_digits(member, members, sync, keys, prefix, shift, width, counters):
    """Count and sum the keys by the value of a digit, among the keys whose higher digits are ``prefix``.

    ``shift`` is the lowest bit of the digit, ``width`` its number of bits.
    """
    n = keys.shape[0]
    counts = counters[member, 0]
    sums = counters[member, 1]
    for d in range(counts.shape[0]):
        counts[d] = 0
        sums[d] = 0
    low = np.uint64(shift)
    bits = np.uint64(width)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        digits = keys[i] >> low
        if (digits >> bits) == prefix:
            counts[digits & mask] += 1
            sums[digits & mask] += np.int64(keys[i])


@kernel()
def is_below_wanted(n_from, sum_below, start, wanted):
    """Return whether (n_from · start + sum_below) · ``ROW_UNITS`` < wanted · start, in exact arithmetic.

    ``n_from`` amounts are at least ``start`` and the others add up to ``sum_below``, all of them to less than 2^63.
    """
    left = np.uint64(n_from) * start + np.uint64(sum_below)
    low = np.uint64(wanted) & LOW_HALF
    high = np.uint64(wanted) >> HALF
    product_of_lows = low * (start & LOW_HALF)
    middle = high * (start & LOW_HALF) + (product_of_lows >> HALF)
    other_middle = low * (start >> HALF) + (middle & LOW_HALF)
    right_high = high * (start >> HALF) + (middle >> HALF) + (other_middle >> HALF)
    right_low = (other_middle << HALF) | (product_of_lows & LOW_HALF)
    left_high = left >> (np.uint64(64) - ROW_BITS)
    left_low = left << ROW_BITS
    return left_high < right_high or (left_high == right_high and left_low < right_low)


@kernel("i64[:,:], u64, i64, i64[:]")
def narrow_to_digit(counters, prefix, shift, search):
    """Find the digit of the threshold of a proportion, given how many keys have each digit and their sums.

    ``search`` holds the wanted number of rows in units, the number of keys above all digits, the sum of those below,
    and the digit found, −1 if the threshold is below all of them. The keys of all other digits are added to those above
    or below; without further digits those of the threshold's own are added to those below.
    """
    counts = counters[0]
    sums = counters[1]
    n_from = search[1]
    below = search[2]
    for d in range(counts.shape[0]):
        below += sums[d]
    search[3] = -1
    for k in range(counts.shape[0]):
        d = counts.shape[0] - 1 - k
        n_from += counts[d]
        below -= sums[d]
        if not is_below_wanted(n_from, below, (prefix + np.uint64(d)) << np.uint64(shift), search[0]):
            search[3] = d
            n_from -= counts[d]
            below += sums[d] if shift == 0 else 0
            break
    search[1] = n_from
    search[2] = below


@kernel("u64[:], i64[:]")
def narrow_to_key(keys, search):
    """Add each of the remaining keys, which ascend, to those above or below the threshold (``narrow_to_digit``)."""
    n_from = search[1]
    below = search[2]
    for i in range(keys.shape[0]):
        below += np.int64(keys[i])
    for k in range(keys.shape[0]):
        key = keys[keys.shape[0] - 1 - k]
        below -= np.int64(key)
        if not is_below_wanted(n_from + 1, below, key, search[0]):
            below += np.int64(key)
            break
        n_from += 1
    search[1] = n_from
    search[2] = below


@kernel("u64[:], u64, i64, i64[:], u64[:]")
def collect_prefixed_keys(member, members, sync, keys, prefix, shift, begin, out):
    """Write the keys that equal ``prefix`` when shifted right, from begin[member] on."""
    n = keys.shape[0]
    low = np.uint64(shift)
    at = np.uint64(begin[member])
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        if (keys[i] >> low) == prefix:
            out[at] = keys[i]
            at += np.uint64(1)


@kernel()
def concatenate_rows(member, members, sync, first, end, counts, scratch, rows):
    """Concatenate the rows that members have written to ``scratch[first:end]`` in ``rows``.

    ``counts[t]`` becomes the number of rows of member t. Returns where the member's begin in ``rows``, or −1 if the
    team must stop.
    """
    counts[member] = np.int64(end - first)
    if barrier(sync, members) != 0:
        return np.int64(-1)
    at = np.uint64(0)
    for t in range(member):
        at += np.uint64(counts[t])
    for i in range(end - first):
        rows[at + i] = scratch[first + i]
    return np.int64(at)


@kernel(noinline=True)
def draw_minus_probability(norms, key, ids, begin, n, threshold, out):
    """Write u − norm / threshold for n rows from ``begin`` on, u uniform between 0 and 1; if negative, draw it."""
    for j in range(n):
        i = begin + j
        bits = draw(key, ids[i] if ids.shape[0] > 0 else i)
        out[j] = int_to_float(bits >> np.uint64(11)) * TO_UNIT - int_to_float(norms[i]) / threshold


@kernel("u64[:], i64, i64, i64, u64[:], f64, f64[:], i64[:], u32[:], u32[:], f64[:]")
def sample_in_proportion(
    member, members, sync, norms, seed, purpose, round, ids, threshold, weight, counts, scratch, rows, out
):  # fmt: skip
    """Draw each row with the probability min(1, norm / threshold) and divide its weight by it."""
    key = stream_key(seed, purpose, round)
    n = norms.shape[0]
    first = slice_start(member, members, n)
    last = slice_start(member + 1, members, n)
    at = first
    for begin in range(first, last, BLOCK):
        size = min(BLOCK, last - begin)
        differences = out[first : first + size]
        draw_minus_probability(norms, key, ids, begin, size, threshold, differences)
        for j in range(size):
            scratch[at] = np.uint32(begin + j)
            at += np.uint64(differences[j] < 0.0)
    begin = concatenate_rows(member, members, sync, first, at, counts, scratch, rows)
    if begin >= 0:
        for k in range(np.uint64(begin), np.uint64(begin) + (at - first)):
            row = np.uint64(rows[k])
            probability = np.float64(np.int64(norms[row])) / threshold
            out[k] = row_weight(weight, row) / probability if probability < 1.0 else row_weight(weight, row)


@kernel("i64, i64, i64, u64[:], u64, i64[:], u32[:], u32[:]")
def sample_uniformly(member, members, sync, seed, purpose, round, ids, bound, counts, scratch, rows):
    """Draw the rows whose random bits are at most ``bound``."""
    key = stream_key(seed, purpose, round)
    n = rows.shape[0]
    first = slice_start(member, members, n)
    at = first
    for i in range(first, slice_start(member + 1, members, n)):
        scratch[at] = np.uint32(i)
        at += np.uint64(draw(key, ids[i] if ids.shape[0] > 0 else i) <= bound)
    concatenate_rows(member, members, sync, first, at, counts, scratch, rows)


@kernel()
def draw_count(hash, bounds):
    """Return the number of bounds at or below a hash."""
    count = 0
    for b in range(bounds.shape[0]):
        count += 1 if hash >= bounds[b] else 0
    return count


@kernel("u64[:], u64[:], f64[:], i64[:], u32[:], u32[:], f64[:]")
def sample_with_replacement(member, members, sync, hashes, bounds, weight, counts, scratch, rows, out):
    """Draw each row as many times as there are bounds at or below its hash, and multiply its weight by that."""
    n = hashes.shape[0]
    first = slice_start(member, members, n)
    at = first
    for i in range(first, slice_start(member + 1, members, n)):
        scratch[at] = np.uint32(i)
        at += np.uint64(draw_count(hashes[i], bounds) > 0)
    begin = concatenate_rows(member, members, sync, first, at, counts, scratch, rows)
    if begin >= 0:
        for k in range(np.uint64(begin), np.uint64(begin) + (at - first)):
            row = np.uint64(rows[k])
            out[k] = row_weight(weight, row) * np.float64(draw_count(hashes[row], bounds))


@kernel("u64[:], f64, f64[:], f64[:]")
def bayesian_weights(member, members, sync, hashes, temperature, weight, out):
    """Multiply the weight of each row by (−log u)^temperature, u uniform between 0 and 1."""
    n = hashes.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        u = (np.float64(np.int64(hashes[i] >> np.uint64(11))) + 0.5) * TO_UNIT
        factor = -log(u)
        if temperature != 1.0:
            factor = exp(temperature * log(factor))
        out[i] = factor * row_weight(weight, i)
