"""Target statistics of categories against a slow twin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sapwood.kernels.encode.target_statistics import bin_ordered_statistics, ordered_statistics, sum_targets
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


def slow_bins(by_order, everything, units, priors, a, n_bins):
    """Bins of equal width between the smallest and the largest value, as NumPy finds them."""
    n_columns, n_statistics, n_rows = by_order[0].shape
    out, edges = np.empty((len(by_order), n_columns, n_statistics, n_rows), dtype=np.uint8), []
    for j, sums in enumerate(everything):
        for q in range(n_statistics):
            k, p = divmod(q, priors.shape[1])
            new = (sums[:, k] * units[k] + a * priors[k, p]) / (sums[:, -1] * units[-1] + a)
            values = np.concatenate([new, *(one[j, q] for one in by_order)])
            edges.append(np.unique(np.linspace(values.min(), values.max(), n_bins + 1)[1:-1]))
            for s, one in enumerate(by_order):
                out[s, j, q] = 1 + np.searchsorted(edges[-1], one[j, q])
    return out, edges


@pytest.mark.parametrize("members", ["1", "3"])
@pytest.mark.parametrize("n_bins", [2, 16, 255])
@pytest.mark.parametrize("case_name", ["several targets", "one target", "constant", "nearly constant"])
def test_bins_of_ordered_statistics_are_of_equal_width(monkeypatch, case, members, n_bins, case_name):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    codes, order, targets, weights, start, units, priors = case
    if case_name != "several targets":
        targets, units, priors = targets[:1], units[[0, 2]], priors[:1]
    if "constant" in case_name:  # all statistics are the prior, or differ from it by some units in the last place
        targets, weights, priors = np.zeros_like(targets), np.ones_like(weights), np.array([[0.0, 1.0]])
        units = np.array([2.0**-54, 2.0**-50])
        targets[:, ::2] = case_name == "nearly constant"
        priors[:, 0] = 1.0
    orders = np.array([order, order[::-1]])
    integers = np.concatenate([targets, weights[None]])
    n_statistics, n, sums = priors.size, len(order), np.full(len(integers) * start[-1], 77)
    totals, values = np.full((2, 2 * len(integers), n), np.nan), np.full((2, 2, n), np.nan)
    edges, n_edges = np.full((3, n_statistics, n_bins + 1), np.nan), np.full((3, n_statistics), -1)
    out = np.full((2, 3, n_statistics, n), 77, dtype=np.uint8)
    current_team(None, 10**9).run(
        bin_ordered_statistics, codes, orders, np.stack([integers.take(one, axis=1) for one in orders]), start, sums,
        units, priors, 0.7, totals, values, edges, n_edges, out,
    )  # fmt: skip
    everything = np.empty((start[-1], len(integers)), dtype=np.int64)
    sum_targets(codes, order, targets, weights, start, everything)
    np.testing.assert_array_equal(sums.reshape(everything.shape), everything)
    by_order = [slow_ordered(codes, one, targets, weights, units, priors, 0.7) for one in orders]
    split = [everything[a:b] for a, b in itertools.pairwise(start)]
    expected, expected_edges = slow_bins(by_order, split, units, priors, 0.7, n_bins)
    np.testing.assert_array_equal(out, expected)
    for row, k, one in zip(edges.reshape(-1, n_bins + 1), n_edges.reshape(-1), expected_edges, strict=True):
        np.testing.assert_array_equal(row[1 : 1 + k], one)
