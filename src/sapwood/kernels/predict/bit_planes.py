"""Sets of leaves as bits in planes of bytes: the leaf of a row is the lowest bit that is left in its bytes."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel

NO_BITS, ALL_BITS = np.uint8(0), np.uint8(255)


@kernel()
def lowest_bit(byte):
    """Return the number of the lowest bit of a byte that has one, without a branch."""
    low = np.uint8(byte & np.uint8(np.uint8(~byte) + np.uint8(1)))
    one = np.uint8(1) if np.uint8(low & np.uint8(0xAA)) != NO_BITS else NO_BITS
    two = np.uint8(2) if np.uint8(low & np.uint8(0xCC)) != NO_BITS else NO_BITS
    four = np.uint8(4) if np.uint8(low & np.uint8(0xF0)) != NO_BITS else NO_BITS
    return np.uint8(one | two | four)
