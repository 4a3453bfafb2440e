"""Draw the rows of a tree: how much each matters, thresholds found by counting, and the rows that pass them.

Thresholds are found among integers by counting digits of 11 bits from the highest down, so that neither threads nor the
order of rows have a say; the counters of a digit fit into the nearest cache. What is drawn for a row depends on its
number in the user's table alone.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp, log
from sapwood.kernels.numeric.fixed_point import int_to_float, round_to_int
from sapwood.kernels.numeric.random import draw, stream_key
from sapwood.kernels.threads.barrier import barrier
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

DIGITS = 2048
TO_UNIT = 2.0**-53
LARGEST = 2.0**250
BLOCK = np.uint64(1024)  # rows at a time, whose numbers stay in the nearest cache


@kernel()
def weight_of(weight, i):
    """What a row weighs; all the same if there are no weights."""
    return weight[i] if weight.shape[0] > 0 else 1.0


@kernel("f32[:,:,:], f64[:], f64[:,:]")
def bound_pairs(member, members, sync, pairs, weight, out):
    """Write the largest |w g| and w h of the member's rows, infinite if one is not a number."""
    n = pairs.shape[1]
    top_g = 0.0
    top_h = 0.0
    odd = False
    for k in range(pairs.shape[0]):
        own = pairs[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            w = weight_of(weight, i)
            g = abs(np.float64(own[i, 0])) * w
            h = abs(np.float64(own[i, 1])) * w
            odd = odd or not (g <= LARGEST and h <= LARGEST)
            top_g = g if g > top_g else top_g
            top_h = h if h > top_h else top_h
    out[member, 0] = np.inf if odd else top_g
    out[member, 1] = np.inf if odd else top_h


@kernel("f32[:,:,:], f64[:], f64[:], i64[:,:]")
def sum_squares(member, members, sync, pairs, weight, scale, out):
    """Add up (w g)² and (w h)² of the member's rows in fixed point; none is beyond 2^51 steps."""
    n = pairs.shape[1]
    scale_g = scale[0]
    scale_h = scale[1]
    sum_g = np.int64(0)
    sum_h = np.int64(0)
    for k in range(pairs.shape[0]):
        own = pairs[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            w = weight_of(weight, i)
            g = np.float64(own[i, 0]) * w
            h = np.float64(own[i, 1]) * w
            sum_g += round_to_int(g * g * scale_g)
            sum_h += round_to_int(h * h * scale_h)
    out[member, 0] = sum_g
    out[member, 1] = sum_h


@kernel()
def squared(pairs, i, of_hessian):
    """g² + b·h² of a row."""
    g = np.float64(pairs[i, 0])
    h = np.float64(pairs[i, 1])
    return g * g + of_hessian * (h * h)


@kernel("f32[:,:,:], f64[:], f64, f64, u64[:]")
def round_norms(member, members, sync, pairs, weight, of_hessian, scale, out):
    """Write the root of g² + b·h², all outputs added and times the weight, for every row as an integer below 2^51."""
    n = out.shape[0]
    own = pairs[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = squared(own, i, of_hessian)
        for k in range(1, pairs.shape[0]):
            total += squared(pairs[k], i, of_hessian)
        out[i] = np.uint64(round_to_int(np.sqrt(total) * weight_of(weight, i) * scale))


@kernel("i64, i64, i64, u64[:], u64[:]")
def hash_for_round(member, members, sync, seed, purpose, round, ids, out):
    """Write the random bits of every row."""
    key = stream_key(seed, purpose, round)
    n = out.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = draw(key, ids[i] if ids.shape[0] > 0 else i)


@kernel("u64[:], u64, i64[:], i64[:,:], i64[:,:]")
def add_digits(member, members, sync, keys, prefix, place, counts, sums):
    """Count the values of a digit among the keys whose higher digits are ``prefix``, and add up these keys."""
    n = keys.shape[0]
    own = counts[member]
    total = sums[member]
    for d in range(own.shape[0]):
        own[d] = 0
        total[d] = 0
    shift = np.uint64(place[0])
    width = np.uint64(place[1])
    mask = (np.uint64(1) << width) - np.uint64(1)
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        digits = keys[i] >> shift
        if (digits >> width) == prefix:
            own[digits & mask] += 1
            total[digits & mask] += np.int64(keys[i])


@kernel("u64[:], u64, i64, i64[:], u64[:]")
def collect_digits(member, members, sync, keys, prefix, shift, begin, out):
    """Write the keys that are ``prefix`` once shifted, from begin[member] on."""
    n = keys.shape[0]
    low = np.uint64(shift)
    at = np.uint64(begin[member])
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        if (keys[i] >> low) == prefix:
            out[at] = keys[i]
            at += np.uint64(1)


@kernel()
def join_rows(member, members, sync, first, end, counts, spare, rows):
    """Bring the rows that members have written to ``spare``, each from its first row on, together in ``rows``.

    ``end`` is where the member's own end; ``counts[t]`` becomes how many member t has. Returns where the member's own
    begin in ``rows``, or −1 to stop.
    """
    counts[member] = np.int64(end - first)
    if barrier(sync, members) != 0:
        return np.int64(-1)
    at = np.uint64(0)
    for t in range(member):
        at += np.uint64(counts[t])
    for i in range(end - first):
        rows[at + i] = spare[first + i]
    return np.int64(at)


@kernel(noinline=True)
def beyond_chance(amounts, key, ids, begin, n, threshold, out):
    """Write how far a number between 0 and 1 drawn for each of n rows is above its chance, amount / threshold."""
    for j in range(n):
        i = begin + j
        bits = draw(key, ids[i] if ids.shape[0] > 0 else i)
        out[j] = int_to_float(bits >> np.uint64(11)) * TO_UNIT - int_to_float(amounts[i]) / threshold


@kernel("u64[:], i64, i64, i64, u64[:], f64, f64[:], i64[:], u32[:], u32[:], f64[:]")
def take_in_proportion(
    member, members, sync, amounts, seed, purpose, round, ids, threshold, weight, counts, spare, rows, out
):  # fmt: skip
    """Take each row with the probability min(1, amount / threshold) and divide its weight by it."""
    key = stream_key(seed, purpose, round)
    n = amounts.shape[0]
    first = slice_start(member, members, n)
    last = slice_start(member + 1, members, n)
    at = first
    for begin in range(first, last, BLOCK):
        size = min(BLOCK, last - begin)
        beyond = out[first : first + size]
        beyond_chance(amounts, key, ids, begin, size, threshold, beyond)
        for j in range(size):
            spare[at] = np.uint32(begin + j)
            at += np.uint64(beyond[j] < 0.0)
    begin = join_rows(member, members, sync, first, at, counts, spare, rows)
    if begin >= 0:
        for k in range(np.uint64(begin), np.uint64(begin) + (at - first)):
            row = np.uint64(rows[k])
            chance = np.float64(np.int64(amounts[row])) / threshold
            out[k] = weight_of(weight, row) / chance if chance < 1.0 else weight_of(weight, row)


@kernel("i64, i64, i64, u64[:], u64, i64[:], u32[:], u32[:]")
def take_below(member, members, sync, seed, purpose, round, ids, bound, counts, spare, rows):
    """List the rows whose random bits are at most the bound."""
    key = stream_key(seed, purpose, round)
    n = rows.shape[0]
    first = slice_start(member, members, n)
    at = first
    for i in range(first, slice_start(member + 1, members, n)):
        spare[at] = np.uint32(i)
        at += np.uint64(draw(key, ids[i] if ids.shape[0] > 0 else i) <= bound)
    join_rows(member, members, sync, first, at, counts, spare, rows)


@kernel()
def times_drawn(hash, bounds):
    """How many bounds are at or below a hash."""
    times = 0
    for b in range(bounds.shape[0]):
        times += 1 if hash >= bounds[b] else 0
    return times


@kernel("u64[:], u64[:], f64[:], i64[:], u32[:], u32[:], f64[:]")
def take_times(member, members, sync, hashes, bounds, weight, counts, spare, rows, out):
    """Take each row as many times as there are bounds at or below its hash, by its weight."""
    n = hashes.shape[0]
    first = slice_start(member, members, n)
    at = first
    for i in range(first, slice_start(member + 1, members, n)):
        spare[at] = np.uint32(i)
        at += np.uint64(times_drawn(hashes[i], bounds) > 0)
    begin = join_rows(member, members, sync, first, at, counts, spare, rows)
    if begin >= 0:
        for k in range(np.uint64(begin), np.uint64(begin) + (at - first)):
            row = np.uint64(rows[k])
            out[k] = weight_of(weight, row) * np.float64(times_drawn(hashes[row], bounds))


@kernel("u64[:], f64, f64[:], f64[:]")
def weigh_exponentially(member, members, sync, hashes, temperature, weight, out):
    """Multiply the weight of each row by (−log u)^temperature, u uniform between 0 and 1."""
    n = hashes.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        u = (np.float64(np.int64(hashes[i] >> np.uint64(11))) + 0.5) * TO_UNIT
        drawn = -log(u)
        if temperature != 1.0:
            drawn = exp(temperature * log(drawn))
        out[i] = drawn * weight_of(weight, i)
