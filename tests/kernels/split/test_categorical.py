"""Splits of categories into two sets, against every set there is."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.split.categorical import scan_one_hot, scan_partitions
from sapwood.kernels.split.category_order import CATEGORY_SCRATCH

N_BINS = 6
QUANTUM = np.array([[64.0, 64.0]])


def make_params(**chosen) -> layout.GrowParams:
    plain = {"min_child_samples": 1, "wide": 1, "max_categories": 32}
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | plain | chosen)


def scanned(
    g: np.ndarray, h: np.ndarray, params: layout.GrowParams, counts: np.ndarray | None = None, one_hot: bool = False
):
    """Return the gain, the set that goes left, and its sums."""
    cells = np.concatenate([g, h])
    sums = np.array([g.sum(), h.sum()])
    buffer = np.full(CATEGORY_SCRATCH, 77, dtype=np.int64)
    candidate = np.full(layout.CANDIDATE_SUMS + 2, 77, dtype=np.int64)
    scales = layout.Scales(QUANTUM, np.ones((1, 2)), np.zeros((1, 2), np.int64))
    n_rows = 0 if counts is None else int(counts.sum())
    counts = buffer if counts is None else counts
    n_bins = len(g) - 1
    leaf = cells, len(g), n_bins, sums, -np.inf, np.inf, counts, n_rows, params, scales
    gain = scan_one_hot(*leaf, candidate) if one_hot else scan_partitions(*leaf, buffer, candidate)
    assert gain == 0.0 or candidate[layout.CANDIDATE_BIN] == layout.BITSET_SPLIT
    assert gain == 0.0 or (candidate[layout.CANDIDATE_MISSING_LEFT] >= layout.UNPENALISED) == one_hot
    words = candidate[layout.CANDIDATE_BITSET : layout.CANDIDATE_SUMS]
    return gain, {b for b in range(n_bins + 1) if words[b >> 6] >> (b & 63) & 1}, candidate[layout.CANDIDATE_SUMS :]


def gain_of(chosen, g, h, params) -> float:
    left = np.isin(np.arange(N_BINS + 1), list(chosen))
    total = 0.0
    for side, sign in ((left, 1), (~left, 1), (np.ones_like(left), -1)):
        extra = params.category_lambda if sign == 1 else 0.0
        total += sign * (g[side].sum() / 64) ** 2 / (h[side].sum() / 64 + params.reg_lambda + extra)
    return 0.5 * total


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("smoothing", [0.0, 5.0])
def test_without_penalty_the_set_is_the_best_of_all_sets(seed, smoothing):
    """Fisher: cutting the order of G/H is enough where λ = 0."""
    source = np.random.default_rng(seed)
    g, h = source.integers(-500, 500, N_BINS + 1), source.integers(50, 90, N_BINS + 1)
    params = make_params(category_smoothing=smoothing)
    gain, chosen, left = scanned(g, h, params)
    assert gain == pytest.approx(gain_of(chosen, g, h, params))
    assert left.tolist() == [g[list(chosen)].sum(), h[list(chosen)].sum()]
    if smoothing == 0.0:
        sets = [s for size in range(1, N_BINS + 1) for s in combinations(range(N_BINS + 1), size)]
        assert gain == pytest.approx(max(gain_of(one, g, h, params) for one in sets))


def slowly_scanned(g: np.ndarray, h: np.ndarray, params: layout.GrowParams) -> tuple[float, set[int]]:
    """Find the best set by all categories in order, equal ones by number."""
    keys = g / 64 / (h / 64 + params.category_smoothing)
    order = [b for _, b in sorted((key, b) for b, key in enumerate(keys) if g[b] or h[b])]
    best: tuple[float, set[int]] = (0.0, set())
    for ends in (order, order[::-1]):
        for size in range(1, min(params.max_categories, (len(order) + 1) // 2, len(order) - 1) + 1):
            inside = np.isin(np.arange(len(g)), ends[:size])
            score = 0.0
            for side in (inside, ~inside):
                score += (g[side].sum() / 64) ** 2 / (h[side].sum() / 64 + params.category_lambda + params.reg_lambda)
            gain = 0.5 * (score - (g.sum() / 64) ** 2 / (h.sum() / 64 + params.reg_lambda))
            if gain > best[0]:
                best = gain, set(ends[:size])
    return best


KEYS = {
    "alike": lambda source, n: np.zeros(n),
    "spread": lambda source, n: source.normal(size=n),
    "tied": lambda source, n: source.integers(-3, 4, n) * 1.0,
    "far": lambda source, n: np.where(np.arange(n) == 5, 1e6, source.normal(size=n)),
    "both ends": lambda source, n: np.sign(source.normal(size=n)) * np.exp(3.0 * source.normal(size=n)),
}


@pytest.mark.parametrize("n_categories", [2, 3, 33, 64, 65, 100, 256])
@pytest.mark.parametrize("kind", KEYS)
def test_the_ends_of_any_order_are_found(kind, n_categories):
    source = np.random.default_rng(n_categories)
    h = source.integers(0, 4, n_categories) * 64
    g = np.rint(KEYS[kind](source, n_categories) * (h + 64)).astype(np.int64) * (h > 0) + (h > 0)
    params = make_params(category_smoothing=1.0, category_lambda=2.0, reg_lambda=0.5)
    gain, chosen, left = scanned(g, h, params)
    expected, best = slowly_scanned(g, h, params)
    assert gain == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if gain > 1e-6:
        assert chosen == best
        assert left.tolist() == [g[list(best)].sum(), h[list(best)].sum()]


def test_the_penalty_and_the_largest_set_are_kept():
    g, h = np.array([400, 380, 390, -10, -5, 0, 410]), np.full(N_BINS + 1, 64)
    plain, penalised = scanned(g, h, make_params()), scanned(g, h, make_params(category_lambda=0.1))
    assert penalised[0] < plain[0]
    assert penalised[0] == pytest.approx(gain_of(penalised[1], g, h, make_params(category_lambda=0.1)))
    assert len(scanned(g, h, make_params(max_categories=1))[1]) == 1


def test_empty_categories_are_in_no_set_and_both_sides_have_rows_enough():
    g, h = np.array([0, 900, -300, 0, -250, -200, 0]), np.array([0, 64, 64, 0, 64, 64, 0])
    assert scanned(g, h, make_params())[1] in ({1}, {2, 4, 5})
    counts = np.array([0, 3, 10, 0, 10, 10, 0])
    _, chosen, _ = scanned(g, h, make_params(min_child_samples=10), counts)
    assert 10 <= counts[list(chosen)].sum() <= 23
    assert scanned(g, h, make_params(min_child_samples=17), counts)[0] == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_a_single_category_is_the_best_of_all_that_leave_rows_enough(seed):
    source = np.random.default_rng(seed)
    h = source.integers(0, 3, N_BINS + 1) * 64
    g = source.integers(-500, 500, N_BINS + 1) * (h > 0)
    counts = h // 64 * 10
    params, free = make_params(reg_lambda=1.0, category_lambda=9.0, min_child_samples=15), make_params(reg_lambda=1.0)
    for row_counts, categories in ((None, np.flatnonzero(h)), (counts, np.flatnonzero(counts >= 15))):
        gain, chosen, left = scanned(g, h, params, row_counts, one_hot=True)
        gains = {int(b): gain_of({b}, g, h, free) for b in categories}
        assert gain == pytest.approx(max([0.0, *gains.values()]), abs=1e-9)
        if gain > 0.0:
            (b,) = chosen
            assert gains[b] == pytest.approx(gain)
            assert left.tolist() == [g[b], h[b]]


def test_rare_categories_stay_and_sets_grow_by_groups_of_rows():
    g, h = np.array([0, 900, 800, 700, -10, -20, -30]), np.array([0, 64, 64, 64, 64, 64, 64])
    counts = np.array([0, 3, 40, 60, 200, 200, 200])
    assert scanned(g, h, make_params(), counts)[1] in ({1, 2, 3}, {4, 5, 6})
    assert 1 not in scanned(g, h, make_params(min_category_rows=10), counts)[1]
    # From the top category 1 has 3 rows, 1 and 2 have 43; only with category 3 a hundred have joined.
    assert scanned(g, h, make_params(min_group_rows=100, max_categories=2), counts)[1] == {5, 6}
    gain, chosen, _ = scanned(g, h, make_params(min_group_rows=300), counts)
    assert chosen == {5, 6}
    assert gain == pytest.approx(gain_of(chosen, g, h, make_params()))


def test_a_category_that_is_the_only_one_left_may_go_where_rare_ones_stay():
    g, h = np.array([0, 900, -10, 0, 0, 0, 0]), np.array([0, 64, 64, 0, 0, 0, 0])
    counts = np.array([0, 50, 5, 0, 0, 0, 0])
    assert scanned(g, h, make_params(min_category_rows=10), counts)[1] == {1}
