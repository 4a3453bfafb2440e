"""Cross category columns: the levels of several columns together, known by one number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

LEAST_ROOM, ROOM_PER_ROW = 1 << 16, 8  # entries of a table of all pairs

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def cross_codes(codes: Sequence[np.ndarray]) -> np.ndarray:
    """A number of 64 bits for the codes of each row; different codes have different numbers, all but certainly."""
    key = np.zeros(len(codes[0]), dtype=np.uint64)
    for column in codes:
        key = _mixed(key * _STEP + column.astype(np.uint64) + np.uint64(1))
    return key


def cross_levels(codes: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that rows have, ascending, and the place of each row's among them, given the sizes of the codes."""
    if math.prod(sizes) <= max(LEAST_ROOM, ROOM_PER_ROW * len(codes[0])):
        # So few pairs are possible that a table of them all is quicker than to sort the rows.
        dense = np.ravel_multi_index(tuple(codes), tuple(sizes))
        present = np.zeros(math.prod(sizes), dtype=bool)
        present[dense] = True
        found = np.flatnonzero(present)
        numbers = cross_codes(np.unravel_index(found, tuple(sizes)))
        keys, first = np.unique(numbers, return_index=True)
        if len(keys) == len(numbers):
            place = np.empty(len(present), dtype=np.int32)
            place[found[first]] = np.arange(len(keys), dtype=np.int32)
            return keys, place[dense]
    keys, places = np.unique(cross_codes(codes), return_inverse=True)
    return keys, places.reshape(-1).astype(np.int32)


def find_keys(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place of each wanted number among ascending ``keys``, or one past the last."""
    places = np.searchsorted(keys, wanted)
    found = keys[np.minimum(places, len(keys) - 1)] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    return np.where(found, places, len(keys))


def _mixed(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))
