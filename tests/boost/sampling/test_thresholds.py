"""Thresholds of sampling probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.boost.sampling.thresholds import proportion_threshold
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
    amounts = random.integers(0, int(random.choice([3, 1000, 2**40])), n)
    wanted = float(random.integers(1, 64)) / 64.0 * n
    found = proportion_threshold(
        amounts.astype(np.uint64), int(amounts.max()), wanted, Team(int(random.integers(1, 4)))
    )
    assert found == pytest.approx(slow_threshold(amounts.tolist(), wanted), rel=1e-12)
    if found > 0:
        assert np.minimum(1.0, amounts / found).sum() == pytest.approx(min(wanted, np.count_nonzero(amounts)))
