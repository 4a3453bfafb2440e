"""Gradient-based one-side sampling."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import Goss
from sapwood.boost.sampling import make_sampler
from sapwood.kernels.numeric.random import SAMPLING
from sapwood.kernels.sampling import goss
from sapwood.params.declaration import BoostingParams
from tests.boost.sampling.samples import context_of, ids, pairs_from, pairs_of


def test_goss_keeps_the_largest_and_weighs_the_others_up():
    """L1, by hand: 2 of 10 kept, 4 of the 8 others drawn, each for two."""
    params = BoostingParams(sampling=Goss(0.2, 0.4, full_rounds=0))
    sampler = make_sampler(params, context_of(ids(10)))
    drawn = sampler.draw(pairs_from([0.1, -9.0, 0.2, 0.3, 0.0, 8.0, 0.5, -0.4, 0.7, 0.6]), 0)
    assert {1, 5} < set(drawn.rows.tolist())
    assert len(drawn.rows) == 6
    assert drawn.weight_by_row[[1, 5]].tolist() == [1.0, 1.0]
    others = sorted(set(drawn.rows.tolist()) - {1, 5})
    assert drawn.weight_by_row[others].tolist() == [2.0] * 4


@pytest.mark.parametrize("n", [60, 40_000])
def test_goss_orders_equals_at_the_cut_by_hash(n):
    params = BoostingParams(sampling=Goss(0.25, 0.25, full_rounds=0))
    drawn = make_sampler(params, context_of(ids(n))).draw(pairs_from([1.0] * n), 0)
    assert len(drawn.rows) == n // 2
    assert np.count_nonzero(drawn.weight == 1.0) == n // 4
    assert np.count_nonzero(drawn.weight == 3.0) == n // 4


def test_goss_takes_the_norm_over_outputs():
    pairs = np.zeros((2, 4, 2), dtype=np.float32)
    pairs[:, :, 0] = [[3.0, 0.0, 4.0, 0.0], [3.0, 4.1, 0.0, 0.0]]
    params = BoostingParams(sampling=Goss(0.5, 0.25, full_rounds=0))
    drawn = make_sampler(params, context_of(ids(4))).draw(pairs, 0)
    assert drawn.rows[drawn.weight == 1.0].tolist() == [0, 1]


def test_goss_begins_with_full_rounds():
    sampler = make_sampler(BoostingParams(sampling="goss", learning_rate=0.4), context_of(ids(50)))
    assert [sampler.draw(pairs_of(50), round).rows is None for round in range(5)] == [True] * 3 + [False] * 2


def keys_of(pairs: np.ndarray, round: int) -> np.ndarray:
    """The keys of rows that weigh 1 and have the numbers 0, 1, 2 ..."""
    n = pairs.shape[1]
    keys, counts = np.empty(n, dtype=np.uint64), np.empty((1, 5), dtype=np.int64)
    near, blocks = np.empty((2, 1, 1), dtype=np.uint64), np.empty((1, 3, int(goss.BLOCK)), dtype=np.uint32)
    windows, rows = np.zeros(4, dtype=np.uint64), np.empty(n, dtype=np.uint32)
    flat = pairs.reshape(len(pairs), -1)
    goss.collect_candidates(
        flat, flat.view(np.uint32), np.empty(0), 0, SAMPLING, round, ids(0), windows, blocks, keys, rows, counts, near
    )  # fmt: skip
    assert np.array_equal(rows, np.arange(n))
    return keys


def slow_goss(keys: np.ndarray, n_top: int, n_other: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort twice: by keys, and the rest by other bits of them."""
    most = np.sort(keys)[len(keys) - n_top - 1]
    low = keys & np.uint64(2**32 - 1)
    low = ((low ^ (low >> np.uint64(16))) * np.uint64(0x7FEB352D)) & np.uint64(2**32 - 1)
    bits, is_top = low ^ (low >> np.uint64(15)), keys > most
    bound = np.sort(bits[~is_top])[n_other - 1]
    is_drawn = ~is_top & (bits <= bound)
    rows = np.flatnonzero(is_top | is_drawn)
    return rows, np.where(is_top, 1.0, np.count_nonzero(~is_top) / np.count_nonzero(is_drawn))[rows]


@pytest.mark.parametrize("sampled", [20, 50, 1000, 5000])
@pytest.mark.parametrize("spread", [0, 1000])
@pytest.mark.parametrize("kinds", [3, 3000])
def test_goss_draws_the_same_as_sorting(monkeypatch, sampled, spread, kinds):
    for where in ("thresholds", "goss"):
        monkeypatch.setattr(f"sapwood.boost.sampling.{where}.N_SAMPLED_KEYS", sampled)
    monkeypatch.setattr("sapwood.boost.sampling.thresholds.MAX_SORTED", spread)
    gradient = np.random.default_rng(sampled).integers(0, kinds, 3000)
    sampler = make_sampler(BoostingParams(sampling=Goss(0.2, 0.1, full_rounds=0)), context_of(ids(3000)))
    for round, factor in enumerate([1.0, 1.0, 1.001, 1.001, 1.002, 3.0, 3.0]):
        pairs = pairs_from((gradient * factor).tolist())
        drawn = sampler.draw(pairs, round)
        rows, weight = slow_goss(keys_of(pairs, round), 600, 300)
        assert np.array_equal(drawn.rows, rows)
        assert np.array_equal(drawn.weight, weight)


def test_keys_are_ordered_like_norms():
    random = np.random.default_rng(0)
    norms = np.concatenate([[0.0, 1e-46, 1.0, 1.0 + 1e-7, 3e38, np.inf], random.lognormal(0, 20, 99)]).astype(
        np.float32
    )
    pairs = np.stack([norms, np.ones_like(norms)], axis=1)[None]
    keys = keys_of(pairs, 1)
    order = np.argsort(pairs[0, :, 0], kind="stable")
    assert (np.diff((keys >> np.uint64(32))[order].astype(np.int64)) >= 0).all()
    normal = pairs[0, :, 0] >= np.finfo(np.float32).tiny
    assert np.array_equal((keys >> np.uint64(32))[normal], pairs[0, normal, 0].view(np.uint32))


def test_the_random_bits_of_keys_are_spread_evenly():
    n = 100_000
    bits, later = (keys_of(np.ones((1, n, 2), dtype=np.float32), round) & np.uint64(2**32 - 1) for round in (1, 2))
    assert len(np.unique(bits)) == n
    shares = [np.count_nonzero(bits & np.uint64(1 << bit)) / n for bit in range(32)]
    assert max(abs(share - 0.5) for share in shares) < 5 * 0.5 / n**0.5
    for first, second in ((bits, later), (bits[1:], bits[:-1]), (bits[1:], later[:-1])):
        correlation = float(np.mean((first / 2.0**32 - 0.5) * (second / 2.0**32 - 0.5))) * 12
        assert abs(correlation) < 5 / n**0.5
