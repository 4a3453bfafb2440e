"""Random bits by counter: those of the slow twin, different for everything that is asked, and spread evenly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.kernels.histogram.quantised_gradients import OUTPUT_KEY_STEP
from sapwood.kernels.numeric import random
from tests.reference.quantise import STEP, WORD, random_bits

PURPOSES = [getattr(random, name) for name in dir(random) if name.isupper() and not name.startswith("_")]


def draw_bits(seed: int, purpose: int, round: int, ids) -> np.ndarray:
    """The bits of some ids, in a buffer of garbage with a canary at each end."""
    ids = np.asarray(ids, dtype=np.uint64)
    out = np.full(len(ids) + 2, 0xDEADBEEF, dtype=np.uint64)
    random.draw_many(seed, purpose, round, ids, out[1:-1])
    assert out[0] == out[-1] == 0xDEADBEEF
    return out[1:-1]


@given(
    st.integers(0, 2**63 - 1),
    st.sampled_from(PURPOSES),
    st.integers(0, 2**31),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5),
)
def test_the_bits_are_those_of_the_slow_twin(seed, purpose, round, ids):
    assert draw_bits(seed, purpose, round, ids).tolist() == [random_bits(seed, purpose, round, id) for id in ids]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_half_as_many_bits_are_those_of_the_slow_twin(key, id):
    half = 2**32
    x = (id + id // half * 0x9E3779B1 + key) % half
    x = (x ^ x >> 16) * 0x7FEB352D % half
    x = (x ^ x >> 15 ^ key // half) * 0x846CA68B % half
    assert random.draw32(np.uint64(key), np.uint64(id)) == x ^ x >> 16


def test_every_purpose_has_its_own_number():
    assert len(PURPOSES) >= 8
    assert len(set(PURPOSES)) == len(PURPOSES)


def test_no_two_small_keys_give_the_same_bits():
    """All (seed, purpose, round, id) of 4 x 8 x 16 x 64 small numbers."""
    keys = itertools.product(range(4), PURPOSES[:8], range(16))
    seen = np.concatenate([draw_bits(*key, np.arange(64)) for key in keys])
    assert len(np.unique(seen)) == len(seen) == 4 * 8 * 16 * 64


def test_the_ids_of_one_stream_never_collide():
    """An odd multiple and two one-to-one steps: different ids cannot give the same bits."""
    assert STEP % 2 == 1
    ids = np.arange(1_000_000)
    assert len(np.unique(draw_bits(0, random.ROUNDING, 0, ids))) == len(ids)


def test_the_streams_of_a_tree_s_outputs_do_not_overlap():
    """Output k starts k OUTPUT_STEP further on; its rows would be those of another output only 2^32 rows away."""
    inverse = pow(STEP, -1, WORD)
    for k in range(1, 5000):
        distance = k * int(OUTPUT_KEY_STEP) * inverse % WORD
        assert min(distance, WORD - distance) > 2**32


@pytest.mark.parametrize("key", [(0, 1, 0), (0, 1, 1), (1, 1, 0), (2**62, 3, 77)])
def test_every_bit_is_set_in_half_of_the_draws(key):
    n = 200_000
    drawn = draw_bits(*key, np.arange(n))
    shares = [np.count_nonzero(drawn & np.uint64(1 << bit)) / n for bit in range(64)]
    assert max(abs(share - 0.5) for share in shares) < 5 * 0.5 / n**0.5


def test_neighbouring_ids_and_rounds_are_unrelated():
    n = 100_000
    drawn = draw_bits(5, 1, 0, np.arange(n + 1)) / 2.0**64 - 0.5
    later = draw_bits(5, 1, 1, np.arange(n)) / 2.0**64 - 0.5
    for other in (drawn[1:], later):
        correlation = float(np.mean(drawn[:n] * other)) * 12
        assert abs(correlation) < 5 / n**0.5
