"""Gradient-based one-side sampling: keys of rows, the keys near two thresholds, and the selected rows.

The key of a row is the norm of its gradients as float32 and, below it, 32 random bits. Rows whose key is above the
first threshold are kept; of the others, those whose *second hash*, drawn from the key, is at most the second threshold.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import draw32, stream_key
from sapwood.kernels.sampling.row_sampling import concatenate_rows, row_weight
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.intrinsics import float_bits
from sapwood.native.runtime.kernel import kernel

HALF = np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)
WITHOUT_SIGN = np.uint64(0x7FFFFFFF)
TWO = np.uint64(2)
MULTIPLIER = np.uint64(0x7FEB352D)
# Columns of the members' counts: keys below their window and in it, second hashes below theirs and in it, candidates.
N_BELOW, N_NEAR, N_HASHES_BELOW, N_HASHES_NEAR, N_CANDIDATES = range(5)
BLOCK = np.uint64(1024)  # rows at a time, whose keys stay in the L1 cache
NORMS, BITS, MARKS = range(3)  # rows of a member's workspace, of a block each


@kernel()
def float32_bits(x):
    """Return the bits of a number of at least 0 as float32, truncated; they are monotone in x."""
    # 29 bits of the fraction go, and the bias of the exponent falls from 1023 to 127.
    bits = np.int64(np.uint64(float_bits(x)) >> np.uint64(29)) - (np.int64(896) << np.int64(23))
    return np.uint64(min(max(bits, np.int64(0)), np.int64(0x7F800000)))


@kernel()
def gradient_norm(pairs, i):
    """Return the Euclidean norm of a row's gradients over all outputs."""
    if pairs.shape[0] == 1:
        return abs(np.float64(pairs[0, TWO * i]))
    total = 0.0
    for k in range(np.uint64(pairs.shape[0])):
        g = np.float64(pairs[k, TWO * i])
        total += g * g
    return np.sqrt(total)


@kernel()
def row_key(pairs, weight, random_key, ids, i):
    """Return the key of a row: the norm of its gradients times its weight as float32, then 32 random bits."""
    norm = float32_bits(gradient_norm(pairs, i) * row_weight(weight, i))
    return (norm << HALF) | draw32(random_key, ids[i] if ids.shape[0] > 0 else i)


@kernel(noinline=True)
def write_norms(pairs, pair_bits, weight, begin, n, out):
    """Write the high halves of the keys of n rows from ``begin`` on."""
    if pairs.shape[0] == 1 and weight.shape[0] == 0:
        bits = pair_bits[0]
        for j in range(n):
            out[j] = np.uint32(bits[TWO * (begin + j)] & WITHOUT_SIGN)
        return
    for j in range(n):
        out[j] = np.uint32(float32_bits(gradient_norm(pairs, begin + j) * row_weight(weight, begin + j)))


@kernel(noinline=True)
def write_random_bits(random_key, ids, begin, n, out):
    """Write the low halves of the keys of n rows from ``begin`` on."""
    if ids.shape[0] > 0:
        for j in range(n):
            out[j] = np.uint32(draw32(random_key, ids[begin + j]))
        return
    for j in range(n):
        out[j] = np.uint32(draw32(random_key, begin + j))


@kernel()
def second_hash(key):
    """Return 32 random bits of a key that are unrelated to the order of keys with the same norm."""
    x = key & LOW_HALF
    x = ((x ^ (x >> np.uint64(16))) * MULTIPLIER) & LOW_HALF
    return x ^ (x >> np.uint64(15))


@kernel("f32[:,:], f64[:], i64, i64, i64, u64[:], i64, u64[:]")
def sample_keys(member, members, sync, pairs, weight, seed, purpose, round, ids, step, out):
    """Write the keys of every ``step``-th row."""
    random_key = stream_key(seed, purpose, round)
    n = out.shape[0]
    for k in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[k] = row_key(pairs, weight, random_key, ids, k * np.uint64(step))


@kernel(noinline=True)
def append_candidates(block, n, begin, windows, at, keys, rows):
    """Append the keys and row numbers of the candidates among n rows from ``begin`` on; return where they end.

    Candidates are rows whose key or second hash is not clearly beyond its window. They are written from ``at`` on.
    """
    min_norm = np.uint32(windows[0] >> HALF)
    max_hash = np.uint32(min(windows[3], LOW_HALF))
    norms = block[NORMS]
    bits = block[BITS]
    marks = block[MARKS]
    for j in range(n):
        hash = np.uint32(second_hash(np.uint64(bits[j])))
        marks[j] = np.uint32(1) if (norms[j] >= min_norm) | (hash <= max_hash) else np.uint32(0)
    end = at
    for j in range(n):
        rows[end] = np.uint32(begin + j)
        end += np.uint64(marks[j])
    for k in range(at, end):
        j = np.uint64(rows[k]) - begin
        keys[k] = (np.uint64(norms[j]) << HALF) | np.uint64(bits[j])
    return end


