"""Target statistics of categories against a slow twin."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels.encode.target_statistics import ordered_statistics, sum_targets
from sapwood.native.threads.team import current_team


def slow_ordered(codes, order, targets, weights, units, priors, a):
    """The rows before each row, looked for one by one."""
    n_columns, n = codes.shape
    out = np.empty((n_columns, priors.size, n))
    for j in range(n_columns):
        for place, row in enumerate(order):
            before = [r for r in order[:place] if codes[j, r] == codes[j, row]]
            weight = float(sum(int(weights[r]) for r in before)) * units[-1] + a
            for k in range(len(targets)):
                total = float(sum(int(targets[k, r]) for r in before)) * units[k]
                for p in range(priors.shape[1]):
                    out[j, k * priors.shape[1] + p, row] = (total + a * priors[k, p]) / weight
    return out


@pytest.fixture
def case():
    source = np.random.default_rng(3)
    n, sizes = 60, [4, 1, 9]
    codes = np.array([source.integers(0, size, n) for size in sizes], dtype=np.int32)
    order = source.permutation(n).astype(np.uint32)
    targets = source.integers(-(2**40), 2**40, (2, n))
    weights = source.integers(0, 5, n)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    units = np.array([2.0**-40, 2.0**-39, 1.0])
    return codes, order, targets, weights, start, units, np.array([[0.0, 0.5], [1.0, 0.25]])


@pytest.mark.parametrize("members", ["1", "3"])
def test_ordered_statistics_are_those_of_the_rows_before(monkeypatch, case, members):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes, order, targets, weights, start, units, priors = case
    sums = np.zeros((start[-1], 3), dtype=np.int64)
    out = np.full((3, 4, codes.shape[1]), np.nan)
    current_team(None, 10**9).run(
        ordered_statistics, codes, order, targets, weights, start, sums, units, priors, 0.7, out
    )
    np.testing.assert_array_equal(out, slow_ordered(codes, order, targets, weights, units, priors, 0.7))
    everything = np.full_like(sums, -1)
    sum_targets(codes, order, targets, weights, start, everything)
    np.testing.assert_array_equal(sums, everything)


def test_sums_are_of_the_rows_that_are_given(case):
    codes, order, targets, weights, start, _, _ = case
    rows = order[:20]
    sums = np.full((start[-1], 3), 77, dtype=np.int64)
    sum_targets(codes, rows, targets, weights, start, sums)
    for j in range(len(codes)):
        for c in range(start[j + 1] - start[j]):
            chosen = rows[codes[j, rows] == c]
            expected = [*targets[:, chosen].sum(axis=1), weights[chosen].sum()]
            assert sums[start[j] + c].tolist() == expected
