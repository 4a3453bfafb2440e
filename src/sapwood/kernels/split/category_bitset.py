"""Sets of bins: BITSET_WORDS words of 64 bits."""

from __future__ import annotations

import numpy as np

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