@kernel(noinline=True)
def find_near(keys, begin, end, windows, counts, marks, positions):
    """Add the candidates ``begin`` to ``end`` to the counts, and write the positions of those in a window.

    Returns how many are in one.
    """
    low = windows[0]
    high = windows[1]
    low_hash = windows[2]
    high_hash = windows[3]
    n_not_below = np.int64(0)
    n_hashes_below = np.int64(0)
    n = end - begin
    for j in range(n):
        key = keys[begin + j]
        hash = second_hash(key)
        is_low = np.int64(key < low)
        n_not_below += np.int64(1) - is_low
        n_hashes_below += is_low & np.int64(hash < low_hash)
        is_near = np.int64(key <= high) & (np.int64(1) - is_low)
        marks[j] = np.uint32(is_near | (is_low & np.int64(hash >= low_hash) & np.int64(hash <= high_hash)))
    counts[N_BELOW] -= n_not_below
    counts[N_HASHES_BELOW] += n_hashes_below
    at = np.uint64(0)
    for j in range(n):
        positions[at] = np.uint32(j)
        at += np.uint64(marks[j])
    return at


@kernel()
def append_near(keys, begin, positions, n, low, counts, near_keys, near_hashes):
    """Append n keys that are in a window to ``near_keys``, or the second hashes of those below ``low``."""
    capacity = near_keys.shape[0]
    for j in range(n):
        key = keys[begin + np.uint64(positions[j])]
        if key >= low:
            if counts[N_NEAR] < capacity:
                near_keys[counts[N_NEAR]] = key
            counts[N_NEAR] += 1
        else:
            if counts[N_HASHES_NEAR] < capacity:
                near_hashes[counts[N_HASHES_NEAR]] = second_hash(key)
            counts[N_HASHES_NEAR] += 1


@kernel("f32[:,:], u32[:,:], f64[:], i64, i64, i64, u64[:], u64[:], u32[:,:,:], u64[:], u32[:], i64[:,:], u64[:,:,:]")
def collect_candidates(
    member, members, sync, pairs, pair_bits, weight, seed, purpose, round, ids, windows, blocks, keys, rows, counts,
    near,
):  # fmt: skip
    """Write keys and row numbers of the candidates, each member from its first row on, and collect those in a window.

    ``pair_bits`` are the pairs as integers. ``windows`` holds the minimum and maximum of the keys to collect in
    ``near[0, member]``, up to its capacity; then those of the second hashes, of keys below, for ``near[1, member]``.
    counts[member] becomes the numbers below and in each window, and of candidates. ``blocks`` is a workspace, (3,
    ``BLOCK``) per member.
    """
    n = keys.shape[0]
    random_key = stream_key(seed, purpose, round)
    my_counts = counts[member]
    for j in range(my_counts.shape[0]):
        my_counts[j] = 0
    begin = slice_start(member, members, n)
    last = slice_start(member + 1, members, n)
    my_counts[N_BELOW] = np.int64(last - begin)
    first = begin
    at = first
    block = blocks[member]
    while begin < last:
        size = min(BLOCK, last - begin)
        write_norms(pairs, pair_bits, weight, begin, size, block[NORMS])
        write_random_bits(random_key, ids, begin, size, block[BITS])
        before = at
        at = append_candidates(block, size, begin, windows, before, keys, rows)
        n_near = find_near(keys, before, at, windows, my_counts, block[MARKS], block[BITS])
        append_near(keys, before, block[BITS], n_near, windows[0], my_counts, near[0, member], near[1, member])
        begin += BLOCK
    my_counts[N_CANDIDATES] = np.int64(at - first)


@kernel("u64[:], u64, u64[:], u64[:], i64[:]")
def hash_keys(keys, max_key, windows, out, counts):
    """Write the second hashes in their window of keys up to ``max_key``; count those below the window and in it."""
    n_below = np.int64(0)
    at = np.uint64(0)
    for k in range(np.uint64(keys.shape[0])):
        hash = second_hash(keys[k])
        is_low = np.int64(hash < windows[2])
        is_rest = np.int64(keys[k] <= max_key)
        out[at] = hash
        n_below += is_rest & is_low
        at += np.uint64(is_rest & np.int64(hash <= windows[3]) & (np.int64(1) - is_low))
    counts[0] = n_below
    counts[1] = np.int64(at)


@kernel("i64[:,:], u64[:], u64, u64, f64, f64[:], i64[:], u32[:], u32[:], f64[:]")
def select_rows(
    member, members, sync, candidate_counts, keys, max_key, max_hash, factor, weight, counts, scratch, rows, out
):  # fmt: skip
    """Select the rows whose key is above ``max_key``, and the others whose second hash is at most ``max_hash``.

    The weights of the latter are multiplied by ``factor``. ``candidate_counts`` are the counts of
    ``collect_candidates``, ``scratch`` the rows of the keys.
    """
    first = slice_start(member, members, keys.shape[0])
    at = first
    for k in range(first, first + np.uint64(candidate_counts[member, N_CANDIDATES])):
        key = keys[k]
        scratch[at] = scratch[k]
        keys[at] = key
        at += np.uint64(key > max_key) | np.uint64(second_hash(key) <= max_hash)
    begin = concatenate_rows(member, members, sync, first, at, counts, scratch, rows)
    if begin >= 0:
        for k in range(at - first):
            scale = 1.0 if keys[first + k] > max_key else factor
            out[np.uint64(begin) + k] = row_weight(weight, np.uint64(scratch[first + k])) * scale
