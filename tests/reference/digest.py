"""The digest of a sequence of 64-bit words, in Python's integers."""

from __future__ import annotations

from collections.abc import Sequence


def digest_of_lane(state: int, words: Sequence[int]) -> int:
    """Return the state of a lane after some words."""
    for word in words:
        product = (state ^ word) * 0x9E3779B97F4A7C15 % 2**64
        state = product ^ (product >> 32)
    return state
