"""A counter-based generator: a number depends only on (seed, purpose, round, id), never on earlier draws.

``id`` is a row's or feature's number in the user's table, so neither threads nor partitioning nor subsets change a
draw.
"""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel

# Purposes of draws. Each has its own stream; none is ever reused for another.
ROUNDING, BIN_EDGES, SAMPLING, TREE_COLUMNS, LEVEL_COLUMNS, NODE_COLUMNS, VALIDATION_SPLIT, FOLDS = range(1, 9)
DART_DROPS, DART_SKIPS = range(51, 53)  # trees that DART drops, and rounds without dropout
PERMUTATIONS, HOLDOUT, TREE_PERMUTATION, SPLIT_NOISE, THRESHOLDS = range(101, 106)  # target statistics, splits
CROSS_SEARCH = 121  # rows by which numeric crosses are searched
OUTPUT_SKETCH = 131  # directions that the gradients of several outputs are projected on
BASE_MODEL = 151  # seeds of the models that classic ensembles are made of
ROW_DIGEST = 161  # hashes of the content of rows

# Constants of SplitMix64: the odd integer nearest to 2^64 / golden ratio, and the multipliers of its finaliser.
_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
# For 32 bits: the multipliers of the finaliser lowbias32, and an odd integer near 2^32 / golden ratio.
_LOW_HALF = np.uint64(0xFFFFFFFF)
_MULTIPLIER_1_OF_32, _MULTIPLIER_2_OF_32 = np.uint64(0x7FEB352D), np.uint64(0x846CA68B)
_GOLDEN_GAMMA_OF_32 = np.uint64(0x9E3779B1)


@kernel()
def mix64(x):
    """Mix 64 bits one to one, by the finaliser of SplitMix64; ``x`` may be an array."""
    a = (x ^ (x >> np.uint64(30))) * _MULTIPLIER_1
    b = (a ^ (a >> np.uint64(27))) * _MULTIPLIER_2
    return b ^ (b >> np.uint64(31))


@kernel()
def hash_combine(key, code):
    """Extend the hash ``key`` of a sequence by one more integer; both may be arrays of uint64."""
    return mix64(key * _GOLDEN_GAMMA + code + np.uint64(1))


@kernel()
def stream_key(seed, purpose, round):
    """Return the key of one purpose in one round, for ``draw``. Arguments are integers."""
    a = mix64(np.uint64(seed) + _GOLDEN_GAMMA)
    b = mix64(a ^ np.uint64(purpose))
    return mix64(b + np.uint64(round) * _GOLDEN_GAMMA)


@kernel()
def draw(key, id):
    """Return 64 random bits for ``id``; different ids of one key never have the same bits."""
    return mix64(key + np.uint64(id) * _GOLDEN_GAMMA)


@kernel()
def draw32(key, id):
    """Return 32 random bits for ``id``, by 32-bit arithmetic that vectorises; ids below 2^32 never have the same."""
    x = ((id & _LOW_HALF) + (id >> np.uint64(32)) * _GOLDEN_GAMMA_OF_32 + (key & _LOW_HALF)) & _LOW_HALF
    x = ((x ^ (x >> np.uint64(16))) * _MULTIPLIER_1_OF_32) & _LOW_HALF
    x = ((x ^ (x >> np.uint64(15)) ^ (key >> np.uint64(32))) * _MULTIPLIER_2_OF_32) & _LOW_HALF
    return x ^ (x >> np.uint64(16))


@kernel("i64, i64, i64, u64[:], u64[:]")
def draw_many(seed, purpose, round, ids, out):
    """Write 64 random bits for each id to ``out``."""
    key = stream_key(seed, purpose, round)
    for i in range(ids.shape[0]):
        out[i] = draw(key, ids[i])
