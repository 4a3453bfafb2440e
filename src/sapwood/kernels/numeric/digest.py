"""Digests of large arrays, at the speed of memory: they tell arrays apart that differ by accident."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel

N_LANES = 8
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


@kernel()
def mix(state, word):
    """Return the state of a lane after a word; for a given word, different states stay different.

    A product carries differences to higher bits only; the shift brings them back to the lower ones.
    """
    product = (state ^ word) * MULTIPLIER
    return product ^ (product >> HALF)


@kernel("u64[:,:], u64[:]")
def digest_words(words, state):
    """Update the state of each lane, of which there are ``N_LANES``, by its column of words.

    Lanes are independent of each other, so that no product waits for the one before.
    """
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    s4, s5, s6, s7 = state[4], state[5], state[6], state[7]
    for k in range(np.uint64(words.shape[0])):
        s0 = mix(s0, words[k, 0])
        s1 = mix(s1, words[k, 1])
        s2 = mix(s2, words[k, 2])
        s3 = mix(s3, words[k, 3])
        s4 = mix(s4, words[k, 4])
        s5 = mix(s5, words[k, 5])
        s6 = mix(s6, words[k, 6])
        s7 = mix(s7, words[k, 7])
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    state[4], state[5], state[6], state[7] = s4, s5, s6, s7
