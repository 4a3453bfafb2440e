"""From gradient pairs to integers: the scale rule, the rounding, and that nothing can overflow."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.histogram import gradient_scales, quantised_gradients
from sapwood.kernels.numeric.fixed_point import gradient_sum, quantised_hessian
from sapwood.native.threads.team import Team
from tests.guarded import Guards
from tests.reference.quantise import quantise_slowly

IDENTITY = np.empty(0, dtype=np.uint64)


class Outcome(NamedTuple):
    planes: np.ndarray
    scale: np.ndarray
    exact: np.ndarray
    hessian_range: np.ndarray
    info: np.ndarray

    @property
    def gradient(self) -> np.ndarray:
        """Steps of each row: the high half, or the first plane."""
        return self.planes[0] >> 32 if len(self.planes) == 1 else self.planes[0]

    @property
    def hessian(self) -> np.ndarray:
        """Steps of each row: the low half, or the second plane."""
        return self.planes[0] & 0xFFFFFFFF if len(self.planes) == 1 else self.planes[1]


def run(pairs, weight=None, ids=IDENTITY, wide=False, draw=(0, 0), members=1, n=None) -> Outcome:
    """Quantise pairs (rows, 2) or (outputs, rows, 2) into buffers of garbage; the tree has the first n rows, or all."""
    pairs = np.ascontiguousarray(pairs, np.float32).reshape(-1, *np.shape(pairs)[-2:])
    guards, n_outputs, n = Guards(), len(pairs), pairs.shape[1] if n is None else n
    n_planes = n_outputs * (2 if wide else 1)
    rows = layout.RowPartition(
        rows=np.arange(n, dtype=np.uint32),
        scratch=guards.array(n, np.uint32),
        pairs=guards.array((n_planes, n), np.int64),
        pairs_by_row=np.empty((0, 0), np.int64),
    )
    scales = layout.Scales(*(guards.array((n_outputs, 2), kind) for kind in (np.float64, np.float64, np.int64)))
    scratch = layout.Scratch(
        guards.array((members, 12), np.float64),
        guards.array((members, 32), np.int64),
        guards.array((members, 3), np.int64),
    )
    info = guards.copy(np.zeros(3, np.int64))
    gradients = layout.Gradients(pairs.reshape(n_outputs, -1), np.empty(0) if weight is None else weight, ids, 1.0)
    Team(members).run(
        quantised_gradients.quantise, rows, gradients, int(wide), layout.RandomKey(*draw), scales, scratch, info
    )
    guards.check()
    return Outcome(rows.pairs, scales.histogram, scales.exact, scales.hessian_range, info)


def table(n: int, seed: int = 0, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(seed)
    size = np.exp(source.normal(size=(n, 2)) * spread)
    size[:, 0] *= source.choice([-1, 1], n)
    return size.astype(np.float32), source.uniform(0.1, 3.0, n)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("members", [1, 3])
def test_many_rows_that_follow_each_other_are_rounded_as_chosen_ones(wide, weighted, members):
    """A table with one more row has the others chosen, by loops that look each row up."""
    n = gradient_scales.MIN_CONTIGUOUS_ROWS + 1
    pairs, weight = table(n + 1, 8)
    ids = np.random.default_rng(9).permutation(n + 1).astype(np.uint64)
    parts = (pairs[:n], weight[:n], ids[:n]) if weighted else (pairs[:n], None, IDENTITY)
    every = (pairs, weight, ids) if weighted else (pairs, None, IDENTITY)
    quick = run(*parts, wide=wide, draw=(5, 1), members=members)
    slow = run(*every, wide=wide, draw=(5, 1), members=members, n=n)
    for name in ("planes", "scale", "exact", "hessian_range"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name), err_msg=name)


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 3.0]), st.booleans())
def test_the_loops_over_many_rows_do_what_those_over_chosen_ones_do(n, seed, spread, weighted):
    pairs, weight = table(n, seed, spread)
    pairs, weight = pairs.reshape(-1), weight if weighted else np.empty(0)
    order, scale, key = np.arange(n, dtype=np.uint32), np.array([2.0**20, 2.0**21]), np.uint64(seed)
    ids, info = order.astype(np.uint64), np.zeros(3, np.int64)
    largest, sums = np.empty((2, 2)), np.empty((2, 2), np.int64)
    planes, ranges = np.empty((2, n), np.int64), np.array([[2**62, 0], [2**62, 0]])
    with np.errstate(all="ignore"):
        gradient_scales.find_max_contiguous(pairs, weight, 0, n, largest[0], info)
        gradient_scales.find_max(pairs, weight, order, 0, n, largest[1], info)
        gradient_scales.add_up_contiguous(pairs, weight, 0, n, scale, sums[0])
        gradient_scales.add_up(pairs, weight, order, 0, n, scale, sums[1])
        quantised_gradients.round_packed_contiguous(pairs, weight, ids, 0, n, scale, key, planes[0], ranges[0])
        quantised_gradients.round_packed(pairs, weight, ids, order, 0, n, scale, key, planes[1], ranges[1])
    for found in (largest, sums, planes, ranges):
        assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize(
    "pair", [(np.nan, 1.0), (np.inf, 1.0), (-np.inf, 1.0), (1.0, np.nan), (1.0, np.inf), (1.0, -1e-30)]
)
@pytest.mark.parametrize("place", [0, 1000, -1])
def test_many_rows_tell_of_one_that_is_not_finite(pair, place):
    pairs, _ = table(gradient_scales.MIN_CONTIGUOUS_ROWS)
    pairs[place] = pair
    assert run(pairs).info[layout.STATUS] == layout.NOT_FINITE


def test_a_hessian_of_minus_zero_is_zero():
    pairs, _ = table(gradient_scales.MIN_CONTIGUOUS_ROWS)
    pairs[7, 1] = -0.0
    assert run(pairs).info[layout.STATUS] == layout.OK


# --- overflow ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.integers(1, 400),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 20.0]),
    st.sampled_from([1.0, 1e-30, 1e20, 1e35]),
    st.integers(0, 100),
)
def test_no_subset_of_rows_can_overflow_a_packed_cell(n, seed, spread, size, round):
    """The worst subsets: all rows for the hessian, and the rows of one sign for the gradient."""
    pairs, weight = table(n, seed, spread)
    done = run(np.minimum(np.maximum(pairs, -1e30), 1e30), weight * size, draw=(seed, round))
    assert done.info[layout.STATUS] == layout.OK
    gradient, hessian = done.gradient.tolist(), done.hessian.tolist()
    assert sum(hessian) < 2**32
    assert sum(g for g in gradient if g > 0) < 2**31
    assert sum(-g for g in gradient if g < 0) < 2**31


@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 1000, 1024])
def test_even_if_every_row_were_rounded_up_nothing_overflows(n):
    """Σ|q| <= s Σ|x| + n: rows of equal size put the sum as close to the limit as it can come."""
    for value in (1.0, 1.0000001, 0.9999999, 3.0, 1e-20, 7e20):
        done = run(np.full((n, 2), value, dtype=np.float32))
        for side, limit in ((0, 2**31), (1, 2**32)):
            max_error = sum(abs(Fraction(float(np.float32(value)))) for _ in range(n)) * Fraction(
                float(done.scale[0, side])
            )
            assert max_error + n < limit
            assert 2 * max_error + n >= limit - 2**10


def test_wide_sums_stay_far_from_the_end_of_64_bits():
    pairs, weight = table(500, 3, 20.0)
    done = run(pairs, weight * 1e40, wide=True)
    assert sum(abs(g) for g in done.gradient.tolist()) < 2**62
    assert sum(done.hessian.tolist()) < 2**62


# --- rounding ---------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(st.integers(1, 40), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 8.0]), st.booleans(), st.booleans())
def test_the_integers_are_those_of_the_slow_twin(n, seed, spread, wide, weighted):
    pairs, weight = table(n, seed, spread)
    ids = np.random.default_rng(seed).permutation(10 * n)[:n].astype(np.uint64)
    done = run(pairs, weight if weighted else None, ids, wide, (seed, 3))
    slow = quantise_slowly(pairs, weight if weighted else None, ids, wide, (seed, 3))
    assert done.scale[0].tolist() == [float(unit) for unit in slow.unit]
    assert done.exact[0].tolist() == [float(unit) for unit in slow.exact_unit]
    assert done.gradient.tolist() == slow.gradient
    assert done.hessian.tolist() == slow.hessian
    assert done.hessian_range[0].tolist() == [min(slow.hessian), max(slow.hessian)]


@pytest.mark.parametrize("wide", [False, True])
def test_a_team_gives_the_integers_of_one(wide):
    pairs, weight = table(1001, 5)
    alone = run(pairs, weight, wide=wide)
    for members in (2, 3, 8):
        together = run(pairs, weight, wide=wide, members=members)
        for expected, found in zip(alone, together, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_rows_without_numbers_are_numbered_by_their_places():
    pairs, weight = table(50, 1)
    plain, numbered = run(pairs, weight), run(pairs, weight, np.arange(50, dtype=np.uint64))
    np.testing.assert_array_equal(plain.planes, numbered.planes)


def test_wide_values_come_back_within_half_a_step_and_packed_ones_within_one():
    pairs, weight = table(200, 2)
    for wide, max_error in ((True, 0.5), (False, 1.0)):
        done = run(pairs, weight, wide=wide)
        for side, quantised in enumerate((done.gradient, done.hessian)):
            true = pairs[:, side] * weight * done.scale[0, side]
            assert np.abs(quantised - true).max() <= max_error


def test_rounding_is_right_on_average():
    """Over 600 rounds the mean of each row, and of all, is the true value within five standard errors."""
    n, rounds = 40, 600
    pairs, weight = table(n, 4)
    total = np.zeros((2, n))
    for round in range(rounds):
        done = run(pairs, weight, draw=(1, round))
        for side, quantised in enumerate((done.gradient, done.hessian)):
            total[side] += quantised - pairs[:, side] * weight * done.scale[0, side]
    error = total / rounds
    assert np.abs(error).max() < 5 * 0.5 / rounds**0.5
    assert np.abs(error.mean(axis=1)).max() < 5 * 0.5 / (rounds * n) ** 0.5


def test_outputs_with_the_same_gradients_are_not_rounded_alike():
    pairs, weight = table(100, 6)
    done = run(np.stack([pairs, pairs]), weight)
    assert done.scale[0].tolist() == done.scale[1].tolist()
    for shift in (0, 32):  # hessians, gradients
        same = (done.planes[0] >> shift) % 2**32 == (done.planes[1] >> shift) % 2**32
        assert 20 < same.sum() < 80


def test_rounding_differs_from_round_to_round_and_from_seed_to_seed():
    pairs, weight = table(100, 6)
    first = run(pairs, weight, draw=(0, 0)).planes.tolist()
    assert first != run(pairs, weight, draw=(0, 1)).planes.tolist()
    assert first != run(pairs, weight, draw=(1, 0)).planes.tolist()
    assert first == run(pairs, weight, draw=(0, 0)).planes.tolist()


# --- packed cells -----------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(0, 10**6), st.integers(0, 2**60 - 1))
def test_the_sum_of_any_packed_rows_unpacks_to_the_two_sums(n, seed, chosen):
    pairs, weight = table(n, seed, 3.0)
    done = run(pairs, weight)
    subset = np.array([bool(chosen >> i & 1) for i in range(n)])
    cell = np.array([done.planes[0, subset].sum()])
    assert quantised_hessian.function(cell, 0, 0) == done.hessian[subset].sum()
    quantised = gradient_sum.function(cell, 0, 0, done.scale) * done.scale[0, 0]
    assert quantised == done.gradient[subset].sum()


def test_a_cell_less_one_of_its_parts_is_the_other_part():
    """L4: subtraction of packed sums is exact."""
    pairs, weight = table(80, 7)
    done = run(pairs, weight)
    parent, small = done.planes[0].sum(), done.planes[0, :30].sum()
    assert quantised_hessian.function(np.array([parent - small]), 0, 0) == done.hessian[30:].sum()
    assert (parent - small) >> 32 == done.gradient[30:].sum()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_not_finite_is_noted(bad, side):
    pairs, _ = table(20)
    pairs[13, side] = bad
    assert run(pairs).info[layout.STATUS] == layout.NOT_FINITE


def test_a_weight_that_makes_a_gradient_too_large_is_noted():
    pairs, weight = table(20)
    weight[3] = 1e300
    assert run(pairs, weight).info[layout.STATUS] == layout.NOT_FINITE


def test_a_hessian_below_zero_is_noted_and_zero_is_not():
    pairs, _ = table(20)
    pairs[5, 1] = 0.0
    assert run(pairs).info[layout.STATUS] == layout.OK
    pairs[5, 1] = -1e-30
    assert run(pairs).info[layout.STATUS] == layout.NOT_FINITE


def test_the_largest_gradients_allowed_are_quantised():
    pairs, _ = table(20)
    weight = np.full(20, 2.0**200)
    done = run(pairs, weight)
    assert done.info[layout.STATUS] == layout.OK
    assert 2**29 < sum(abs(g) for g in done.gradient.tolist()) < 2**31
