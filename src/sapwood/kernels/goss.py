"""Rows of large gradient and some of the others: a key for every row, the keys near two thresholds, the rows drawn.

A key is the norm of a row's gradients and, below it, random bits. Rows above the first threshold are taken; of the
others those whose other random bits are up to the second.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.random import draw, stream
from sapwood.kernels.sample import join_rows, weight_of
from sapwood.kernels.share import share
from sapwood.native.intrinsics import float_bits
from sapwood.native.kernel import kernel

LOW_HALF = np.uint64(0xFFFFFFFF)
MIX = np.uint64(0x7FEB352D)
# Columns of what members count: keys below the window and in it, other bits below theirs and in it.
BELOW, NEAR, OTHERS_BELOW, OTHERS_NEAR = range(4)
BLOCK = np.uint64(1024)  # rows whose keys are near when they are looked at


@kernel()
def float32_bits(x):
    """The bits of a number of at least 0 as float32, cut off at the end: a larger number never has fewer."""
    # 29 bits of the fraction go, and the bias of the exponent falls from 1023 to 127.
    bits = (float_bits(x) >> np.int64(29)) - (np.int64(896) << np.int64(23))
    return np.uint64(min(max(bits, np.int64(0)), np.int64(0x7F800000)))


@kernel()
def row_key(pairs, weight, random, ids, i):
    """The norm of a row's gradients times its weight as float32, then 32 random bits."""
    norm = abs(np.float64(pairs[0, i, 0]))
    if pairs.shape[0] > 1:
        total = 0.0
        for k in range(pairs.shape[0]):
            g = np.float64(pairs[k, i, 0])
            total += g * g
        norm = np.sqrt(total)
    bits = float32_bits(norm * weight_of(weight, i))
    return (bits << np.uint64(32)) | (draw(random, ids[i] if ids.shape[0] > 0 else i) >> np.uint64(32))


@kernel()
def other_bits(key):
    """32 random bits of a key that tell nothing of the order of keys with the same norm."""
    x = key & LOW_HALF
    x = ((x ^ (x >> np.uint64(16))) * MIX) & LOW_HALF
    return x ^ (x >> np.uint64(15))


@kernel("f32[:,:,:], f64[:], i64, i64, i64, u64[:], i64, u64[:]")
def rank_some(pairs, weight, seed, purpose, round, ids, step, out):
    """Write the keys of every so-many-th row."""
    random = stream(seed, purpose, round)
    for k in range(np.uint64(out.shape[0])):
        out[k] = row_key(pairs, weight, random, ids, k * np.uint64(step))


@kernel(apart=True)
def look_near(keys, begin, end, windows, counts, near, others):
    """Count and list some of the keys as ``rank_rows`` says, without a branch that is hard to foretell."""
    low = windows[0]
    high = windows[1]
    low_other = windows[2]
    high_other = windows[3]
    below = np.int64(0)
    others_below = np.int64(0)
    at = np.uint64(counts[NEAR])
    others_at = np.uint64(counts[OTHERS_NEAR])
    room = np.uint64(near.shape[0])
    for i in range(begin, end):
        key = keys[i]
        bits = other_bits(key)
        is_low = key < low
        below += np.int64(is_low)
        others_below += np.int64(is_low) & np.int64(bits < low_other)
        is_near = np.int64(key <= high) & (np.int64(1) - np.int64(is_low))
        is_other_near = np.int64(is_low) & np.int64(bits >= low_other) & np.int64(bits <= high_other)
        if (is_near | is_other_near) != 0:
            if is_near != 0:
                if at < room:
                    near[at] = key
                at += np.uint64(1)
            else:
                if others_at < room:
                    others[others_at] = bits
                others_at += np.uint64(1)
    counts[BELOW] += below
    counts[NEAR] = np.int64(at)
    counts[OTHERS_BELOW] += others_below
    counts[OTHERS_NEAR] = np.int64(others_at)


@kernel("f32[:,:,:], f64[:], i64, i64, i64, u64[:], u64[:], u64[:], i64[:,:], u64[:,:], u64[:,:]")
def rank_rows(
    member, members, sync, pairs, weight, seed, purpose, round, ids, windows, out, counts, near, others
):  # fmt: skip
    """Write the key of every row, and look which are near the thresholds.

    ``windows`` is the least and the largest of the keys to list in ``near``, as far as there is room; then the same of
    the other bits, which are asked of keys below. counts[member] becomes how many are below and in each.
    """
    n = out.shape[0]
    random = stream(seed, purpose, round)
    own = counts[member]
    for j in range(own.shape[0]):
        own[j] = 0
    begin = share(member, members, n)
    last = share(member + 1, members, n)
    while begin < last:
        end = min(begin + BLOCK, last)
        for i in range(begin, end):
            out[i] = row_key(pairs, weight, random, ids, i)
        look_near(out, begin, end, windows, own, near[member], others[member])
        begin = end


@kernel("u64[:], u64[:]")
def mix_keys(keys, out):
    """Write the other random bits of keys."""
    for k in range(np.uint64(keys.shape[0])):
        out[k] = other_bits(keys[k])


@kernel("u64[:], u64, u64, f64, f64[:], i64[:], u32[:], u32[:], f64[:]")
def take_others(member, members, sync, keys, most, bound, factor, weight, counts, spare, rows, out):
    """List the rows whose key is above ``most``, and the others whose other bits are at most the bound.

    The latter weigh ``factor`` times what they did.
    """
    n = keys.shape[0]
    first = share(member, members, n)
    at = first
    for i in range(first, share(member + 1, members, n)):
        key = keys[i]
        spare[at] = np.uint32(i)
        at += np.uint64(key > most) | np.uint64(other_bits(key) <= bound)
    begin = join_rows(member, members, sync, first, at, counts, spare, rows)
    if begin >= 0:
        for k in range(np.uint64(begin), np.uint64(begin) + (at - first)):
            row = np.uint64(rows[k])
            out[k] = weight_of(weight, row) * (1.0 if keys[row] > most else factor)
