"""Rows of large gradient and some of the others: a key for every row, the keys near two thresholds, the rows drawn.

A key is the norm of a row's gradients and, below it, random bits. Rows above the first threshold are taken; of the
others those whose other random bits are up to the second.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import draw32, stream_key
from sapwood.kernels.sampling.row_sampling import join_rows, weight_of
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.intrinsics import float_bits
from sapwood.native.runtime.kernel import kernel

HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
WITHOUT_SIGN = np.uint64(0x7FFFFFFF)
TWO = np.uint64(2)
MIX = np.uint64(0x7FEB352D)
# Columns of what members count: keys below the window and in it, other bits below theirs and in it, and rows listed.
BELOW, NEAR, OTHERS_BELOW, OTHERS_NEAR, CANDIDATES = range(5)
BLOCK = np.uint64(1024)  # rows whose keys are near when they are looked at
NORMS, BITS, MARKS = range(3)  # lines of a member's workspace, of a block each


@kernel()
def float32_bits(x):
    """The bits of a number of at least 0 as float32, cut off at the end: a larger number never has fewer."""
    # 29 bits of the fraction go, and the bias of the exponent falls from 1023 to 127.
    bits = np.int64(np.uint64(float_bits(x)) >> np.uint64(29)) - (np.int64(896) << np.int64(23))
    return np.uint64(min(max(bits, np.int64(0)), np.int64(0x7F800000)))


@kernel()
def norm_of(pairs, i):
    """The norm of a row's gradients."""
    if pairs.shape[0] == 1:
        return abs(np.float64(pairs[0, TWO * i]))
    total = 0.0
    for k in range(np.uint64(pairs.shape[0])):
        g = np.float64(pairs[k, TWO * i])
        total += g * g
    return np.sqrt(total)


@kernel()
def row_key(pairs, weight, random, ids, i):
    """The key of a row: the norm of its gradients times its weight as float32, then 32 random bits."""
    norm = float32_bits(norm_of(pairs, i) * weight_of(weight, i))
    return (norm << HALF) | draw32(random, ids[i] if ids.shape[0] > 0 else i)


@kernel(noinline=True)
def write_norms(pairs, pair_bits, weight, begin, n, out):
    """Write the higher halves of the keys of n rows from ``begin`` on."""
    if pairs.shape[0] == 1 and weight.shape[0] == 0:
        own = pair_bits[0]
        for j in range(n):
            out[j] = np.uint32(own[TWO * (begin + j)] & WITHOUT_SIGN)
        return
    for j in range(n):
        out[j] = np.uint32(float32_bits(norm_of(pairs, begin + j) * weight_of(weight, begin + j)))


@kernel(noinline=True)
def write_bits(random, ids, begin, n, out):
    """Write the lower halves of the keys of n rows from ``begin`` on."""
    if ids.shape[0] > 0:
        for j in range(n):
            out[j] = np.uint32(draw32(random, ids[begin + j]))
        return
    for j in range(n):
        out[j] = np.uint32(draw32(random, begin + j))


@kernel()
def other_bits(key):
    """32 random bits of a key that tell nothing of the order of keys with the same norm."""
    x = key & LOW_HALF
    x = ((x ^ (x >> np.uint64(16))) * MIX) & LOW_HALF
    return x ^ (x >> np.uint64(15))


@kernel("f32[:,:], f64[:], i64, i64, i64, u64[:], i64, u64[:]")
def rank_some(member, members, sync, pairs, weight, seed, purpose, round, ids, step, out):
    """Write the keys of every so-many-th row."""
    random = stream_key(seed, purpose, round)
    n = out.shape[0]
    for k in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[k] = row_key(pairs, weight, random, ids, k * np.uint64(step))


@kernel(noinline=True)
def list_candidates(block, n, begin, windows, at, keys, rows):
    """Write the keys that may be drawn of n rows from ``begin`` on, with their rows.

    They go from ``at`` on; returns where they end.
    """
    least_norm = np.uint32(windows[0] >> HALF)
    high_other = np.uint32(min(windows[3], LOW_HALF))
    norms = block[NORMS]
    bits = block[BITS]
    marks = block[MARKS]
    for j in range(n):
        other = np.uint32(other_bits(np.uint64(bits[j])))
        marks[j] = np.uint32(1) if (norms[j] >= least_norm) | (other <= high_other) else np.uint32(0)
    end = at
    for j in range(n):
        rows[end] = np.uint32(begin + j)
        end += np.uint64(marks[j])
    for k in range(at, end):
        j = np.uint64(rows[k]) - begin
        keys[k] = (np.uint64(norms[j]) << HALF) | np.uint64(bits[j])
    return end


