"""Searching the features of a leaf: which may be split there, and the largest gain of each."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.split import histogram_search, numeric_vectorized
from sapwood.kernels.split.numeric import scan_feature

PARAMS = layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | {"min_child_weight": 0.5, "reg_lambda": 1.0})
SCALES = layout.Scales(np.array([[16.0, 32.0]]), np.ones((1, 2)), np.array([[1, 2**20]]))


def packed(gradients: np.ndarray, hessians: np.ndarray) -> np.ndarray:
    return (gradients << 32) + hessians


@pytest.mark.parametrize("wide", [0, 1])
def test_a_feature_may_be_split_where_enough_rows_and_hessian_are_beside_the_default_bin(wide):
    features = SimpleNamespace(default_bin=np.array([-1, 1, 2]), offset=np.array([0, 3, 6, 10]))
    total, default_cell = (90, 50) if wide else (packed(-5, 90), packed(-3, 50))
    cells = np.zeros(10, np.int64)
    cells[[4, 8]] = default_cell
    stored = np.array([0, 0, 0, 0, 7, 0, 0, 0, 6, 0], dtype=np.int32)
    nothing = np.empty(0, np.int32)

    def found(min_quantised: float, min_rows: int, counts: np.ndarray) -> list[bool]:
        leaf = cells, total, wide, min_quantised
        return [bool(histogram_search.can_split_feature(*leaf, f, features, min_rows, counts)) for f in range(3)]

    assert found(40.0, 6, stored) == [True, True, True]
    assert found(40.0, 7, stored) == [True, True, False]
    assert found(40.0, 99, nothing) == [True, True, True]
    assert found(40.5, 0, stored) == [True, False, False]


def test_wide_hessians_are_compared_as_a_whole_and_packed_ones_without_their_gradients():
    features = SimpleNamespace(default_bin=np.array([0]), offset=np.array([0, 2]))
    cells, stored = np.array([50, 0]), np.empty(0, np.int32)
    assert histogram_search.can_split_feature(cells, 2**33 + 50, 1, 2.0**33, 0, features, 1, stored)
    assert not histogram_search.can_split_feature(cells, packed(7, 89), 0, 40.0, 0, features, 1, stored)


class Leaf:
    """Features of few and many bins, with and without missing values, some stored in few rows, for two members."""

    def __init__(self, seed: int) -> None:
        source = np.random.default_rng(seed)
        n = 9
        n_bins = source.integers(1, 2 * histogram_search.FEW_BINS, n)
        start = np.concatenate([[0], np.cumsum(n_bins + 1)])
        self.histogram = np.empty(start[-1], np.int64)
        for f in range(n):
            rows = source.multinomial(200, source.dirichlet(np.ones(n_bins[f] + 1) * 0.5))
            rows[0] = rows[0] if f % 3 == 0 else 0
            rows[-1] += 200 - rows.sum()
            cells = packed(source.integers(-40, 40, n_bins[f] + 1) * rows, 16 * rows)
            self.histogram[start[f] : start[f + 1]] = cells
            cells[-1] += packed(0, 0) if f == 0 else self.histogram[: start[1]].sum() - cells.sum()
            self.histogram[start[f] : start[f + 1]] = cells
        self.sums = self.histogram[: start[1]].sum(keepdims=True)
        self.features = SimpleNamespace(
            n_bins=n_bins, offset=start, slices=np.array([0, 4, n, 0, n]), category_kind=np.zeros(n, np.int64),
            default_bin=np.where(np.arange(n) % 2 == 1, n_bins, -1), monotone=np.zeros(n, np.int64),
        )  # fmt: skip
        self.stored = np.zeros(start[-1], np.int32)
        self.stored[(start[:-1] + self.features.default_bin)[1::2]] = source.integers(5, 12, n // 2)
        self.allowed = source.uniform(size=n) < 0.8
        self.params = PARAMS._replace(min_child_samples=8)
        self.candidates = layout.SplitCandidates(
            gain=np.full((1, n), 99.0),
            split=np.full((1, n, layout.CANDIDATE_SUMS + 1), 99),
            limits=np.array([[1, 1 << 40] * 4]),
            allowed=self.allowed[None].astype(np.uint8),
            n_left=np.zeros((1, 8), np.int64),
            schedule=np.zeros(8, np.int64),
        )
        self.buffer = np.zeros(200, np.int64)

    def is_rare(self, f: int) -> bool:
        default_cell = self.features.default_bin[f]
        if default_cell < 0:
            return False
        cell = self.features.offset[f] + default_cell
        hessian = ((self.sums[0] - self.histogram[cell]) & 0xFFFFFFFF) / 32.0
        return bool(self.stored[cell] < 8 or hessian < 0.5)

    def gain(self, f: int) -> float:
        """Return the gain by the scan of any feature."""
        candidate, limits = np.zeros(layout.CANDIDATE_SUMS + 1, np.int64), self.candidates.limits[0]
        arguments = self.histogram, f, self.features, self.sums, -np.inf, np.inf, limits, self.params, SCALES
        return float(scan_feature(*arguments, self.buffer, candidate))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("in_place", [False, True])
@np.errstate(all="ignore")
def test_features_that_may_be_split_are_kept_and_searched(seed, in_place):
    leaf = Leaf(seed)
    parent_active = np.array([3, 5, 0, 1, 3, 99, 4, 5, 6, 7, 8], dtype=np.int32)
    active = parent_active if in_place else np.full(11, 77, np.int32)
    new = layout.NewLeaf(0, 200, 0, 0, 0, leaf.sums, -np.inf, np.inf)
    histograms = SimpleNamespace(pool=[leaf.histogram], active=[active], sparse_counts=[leaf.stored])
    state = SimpleNamespace(
        features=leaf.features, params=leaf.params, scales=SCALES, candidates=leaf.candidates, histograms=histograms
    )
    for t in range(2):
        histogram_search.search_features(t, t + 1, 0, new, parent_active, leaf.buffer, state)
    expected = [[f for f in features if not leaf.is_rare(f)] for features in ([0, 1, 3], [4, 5, 6, 7, 8])]
    assert active[2 : 2 + active[0]].tolist() == expected[0]
    assert active[6 : 6 + active[1]].tolist() == expected[1]
    gains = leaf.candidates.gain[0]
    assert gains[2] == 99.0
    for f in expected[0] + expected[1]:
        assert gains[f] == (leaf.gain(f) if leaf.allowed[f] else 0.0)
        assert not leaf.allowed[f] or leaf.candidates.split[
            0, f, [layout.CANDIDATE_COUNTED, layout.CANDIDATE_BIN]
        ].tolist() == [0, 0]


@np.errstate(all="ignore")
def test_features_of_wide_leaves_are_kept_by_their_hessians_and_searched():
    """The second feature has large gradients beside its default bin, but a hessian of 10 where it needs 16."""
    gradients = np.array([0, 300, -500, 100, 0, -900, 800, 0, -150, 50])
    hessians = np.array([0, 40, 60, 20, 0, 110, 10, 0, 50, 70])
    features = SimpleNamespace(
        n_bins=np.array([3, 2, 2]), offset=np.array([0, 4, 7, 10]), slices=np.array([0, 3, 0, 3]),
        category_kind=np.zeros(3, np.int64), default_bin=np.array([-1, 1, 2]), monotone=np.zeros(3, np.int64),
    )  # fmt: skip
    found = layout.SplitCandidates(
        np.full((1, 3), 99.0), np.full((1, 3, layout.CANDIDATE_SUMS + 2), 99), np.array([[1, 1 << 40] * 4]),
        np.ones((1, 3), np.uint8), np.zeros((1, 8), np.int64), np.zeros(8, np.int64),
    )  # fmt: skip
    params, active, buffer = PARAMS._replace(wide=1), np.full(4, 77, np.int32), np.zeros(200, np.int64)
    histogram, sums = np.concatenate([gradients, hessians]), np.array([-100, 120])
    new = layout.NewLeaf(0, 200, 0, 0, 0, sums, -np.inf, np.inf)
    histograms = SimpleNamespace(pool=[histogram], active=[active], sparse_counts=[np.empty(0, np.int32)])
    state = SimpleNamespace(features=features, params=params, scales=SCALES, candidates=found, histograms=histograms)
    histogram_search.search_features(0, 1, 0, new, np.array([3, 0, 1, 2], dtype=np.int32), buffer, state)
    assert active[:3].tolist() == [2, 0, 2]
    for f in (0, 2):
        candidate, arguments = (
            np.zeros(layout.CANDIDATE_SUMS + 2, np.int64),
            (histogram, f, features, sums, -np.inf, np.inf),
        )
        gain = scan_feature(*arguments, found.limits[0], params, SCALES, buffer, candidate)
        assert found.gain[0, f] == gain > 0.0


@pytest.mark.parametrize("n_bins", range(1, 9))
@np.errstate(all="ignore")
def test_split_by_split_the_largest_score_is_the_same(n_bins):
    source = np.random.default_rng(n_bins)
    for _ in range(30):
        cells = packed(source.integers(-500, 500, n_bins + 2), source.integers(0, 90, n_bins + 2))
        total = cells[2:].sum()
        numbers = (float(total >> 32) / 16.0, float(total & 0xFFFFFFFF) / 32.0, 0.5, 1.0, 1.0 / 16.0, 1.0 / 32.0)
        sums = np.cumsum(cells[2 : n_bins + 1])
        expected = numeric_vectorized.max_score(sums, 0, n_bins - 1, *numbers)
        assert numeric_vectorized.max_score_few_bins(cells, 1, n_bins, *numbers) == expected
