"""Digests of words, against Python's integers."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.digest import N_LANES, digest_words
from tests.guarded import Guards
from tests.reference.digest import digest_of_lane


def digest(words: np.ndarray) -> list[int]:
    guards = Guards()
    state = guards.array(N_LANES, np.uint64)
    state[:] = np.arange(N_LANES, dtype=np.uint64)
    digest_words(np.ascontiguousarray(words), state)
    guards.check()
    return state.tolist()


def test_every_lane_has_the_digest_of_its_words():
    words = np.random.default_rng(0).integers(0, 2**64, (50, N_LANES), dtype=np.uint64)
    assert digest(words) == [digest_of_lane(lane, words[:, lane].tolist()) for lane in range(N_LANES)]
    assert digest(words[:0]) == list(range(N_LANES))


def test_two_words_by_hand():
    words = np.zeros((2, N_LANES), np.uint64)
    words[1] = 1
    # Lane 1: (1 ^ 0) times the multiplier, whose upper half is added to the lower one; once more with the word 1.
    first = 0x9E3779B97F4A7C15 ^ 0x9E3779B9
    second = ((first ^ 1) * 0x9E3779B97F4A7C15) % 2**64
    assert digest(words)[1] == second ^ (second >> 32)


def test_any_flipped_bits_change_the_digest():
    words = np.random.default_rng(1).integers(0, 2**64, (6, N_LANES), dtype=np.uint64)
    found = {tuple(digest(words))}
    for bit in range(64):
        changed = words.copy()
        changed[2, 3] ^= np.uint64(1 << bit)
        found.add(tuple(digest(changed)))
        changed[3, 3] ^= np.uint64(1 << bit)  # the same bit of the next word of the lane, such as the sign of a number
        found.add(tuple(digest(changed)))
    found.add(tuple(digest(words[::-1])))
    found.add(tuple(digest(words[:, ::-1])))
    assert len(found) == 1 + 2 * 64 + 2
