"""Sums in fixed point: exact, and independent of order, partition and threads."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.kernels.numeric import sums
from sapwood.kernels.numeric.sums import fixed_fractions, fixed_mean, fixed_sum, fixed_sums
from tests.distributed.worker_threads import run_on_rows

NUMBERS = st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=60)


def run_on_three(kernel, *args):
    """Run a kernel's members one after the other (these kernels have no barrier)."""
    with np.errstate(all="ignore"):
        for member in (2, 0, 1):
            kernel.function(member, 3, None, *args)


@given(NUMBERS, st.randoms())
def test_the_order_of_terms_does_not_matter(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert fixed_sum(np.array(values)) == fixed_sum(np.array(shuffled))


@given(NUMBERS)
def test_the_sum_is_exact_to_the_last_bits_of_the_largest_term(values):
    error = abs(Fraction(fixed_sum(np.array(values))) - sum(Fraction(v) for v in values))
    assert error <= Fraction(max(map(abs, values))) / 2**90 + Fraction(math.ulp(math.fsum(values))) * Fraction(1, 2)


def test_weights_multiply_the_values():
    assert fixed_sum(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.0, 2.0])) == 6.5


def test_the_mean_of_a_constant_is_the_constant():
    assert fixed_mean(np.full(10_007, 0.1)) == 0.1


def test_the_mean_divides_by_the_weights():
    assert fixed_mean(np.array([1.0, 4.0]), np.array([1.0, 2.0])) == 3.0


def test_a_mean_without_weight_is_not_a_number():
    assert math.isnan(fixed_mean(np.array([1.0]), np.array([0.0])))
    assert math.isnan(fixed_mean(np.array([])))


def test_a_team_gives_the_bits_of_one_thread():
    random = np.random.default_rng(1)
    values, weights = random.normal(size=20_000) * np.exp(random.normal(size=20_000) * 5), random.uniform(size=20_000)
    alone = fixed_sum(values, weights)
    assert fixed_sum(values, weights, run=run_on_three) == alone
    assert alone == pytest.approx(math.fsum(values * weights), rel=1e-15)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 0.0),
        ([0.0, -0.0], 0.0),
        ([1e-300, 1e-300], 2e-300),
        ([1e308, 1e308], math.inf),
        ([-1e308, -1e308], -math.inf),
        ([1e308, 1.0, -1e308], 0.0),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([1e16, 1.0, -1e16], 1.0),
    ],
)
def test_extreme_terms(values, expected):
    assert fixed_sum(np.array(values)) == expected


@pytest.mark.parametrize("values", [[math.nan, 1.0], [math.inf, -math.inf], [math.nan, math.inf]])
def test_what_has_no_sum_gives_nan(values):
    assert math.isnan(fixed_sum(np.array(values)))


def test_a_chunk_of_the_largest_terms_does_not_overflow():
    n = 3 * sums.CHUNK + 1
    values = np.full(n, np.nextafter(1.0, 0.0))
    assert fixed_sum(values) == float(Fraction(float(values[0])) * n)


def test_the_kernels_give_the_bits_of_plain_python():
    random = np.random.default_rng(2)
    values, weights = random.normal(size=5000), random.uniform(size=5000)
    compiled, plain = np.full((2, 2), 7, dtype=np.int64), np.full((2, 2), 9, dtype=np.int64)
    sums.sum_products(values, weights, 2.0**45, compiled)
    sums.sum_products.function(0, 1, None, values, weights, 2.0**45, plain)
    np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("exponent", [-1073, -1000, -970, -3, 0, 40, 970])
@pytest.mark.parametrize("n", [1, 2, 5000])
def test_one_call_for_few_terms_gives_the_bits_of_one_call_per_step(monkeypatch, n, exponent):
    values = np.ldexp(np.random.default_rng(n).normal(size=n), exponent)
    weights = np.random.default_rng(3).uniform(size=n)
    few = fixed_sum(values), fixed_sum(values, weights), fixed_mean(values, weights)
    monkeypatch.setattr(sums, "MAX_FEW", 0)
    assert few == (fixed_sum(values), fixed_sum(values, weights), fixed_mean(values, weights))


EXTREME = [1e308, -1e308, 1e-300, 5e-324, 3.0, -0.0, 1e16]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("values", [EXTREME, [math.inf, 1.0], [math.nan, 2.0], [], [7.0]], ids=str)
def test_workers_with_some_of_the_terms_each_get_the_sum_of_all(values, size):
    values = np.array(values, dtype=np.float64)
    weights = np.linspace(0.1, 1.0, len(values))
    one, two = np.array([fixed_sum(values, weights), fixed_mean(values, weights)]), fixed_mean(values)

    def work(rows, workers):
        both = (
            fixed_sum(values[rows], weights[rows], workers=workers),
            fixed_mean(values[rows], weights[rows], workers=workers),
        )
        return [*both, fixed_mean(values[rows], workers=workers)]

    for found in run_on_rows(size, len(values), work):
        np.testing.assert_array_equal(found, [*one, two])


def test_workers_add_up_more_than_64_bits():
    values = np.full(2**17, np.nextafter(1.0, 0.0)) * np.where(np.arange(2**17) % 5, 1.0, -1.0)
    for found in run_on_rows(3, len(values), lambda rows, workers: fixed_sum(values[rows], workers=workers)):
        assert found == fixed_sum(values)


def test_fractions_are_the_means_of_indicators():
    random = np.random.default_rng(4)
    code, weights = random.integers(0, 4, 500), random.exponential(size=500) * 10.0 ** random.integers(-8, 8, 500)
    parts = [weights[code == k] for k in range(5)]
    expected = [fixed_mean((code == k).astype(float), weights) for k in range(5)]
    assert fixed_fractions(weights, parts) == expected
    for found in run_on_rows(
        3,
        500,
        lambda rows, workers: fixed_fractions(
            weights[rows], [weights[rows][code[rows] == k] for k in range(5)], workers=workers
        ),
    ):
        assert found == expected


def test_several_sums_take_two_exchanges():
    terms = [(np.arange(9.0) + k, np.arange(9.0)) for k in range(4)]

    def work(rows, workers):
        found = fixed_sums([(values[rows], weights[rows]) for values, weights in terms], workers=workers)
        return found, sum(workers.communicator.exchanges.values())

    assert run_on_rows(2, 9, work) == [(fixed_sums(terms), 2)] * 2