@kernel(noinline=True)
def pick_near(keys, begin, end, windows, counts, marks, picked):
    """Count some of the candidates as ``rank_rows`` says, and begin ``picked`` with the places of those near.

    Returns how many there are.
    """
    low = windows[0]
    high = windows[1]
    low_other = windows[2]
    high_other = windows[3]
    above = np.int64(0)
    others_below = np.int64(0)
    n = end - begin
    for j in range(n):
        key = keys[begin + j]
        other = other_bits(key)
        is_low = np.int64(key < low)
        above += np.int64(1) - is_low
        others_below += is_low & np.int64(other < low_other)
        is_near = np.int64(key <= high) & (np.int64(1) - is_low)
        marks[j] = np.uint32(is_near | (is_low & np.int64(other >= low_other) & np.int64(other <= high_other)))
    counts[BELOW] -= above
    counts[OTHERS_BELOW] += others_below
    at = np.uint64(0)
    for j in range(n):
        picked[at] = np.uint32(j)
        at += np.uint64(marks[j])
    return at


@kernel()
def list_near(keys, begin, picked, n, low, counts, near, others):
    """List n keys that are near, those below ``low`` by their other bits."""
    room = near.shape[0]
    for j in range(n):
        key = keys[begin + np.uint64(picked[j])]
        if key >= low:
            if counts[NEAR] < room:
                near[counts[NEAR]] = key
            counts[NEAR] += 1
        else:
            if counts[OTHERS_NEAR] < room:
                others[counts[OTHERS_NEAR]] = other_bits(key)
            counts[OTHERS_NEAR] += 1


@kernel("f32[:,:], u32[:,:], f64[:], i64, i64, i64, u64[:], u64[:], u32[:,:,:], u64[:], u32[:], i64[:,:], u64[:,:,:]")
def rank_rows(
    member, members, sync, pairs, pair_bits, weight, seed, purpose, round, ids, windows, blocks, keys, rows, counts,
    near,
):  # fmt: skip
    """Write the keys that may be drawn with their rows, each member from its first row on, and look which are near.

    ``pair_bits`` are the pairs as integers. ``windows`` is the least and the largest of the keys to list in
    ``near[0, member]``, as far as there is room; then the same of the other bits, which are asked of keys below, for
    ``near[1, member]``. counts[member] becomes how many are below and in each, and how many may be drawn. ``blocks`` is
    a workspace, (3, ``BLOCK``) per member.
    """
    n = keys.shape[0]
    random = stream_key(seed, purpose, round)
    own = counts[member]
    for j in range(own.shape[0]):
        own[j] = 0
    begin = slice_start(member, members, n)
    last = slice_start(member + 1, members, n)
    own[BELOW] = np.int64(last - begin)
    first = begin
    at = first
    block = blocks[member]
    while begin < last:
        size = min(BLOCK, last - begin)
        write_norms(pairs, pair_bits, weight, begin, size, block[NORMS])
        write_bits(random, ids, begin, size, block[BITS])
        before = at
        at = list_candidates(block, size, begin, windows, before, keys, rows)
        n_near = pick_near(keys, before, at, windows, own, block[MARKS], block[BITS])
        list_near(keys, before, block[BITS], n_near, windows[0], own, near[0, member], near[1, member])
        begin += BLOCK
    own[CANDIDATES] = np.int64(at - first)


@kernel("u64[:], u64, u64[:], u64[:], i64[:]")
def mix_keys(keys, most, windows, out, counts):
    """Write the other bits, as far as they are in their window, of keys up to ``most``; count those below and in it."""
    below = np.int64(0)
    at = np.uint64(0)
    for k in range(np.uint64(keys.shape[0])):
        bits = other_bits(keys[k])
        is_low = np.int64(bits < windows[2])
        is_rest = np.int64(keys[k] <= most)
        out[at] = bits
        below += is_rest & is_low
        at += np.uint64(is_rest & np.int64(bits <= windows[3]) & (np.int64(1) - is_low))
    counts[0] = below
    counts[1] = np.int64(at)


@kernel("i64[:,:], u64[:], u64, u64, f64, f64[:], i64[:], u32[:], u32[:], f64[:]")
def take_others(
    member, members, sync, candidates, keys, most, bound, factor, weight, counts, spare, rows, out
):  # fmt: skip
    """List the rows whose key is above ``most``, and the others whose other bits are at most the bound.

    The latter weigh ``factor`` times what they did. ``candidates`` are the counts of ``rank_rows``, ``spare`` the rows
    of the keys.
    """
    first = slice_start(member, members, keys.shape[0])
    at = first
    for k in range(first, first + np.uint64(candidates[member, CANDIDATES])):
        key = keys[k]
        spare[at] = spare[k]
        keys[at] = key
        at += np.uint64(key > most) | np.uint64(other_bits(key) <= bound)
    begin = join_rows(member, members, sync, first, at, counts, spare, rows)
    if begin >= 0:
        for k in range(at - first):
            scale = 1.0 if keys[first + k] > most else factor
            out[np.uint64(begin) + k] = weight_of(weight, np.uint64(spare[first + k])) * scale
