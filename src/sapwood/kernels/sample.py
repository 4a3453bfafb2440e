"""Draw the rows of a tree: how much each matters, thresholds found by counting, and the rows that pass them.

Thresholds are found among integers by counting digits of 16 bits from the highest down, so that neither threads nor the
order of rows have a say. What is drawn for a row depends on its number in the user's table alone.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.elementary import exp, log
from sapwood.kernels.meet import meet
from sapwood.kernels.random import draw, stream
from sapwood.native.kernel import kernel

DIGITS = 65_536
DIGIT_BITS = 16
DIGIT_MASK = np.uint64(0xFFFF)
TO_UNIT = 2.0**-53
# What becomes of a row.
LEFT_OUT, TAKEN, OPEN = np.uint8(0), np.uint8(1), np.uint8(2)


@kernel("f32[:,:,:], f64[:], f64, f64, f64[:]")
def measure_rows(member, members, sync, pairs, weight, of_gradient, of_hessian, out):
    """Write the root of a·g² + b·h², all outputs added and times the weight, for every row."""
    n = out.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        total = 0.0
        for k in range(pairs.shape[0]):
            g = np.float64(pairs[k, i, 0])
            h = np.float64(pairs[k, i, 1])
            total += of_gradient * (g * g) + of_hessian * (h * h)
        out[i] = np.sqrt(total) * (weight[i] if weight.shape[0] > 0 else 1.0)


@kernel("i64, i64, i64, u64[:], u64[:]")
def hash_for_round(member, members, sync, seed, purpose, round, ids, out):
    """Write the random bits of every row."""
    key = stream(seed, purpose, round)
    n = ids.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        out[i] = draw(key, ids[i])


@kernel("f64[:], f64, u64[:]")
def round_amounts(member, members, sync, values, scale, out):
    """Write values of at least 0 as integers."""
    n = out.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        out[i] = np.uint64(np.int64(np.rint(values[i] * scale)))


@kernel("u64[:], u8[:], u64, i64, i64[:,:]")
def count_digits(member, members, sync, keys, states, prefix, shift, counts):
    """Count the values of the digit at ``shift`` among the open keys whose higher digits are ``prefix``."""
    n = keys.shape[0]
    own = counts[member]
    for d in range(own.shape[0]):
        own[d] = 0
    low = np.uint64(shift)
    for i in range(member * n // members, (member + 1) * n // members):
        digits = keys[i] >> low
        if states[i] == OPEN and (digits >> np.uint64(DIGIT_BITS)) == prefix:
            own[digits & DIGIT_MASK] += 1


@kernel("u64[:], u64, i64, i64[:,:], i64[:,:]")
def add_digits(member, members, sync, keys, prefix, shift, counts, sums):
    """Count the values of the digit at ``shift`` among the keys whose higher digits are ``prefix``; add up the keys."""
    n = keys.shape[0]
    own = counts[member]
    total = sums[member]
    for d in range(own.shape[0]):
        own[d] = 0
        total[d] = 0
    low = np.uint64(shift)
    for i in range(member * n // members, (member + 1) * n // members):
        digits = keys[i] >> low
        if (digits >> np.uint64(DIGIT_BITS)) == prefix:
            own[digits & DIGIT_MASK] += 1
            total[digits & DIGIT_MASK] += np.int64(keys[i])


@kernel("u64[:], u64, u8[:]")
def take_above(member, members, sync, keys, bound, states):
    """Take the rows whose key is above the bound, leave those at it open and the others out."""
    n = keys.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        states[i] = TAKEN if keys[i] > bound else (OPEN if keys[i] == bound else LEFT_OUT)


@kernel("u64[:], u64, u8[:]")
def settle_open(member, members, sync, keys, bound, states):
    """Of the open rows take those whose key is at most the bound, and leave the others out."""
    n = keys.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        if states[i] == OPEN:
            states[i] = TAKEN if keys[i] <= bound else LEFT_OUT


@kernel("u64[:], u64, f64, f64[:], u8[:], f64[:]")
def add_others(member, members, sync, keys, bound, factor, weight, states, out):
    """Take also the rows left out whose key is at most the bound; they weigh ``factor`` times what they did."""
    n = keys.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        own = weight[i] if weight.shape[0] > 0 else 1.0
        if states[i] == TAKEN:
            out[i] = own
        elif keys[i] <= bound:
            states[i] = TAKEN
            out[i] = own * factor
        else:
            out[i] = 0.0


@kernel("u64[:], u64[:], f64, f64[:], u8[:], f64[:]")
def take_in_proportion(member, members, sync, amounts, hashes, threshold, weight, states, out):
    """Take each row with the probability min(1, amount / threshold) and divide its weight by it."""
    n = amounts.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        own = weight[i] if weight.shape[0] > 0 else 1.0
        chance = min(1.0, np.float64(np.int64(amounts[i])) / threshold)
        is_drawn = np.float64(np.int64(hashes[i] >> np.uint64(11))) * TO_UNIT < chance
        states[i] = TAKEN if is_drawn else LEFT_OUT
        out[i] = own / chance if is_drawn else 0.0


@kernel("u64[:], u64[:], f64[:], u8[:], f64[:]")
def take_times(member, members, sync, hashes, bounds, weight, states, out):
    """Take each row as many times as there are bounds at or below its hash, by its weight."""
    n = hashes.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        times = 0
        for b in range(bounds.shape[0]):
            times += 1 if hashes[i] >= bounds[b] else 0
        own = weight[i] if weight.shape[0] > 0 else 1.0
        states[i] = TAKEN if times > 0 else LEFT_OUT
        out[i] = own * np.float64(times)


@kernel("u64[:], f64, f64[:], f64[:]")
def weigh_exponentially(member, members, sync, hashes, temperature, weight, out):
    """Multiply the weight of each row by (−log u)^temperature, u uniform between 0 and 1."""
    n = hashes.shape[0]
    for i in range(member * n // members, (member + 1) * n // members):
        u = (np.float64(np.int64(hashes[i] >> np.uint64(11))) + 0.5) * TO_UNIT
        drawn = -log(u)
        if temperature != 1.0:
            drawn = exp(temperature * log(drawn))
        out[i] = drawn * (weight[i] if weight.shape[0] > 0 else 1.0)


@kernel("u8[:], i64[:], u32[:]")
def list_taken(member, members, sync, states, counts, out):
    """List the rows that are taken, ascending; ``counts[t]`` becomes how many of member t's rows are."""
    n = states.shape[0]
    first = member * n // members
    last = (member + 1) * n // members
    own = np.int64(0)
    for i in range(first, last):
        own += np.int64(states[i] == TAKEN)
    counts[member] = own
    if meet(sync, members) != 0:
        return
    at = np.int64(0)
    for t in range(member):
        at += counts[t]
    for i in range(first, last):
        if states[i] == TAKEN:
            out[at] = np.uint32(i)
            at += 1
