"""Active features of a histogram, for the tests of what is done to their cells."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sapwood.kernels.histogram import active_features
from tests.guarded import Guards

N_PLANES = 2


class ActiveCells:
    """The active features of three slices, one of which may have none, and cells full of garbage."""

    def __init__(self, seed: int) -> None:
        source = np.random.default_rng(seed)
        n = int(source.integers(3, 12))
        self.guards = Guards()
        self.n_bins = source.integers(1, 6, n)
        size = np.where(source.uniform(size=n) < 0.2, 0, self.n_bins + 1 + source.integers(0, 2, n))
        self.offset = np.concatenate([[0], np.cumsum(size)])
        self.n_cells = int(self.offset[-1])
        first, second = np.sort(source.integers(0, n + 1, 2))
        self.slices = np.array([0, first, second, n, 0, n])
        is_active = (size > 0) & (source.uniform(size=n) < 0.6)
        self.default_bin = np.array([source.integers(-1, bins + 1) for bins in self.n_bins])
        self.row = self.guards.array(3 + n, np.int32)
        self.features = []
        for t, (a, e) in enumerate(pairwise(self.slices[:4].tolist())):
            found = a + np.flatnonzero(is_active[a:e])
            self.row[t] = len(found)
            self.row[3 + a : 3 + a + len(found)] = found
            self.features.append(found.tolist())

    def cells(self) -> np.ndarray:
        return self.guards.array(N_PLANES * self.n_cells, np.int64)

    def cells_of(self, f: int) -> list[int]:
        """The cells of a feature in all planes."""
        return [p * self.n_cells + j for p in range(N_PLANES) for j in range(self.offset[f], self.offset[f + 1])]

    def between(self, from_slice: int, to_slice: int) -> np.ndarray:
        """Return which cells of other features lie between active ones of the same slice: they may change."""
        found = np.zeros((N_PLANES, self.n_cells), dtype=bool)
        for features in self.features[from_slice:to_slice]:
            if features:
                found[:, self.offset[features[0]] : self.offset[features[-1] + 1]] = True
        found = found.ravel()
        for f in self.features_of(from_slice, to_slice):
            found[self.cells_of(f)] = False
        return found

    def features_of(self, from_slice: int, to_slice: int) -> list[int]:
        return [f for t in range(from_slice, to_slice) for f in self.features[t]]


@pytest.fixture(params=range(12))
def active(request, monkeypatch) -> ActiveCells:
    """With gaps of some cells, or none, that are processed too."""
    monkeypatch.setattr(active_features, "MAX_GAP", request.param % 4)
    return ActiveCells(request.param)


@pytest.fixture(params=[(0, 3), (1, 2), (2, 3)], ids=str)
def span(request) -> tuple[int, int]:
    return request.param
