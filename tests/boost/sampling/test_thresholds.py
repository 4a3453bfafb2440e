"""Thresholds of sampling probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.boost.sampling.thresholds import MAX_SORTED, ProportionSearch
from sapwood.kernels.sampling.row_sampling import is_below_wanted
from sapwood.native.threads.team import Team


def slow_threshold(amounts: list[int], wanted: float) -> float:
    """Try every split into rows that are certain and rows that are not."""
    ordered = sorted(amounts)
    for j in range(len(ordered), 0, -1):
        short = wanted - (len(ordered) - j)
        if short > 0:
            found = sum(ordered[:j]) / short
            if ordered[j - 1] <= found and (j == len(ordered) or found < ordered[j]):
                return found
    return 0.0


@pytest.mark.parametrize("seed", range(30))
def test_the_threshold_of_chances_is_exact(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 60))
    amounts = random.integers(0, int(random.choice([3, 1000, 2**40, 2**56])), n)
    wanted = float(random.integers(1, 64)) / 64.0 * n
    search = ProportionSearch(Team(int(random.integers(1, 4))))
    found = search.threshold(amounts.astype(np.uint64), int(amounts.max()), wanted)
    assert found == pytest.approx(slow_threshold(amounts.tolist(), wanted), rel=1e-12)
    if found > 0:
        assert np.minimum(1.0, amounts / found).sum() == pytest.approx(min(wanted, np.count_nonzero(amounts)))


def test_many_equal_digits_are_counted_digit_by_digit():
    random = np.random.default_rng(1)
    amounts = (2**45 + random.integers(0, 2**28, 3 * MAX_SORTED // 2)).astype(np.uint64)
    amounts[::100] = 2**46 - 1
    found = ProportionSearch(Team(2)).threshold(amounts, 2**46, 0.9 * len(amounts))
    assert found == pytest.approx(slow_threshold(amounts.tolist(), 0.9 * len(amounts)), rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_products_of_more_than_64_bits_are_compared_exactly(seed):
    random = np.random.default_rng(seed)
    start, wanted = int(random.integers(1, 2**51)), int(random.integers(1, 2**52))
    n_from = min((wanted >> 20) + int(random.integers(0, 2)), (2**62) // start)
    near = max(0, (wanted * start >> 20) - n_from * start)
    for below in {max(0, near + step) for step in (-1, 0, 1)}:
        if n_from * start + below < 2**63:
            expected = (n_from * start + below) << 20 < wanted * start
            assert is_below_wanted(n_from, below, np.uint64(start), wanted) == expected
