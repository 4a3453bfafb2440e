"""Sparse features, against the same features in full."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.kernels.histogram import active_features, sparse_bins, subtraction
from tests.guarded import Guards

N, F = 40, 6


class Table:
    """Bins of rows that mostly are the default bin; the first feature is dense."""

    def __init__(self, seed: int) -> None:
        source = np.random.default_rng(seed)
        self.n_bins = source.integers(1, 7, F)
        self.default_bin = np.array([source.integers(0, n + 1) for n in self.n_bins])
        other = np.stack([source.integers(0, n + 1, N) for n in self.n_bins])
        self.bins = np.where(source.uniform(size=(F, N)) < 0.25, other, self.default_bin[:, None])
        self.default_bin[0] = -1
        self.rows = source.permutation(N).astype(np.uint32)
        self.pairs = source.integers(-(2**40), 2**40, (2, N))
        self.offset = np.concatenate([[0], np.cumsum(self.n_bins + 1)]).astype(np.int64)
        self.sparse = self._sparse()
        self.feature = SimpleNamespace(
            n_bins=self.n_bins, offset=self.offset, default_bin=self.default_bin, column=self.sparse.column,
            csr_start=self.sparse.start, csr_cells=self.sparse.entries, slices=np.array([0, 3, F, 0, F]),
        )  # fmt: skip
        self.feature.csc_start, self.feature.csc_rows = self._transposed()
        self.active = np.array([3, F - 3, *range(F)], dtype=np.int32)

    def _sparse(self) -> SparseBins:
        features, rows = (one.ravel() for one in np.indices(self.bins.shape))
        return SparseBins.from_entries(rows, features, self.bins.ravel(), N, self.n_bins, self.default_bin)

    def _transposed(self) -> tuple[np.ndarray, np.ndarray]:
        csc_start, csc_rows = np.full(self.offset[-1] + 1, 99), np.full(len(self.sparse.entries), 99, np.uint32)
        sparse_bins.transpose_csr(self.sparse.start, self.sparse.entries, csc_start, csc_rows)
        return csc_start, csc_rows

    def counted(self, first: int, last: int, guards: Guards) -> np.ndarray:
        """The rows of a leaf counted by two members."""
        stored = guards.array(int(self.offset[-1]), np.int32)
        nothing = np.zeros((0, 0), np.int64)
        for t in range(2):
            sparse_bins.count_sparse_leaf(self.active, t, t + 1, self.feature, self.rows, first, last, stored)
            active_features.fill_default_bins(self.active, t, t + 1, self.feature, nothing, stored, stored)
        return stored

    def slow_cells(self, first: int, last: int, values: np.ndarray) -> np.ndarray:
        """The sums of values (one per row) in every cell of every stored feature."""
        cells = np.zeros(int(self.offset[-1]), dtype=np.int64)
        for f in range(1, F):
            for k in range(first, last):
                cells[self.offset[f] + self.bins[f, self.rows[k]]] += values[self.rows[k]]
        return cells


@pytest.fixture(params=range(6))
def table(request) -> Table:
    return Table(request.param)


def test_listed_cells_and_what_they_leave_are_the_whole_histogram(table):
    n_cells, guards = int(table.offset[-1]), Guards()
    out = guards.copy(np.zeros(2 * n_cells, dtype=np.int64))
    sums = table.pairs[:, table.rows[5:33]].sum(axis=1)
    sparse_bins.add_sparse_planes(table.feature, table.rows, table.pairs, 5, 33, 0, n_cells, out)
    active_features.fill_default_bins(table.active, 0, 2, table.feature, sums, out, np.empty(0, np.int32))
    guards.check()
    for plane, values in zip(out.reshape(2, -1), table.pairs, strict=True):
        assert np.array_equal(plane, table.slow_cells(5, 33, values))


def test_members_add_the_cells_of_their_own_features_only(table):
    n_cells = int(table.offset[-1])
    low, high = int(table.offset[2]), int(table.offset[4])
    whole, part = np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.int64)
    csr_start, csr_cells = table.sparse.start, table.sparse.entries
    sparse_bins.add_sparse_plane(csr_start, csr_cells, table.rows, table.pairs[0], 0, N, 0, n_cells, whole)
    sparse_bins.add_sparse_plane(csr_start, csr_cells, table.rows, table.pairs[0], 0, N, low, high, part)
    assert np.array_equal(part[low:high], whole[low:high])
    assert not part[:low].any()
    assert not part[high:].any()


def test_rows_of_a_leaf_are_counted_in_every_bin(table):
    guards = Guards()
    stored = table.counted(3, 30, guards)
    for f in range(1, F):
        expected = np.bincount(table.bins[f, table.rows[3:30]], minlength=table.n_bins[f] + 1)
        copied = guards.array(int(table.n_bins[f]) + 1, np.int64)
        sparse_bins.copy_bin_counts(table.feature, f, 27, stored, copied)
        assert np.array_equal(copied, expected)
    guards.check()


@pytest.mark.parametrize("n", [N, N - 1])
@pytest.mark.parametrize("member", [0, 1])
def test_members_count_the_cells_of_their_own_features_only(table, member, n):
    """Others may have filled in theirs already."""
    rows = SimpleNamespace(rows=np.arange(n, dtype=np.uint32), pairs=table.pairs)
    own = np.zeros(int(table.offset[-1]), dtype=bool)
    own[table.offset[3 * member] : table.offset[3 * member + 3]] = True
    for_leaf, for_root = (np.full(len(own), 77, np.int32) for _ in range(2))
    sparse_bins.count_sparse_leaf(table.active, member, member + 1, table.feature, rows.rows, 0, n, for_leaf)
    sparse_bins.count_sparse_root(table.active, member, table.feature, rows, for_root)
    for counts in (for_leaf, for_root):
        assert (counts[~own] == 77).all()
    assert np.array_equal(for_leaf, for_root)


def test_counts_of_a_child_are_what_the_other_leaves_of_the_parent(table):
    guards = Guards()
    large, small, expected = (table.counted(*span, guards) for span in ((3, 30), (3, 12), (12, 30)))
    subtracted, nothing = guards.copy(large), np.zeros((0, 0), np.int64)
    subtraction.subtract_active(table.active, 0, 2, table.feature.slices, table.offset, 1, small, large)
    sparse_bins.count_sparse_rows(table.feature, table.rows, 3, 12, -1, 0, int(table.offset[-1]), subtracted)
    active_features.fill_default_bins(table.active, 0, 2, table.feature, nothing, subtracted, subtracted)
    guards.check()
    assert np.array_equal(large, expected)
    assert np.array_equal(subtracted, expected)


@pytest.mark.parametrize("n", [N, N - 1])
def test_the_root_is_counted_like_any_leaf(table, n):
    """All rows are counted beforehand."""
    guards = Guards()
    stored = guards.array(int(table.offset[-1]), np.int32)
    rows = SimpleNamespace(rows=np.sort(table.rows)[:n], pairs=table.pairs)
    for t in range(2):
        sparse_bins.count_sparse_root(table.active, t, table.feature, rows, stored)
    guards.check()
    for f in range(1, F):
        bins = table.bins[f, :n]
        expected = np.bincount(bins[bins != table.default_bin[f]], minlength=table.n_bins[f] + 1)
        assert np.array_equal(stored[table.offset[f] : table.offset[f + 1]], expected)


def test_nothing_is_counted_where_there_is_no_room(table):
    nothing = np.empty(0, dtype=np.int32)
    sparse_bins.count_sparse_leaf(table.active, 0, 2, table.feature, table.rows, 0, N, nothing)
    sparse_bins.count_sparse_root(
        table.active, 0, table.feature, SimpleNamespace(rows=table.rows, pairs=table.pairs), nothing
    )


def test_the_rows_of_every_cell_are_listed(table):
    guards = Guards()
    csc_start = guards.array(int(table.offset[-1]) + 1, np.int64)
    csc_rows = guards.array(len(table.sparse.entries), np.uint32)
    sparse_bins.transpose_csr(table.sparse.start, table.sparse.entries, csc_start, csc_rows)
    guards.check()
    assert csc_start[-1] == len(csc_rows)
    for f in range(F):
        for b in range(table.n_bins[f] + 1):
            cell = table.offset[f] + b
            is_stored = table.default_bin[f] >= 0 and b != table.default_bin[f]
            expected = np.flatnonzero(table.bins[f] == b) if is_stored else []
            assert csc_rows[csc_start[cell] : csc_start[cell + 1]].tolist() == list(expected)


@pytest.mark.parametrize("bisection", [0, 32])
def test_a_column_is_unpacked_to_its_bins(table, bisection, monkeypatch):
    """Row by row, or from the rows that list it."""
    monkeypatch.setattr(sparse_bins, "BISECTION_COST", bisection)
    for f in range(1, F):
        guards = Guards()
        out = guards.array(N, np.uint16)
        sparse_bins.decode_feature(table.feature, f, table.rows, 4, 31, out)
        guards.check()
        rows = table.rows[4:31]
        assert np.array_equal(out[rows], table.bins[f, rows])
