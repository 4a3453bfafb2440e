"""What is done to the cells of some features alone."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sapwood.kernels.histogram import active_features as live
from tests.guarded import Guards

N_PLANES = 2


class Line:
    """A line of features of three members, one of whom may have none, and cells full of garbage."""

    def __init__(self, seed: int) -> None:
        source = np.random.default_rng(seed)
        n = int(source.integers(3, 12))
        self.guards = Guards()
        self.n_bins = source.integers(1, 6, n)
        room = np.where(source.uniform(size=n) < 0.2, 0, self.n_bins + 1 + source.integers(0, 2, n))
        self.start = np.concatenate([[0], np.cumsum(room)])
        self.n_cells = int(self.start[-1])
        first, second = np.sort(source.integers(0, n + 1, 2))
        self.share = np.array([0, first, second, n, 0, n])
        is_live = (room > 0) & (source.uniform(size=n) < 0.6)
        self.usual = np.array([source.integers(-1, bins + 1) for bins in self.n_bins])
        self.live = self.guards.array(3 + n, np.int32)
        self.features = []
        for t, (a, e) in enumerate(pairwise(self.share[:4].tolist())):
            found = a + np.flatnonzero(is_live[a:e])
            self.live[t] = len(found)
            self.live[3 + a : 3 + a + len(found)] = found
            self.features.append(found.tolist())

    def cells(self) -> np.ndarray:
        return self.guards.array(N_PLANES * self.n_cells, np.int64)

    def places(self, f: int) -> list[int]:
        """The cells of a feature in all planes."""
        return [p * self.n_cells + j for p in range(N_PLANES) for j in range(self.start[f], self.start[f + 1])]

    def between(self, from_lane: int, to_lane: int) -> np.ndarray:
        """Tell which cells lie between live ones of the same lane, but belong to other features: they may change."""
        found = np.zeros((N_PLANES, self.n_cells), dtype=bool)
        for features in self.features[from_lane:to_lane]:
            if features:
                found[:, self.start[features[0]] : self.start[features[-1] + 1]] = True
        found = found.ravel()
        for f in self.some(from_lane, to_lane):
            found[self.places(f)] = False
        return found

    def some(self, from_lane: int, to_lane: int) -> list[int]:
        return [f for lane in range(from_lane, to_lane) for f in self.features[lane]]


@pytest.fixture(params=range(12))
def line(request, monkeypatch) -> Line:
    """With gaps of some cells, or none, taken along."""
    monkeypatch.setattr(live, "MAX_GAP", request.param % 4)
    return Line(request.param)


@pytest.fixture(params=[(0, 3), (1, 2), (2, 3)], ids=str)
def lanes(request) -> tuple[int, int]:
    return request.param


def test_cells_of_live_features_are_cleared_and_none_of_other_lanes(line, lanes):
    cells = line.cells()
    expected = cells.copy()
    for f in line.some(*lanes):
        expected[line.places(f)] = 0
    live.clear_active(line.live, *lanes, line.share, line.start, N_PLANES, cells)
    line.guards.check()
    counts = ~line.between(*lanes)
    assert np.array_equal(cells[counts], expected[counts])


@np.errstate(all="ignore")
def test_the_larger_child_is_the_parent_less_the_smaller(line, lanes):
    """L4: parent − child is the other child, cell by cell."""
    small, large = line.cells(), line.cells()
    expected = large.copy()
    for f in line.some(*lanes):
        expected[line.places(f)] -= small[line.places(f)]
    live.subtract_active(line.live, *lanes, line.share, line.start, N_PLANES, small, large)
    line.guards.check()
    counts = ~line.between(*lanes)
    assert np.array_equal(large[counts], expected[counts])


@np.errstate(all="ignore")
def test_usual_bins_get_what_others_leave(line, lanes):
    cells, counts = line.cells(), line.guards.array(line.n_cells, np.int32)
    sums = np.array([12345, -(2**50)])
    expected, totals = cells.copy(), counts.copy()
    feature = SimpleNamespace(offset=line.start, slices=line.share, default_bin=line.usual, n_bins=line.n_bins)
    for f in line.some(*lanes):
        if line.usual[f] < 0:
            continue
        others = [line.start[f] + b for b in range(line.n_bins[f] + 1) if b != line.usual[f]]
        for p in range(N_PLANES):
            usual = p * line.n_cells + line.start[f] + line.usual[f]
            expected[usual] = sums[p] - sum(expected[p * line.n_cells + cell] for cell in others)
        totals[line.start[f] + line.usual[f]] = sum(counts[cell] for cell in others)
    live.fill_default_bins(line.live, *lanes, feature, sums, cells, counts)
    line.guards.check()
    assert np.array_equal(cells, expected)
    assert np.array_equal(counts, totals)
