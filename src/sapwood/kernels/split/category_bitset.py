"""Sets of bins: BITSET_WORDS words of 64 bits."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.layout import (
    BITSET_SPLIT,
    BITSET_WORDS,
    CANDIDATE_BIN,
    CANDIDATE_BITSET,
    CANDIDATE_MISSING_LEFT,
    CANDIDATE_WORDS,
    UNPENALISED,
)
from sapwood.native.runtime.kernel import kernel

ONE = np.uint64(1)


@kernel()
def in_bitset(words, bin):
    """Return 1 if the set has the bin."""
    b = np.uint64(bin)
    return (np.uint64(words[b >> np.uint64(6)]) >> (b & np.uint64(63))) & ONE


@kernel()
def add_to_bitset(words, bin):
    """Add a bin to the set."""
    b = np.uint64(bin)
    words[b >> np.uint64(6)] |= np.int64(ONE << (b & np.uint64(63)))


@kernel()
def set_partition(order, n, size, end, candidate):
    """Write the set of the first ``size`` of n bins in an order, or of the last with ``end`` 1, to a candidate."""
    for w in range(BITSET_WORDS):
        candidate[CANDIDATE_BITSET + w] = 0
    for k in range(size):
        add_to_bitset(candidate[CANDIDATE_WORDS], order[k] if end == 0 else order[n - 1 - k])
    candidate[CANDIDATE_BIN] = BITSET_SPLIT
    candidate[CANDIDATE_MISSING_LEFT] = np.int64(in_bitset(candidate[CANDIDATE_WORDS], 0))


@kernel()
def set_one_category(bin, candidate):
    """Write the set of one bin to a candidate."""
    for w in range(BITSET_WORDS):
        candidate[CANDIDATE_BITSET + w] = 0
    add_to_bitset(candidate[CANDIDATE_WORDS], bin)
    candidate[CANDIDATE_BIN] = BITSET_SPLIT
    candidate[CANDIDATE_MISSING_LEFT] = UNPENALISED + (1 if bin == 0 else 0)
