"""Histograms: building and merging, against dictionaries of sums."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.binning.tiles import tile_width
from sapwood.kernels.histogram import dense_bins
from sapwood.kernels.layout import FEATURE_STRIDE
from tests.guarded import Guards


class Table:
    """Bins of some rows in tiles, with integers to add up in one or more planes.

    The cells of the first ``regular`` features begin ``FEATURE_STRIDE`` apart.
    """

    def __init__(
        self, n_rows: int, n_features: int, n_planes: int, dtype: type = np.uint8, seed: int = 0, regular: int = 0
    ) -> None:
        source = np.random.default_rng(seed)
        self.n_bins = source.integers(1, 9, n_features)
        self.bins = np.stack([source.integers(0, n + 1, n_rows) for n in self.n_bins], axis=1)
        width = tile_width(n_features, np.dtype(dtype))
        self.tiles = np.zeros((-(-n_features // width), n_rows, width), dtype=dtype)
        for f in range(n_features):
            self.tiles[f // width, :, f % width] = self.bins[:, f]
        self.words, self.bits = self.tiles.view(np.uint64), 3 if dtype is np.uint8 else 4
        sizes = np.where(np.arange(n_features) < regular, FEATURE_STRIDE, self.n_bins + 1)
        self.start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_cells = int(self.start[-1])
        self.order = source.permutation(n_rows).astype(np.uint32)
        self.pairs = source.integers(-(2**62), 2**62, (n_planes, n_rows))  # sums wrap, and must all the same be right

    def slow_sums(self, first: int, last: int, features: range) -> dict[int, int]:
        """The cells of some features, as the sum of all rows at some positions."""
        sums: dict[int, int] = defaultdict(int)
        for p in range(len(self.pairs)):
            for f in features:
                for cell in range(int(self.start[f]), int(self.start[f + 1])):
                    sums[p * self.n_cells + cell] = 0
                for k in range(first, last):
                    cell = p * self.n_cells + int(self.start[f]) + int(self.bins[self.order[k], f])
                    sums[cell] += int(self.pairs[p, self.order[k]])
        return {cell: (total + 2**63) % 2**64 - 2**63 for cell, total in sums.items()}


def check_cells(cells: np.ndarray, before: np.ndarray, expected: dict[int, int]) -> None:
    """The expected cells hold their sums and all others what they held before."""
    for cell, value in enumerate(cells.tolist()):
        assert value == expected.get(cell, int(before[cell])), cell


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 3), st.sampled_from([np.uint8, np.uint16]), st.data())
def test_some_rows_are_added_to_some_features_and_nothing_else_is_touched(n, n_features, n_planes, dtype, data):
    table = Table(
        n, n_features, n_planes, dtype, n, regular=data.draw(st.integers(0, n_features)) if dtype is np.uint8 else 0
    )
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    from_feature = data.draw(st.integers(0, n_features))
    to_feature = data.draw(st.integers(from_feature, n_features))
    guards = Guards()
    cells = guards.array(n_planes * table.n_cells, np.int64)
    before = cells.copy()
    with np.errstate(all="ignore"):
        for p in range(n_planes):
            begin = p * table.n_cells
            dense_bins.clear_cells(cells, begin + table.start[from_feature], begin + table.start[to_feature])
        dense_bins.add_planes(
            table.words, table.order, table.pairs, first, last, from_feature, to_feature, table.bits, table.start, cells
        )
    guards.check()
    check_cells(cells, before, table.slow_sums(first, last, range(from_feature, to_feature)))


def check_sums(table: Table, n: int, from_feature: int, to_feature: int) -> None:
    """Add the first n positions to some features, and compare with the slow sums."""
    cells = np.zeros(len(table.pairs) * table.n_cells, np.int64)
    with np.errstate(all="ignore"):
        dense_bins.add_planes(
            table.words, table.order, table.pairs, 0, n, from_feature, to_feature, table.bits, table.start, cells
        )
    check_cells(cells, np.zeros_like(cells), table.slow_sums(0, n, range(from_feature, to_feature)))


@pytest.mark.parametrize("n_features", [*range(1, 9), 20])
def test_any_features_of_one_word_or_three_are_added(n_features):
    table = Table(5, n_features, 1)
    for from_feature in range(n_features):
        for to_feature in range(from_feature + 1, n_features + 1):
            check_sums(table, 5, from_feature, to_feature)


@pytest.mark.parametrize("n_regular", [7, 8, 11, 12, 16, 20, 24, 28, 31, 32])
@pytest.mark.parametrize("n_more", [0, 1, 3, 4, 9])
def test_features_at_even_distances_and_others_behind_them_are_added(n_regular, n_more):
    check_sums(Table(5, n_regular + n_more, 1, regular=n_regular), 5, 0, n_regular + n_more)


@pytest.mark.parametrize(("n_regular", "n_features", "n_planes"), [(8, 10, 1), (0, 3, 2), (8, 10, 2)])
def test_every_row_of_several_blocks_is_added(n_regular, n_features, n_planes):
    n = 2 * dense_bins.BLOCK + 9
    check_sums(Table(n, n_features, n_planes, regular=n_regular), n, 0, n_features)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_parts_are_merged_for_some_features_and_nothing_else_is_touched(parts):
    table, guards = Table(10, 6, 2), Guards()
    work = guards.array((parts, 2 * table.n_cells), np.int64)
    cells = guards.array(2 * table.n_cells, np.int64)
    before, expected = cells.copy(), {}
    for p in range(2):
        for cell in range(p * table.n_cells + table.start[2], p * table.n_cells + table.start[5]):
            total = sum(work[:, cell].tolist())
            expected[cell] = (total + 2**63) % 2**64 - 2**63
    with np.errstate(all="ignore"):
        dense_bins.merge_partials(work, parts, cells, 2, 5, table.start, 2)
    guards.check()
    check_cells(cells, before, expected)
