"""Histograms of a few features, read column by column, against dictionaries of sums."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels.histogram import column_bins
from sapwood.kernels.layout import RowPartition
from tests.guarded import Guards
from tests.kernels.histogram.test_dense_bins import Table, check_cells

N_FEATURES = 7


@settings(max_examples=40)
@given(
    st.integers(1, 40), st.integers(1, 3), st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True), st.data()
)
def test_a_few_features_are_built_from_some_rows_and_nothing_else_is_touched(n, n_planes, chosen, data):
    table = Table(n, N_FEATURES, n_planes, seed=n)
    column_of = np.random.default_rng(n).permutation(N_FEATURES)
    columns = np.empty((N_FEATURES, n), np.uint8)
    columns[column_of] = table.bins.T
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    guards = Guards()
    cells = guards.array(n_planes * table.n_cells, np.int64)
    before, expected = cells.copy(), {}
    for f in chosen:
        expected |= table.slow_sums(first, last, range(f, f + 1))
    rows = RowPartition(table.order, table.order.copy(), table.pairs, np.empty((0, 0), np.int64))
    with np.errstate(all="ignore"):
        column_bins.build_few(
            columns, rows, first, last, np.array(chosen, np.int32), len(chosen), column_of, table.start, cells
        )
    guards.check()
    check_cells(cells, before, expected)


@np.errstate(all="ignore")
def test_the_larger_child_is_the_parent_less_the_smaller_in_a_few_features():
    """L4: parent − child is the other child, cell by cell."""
    table, guards = Table(1, N_FEATURES, 2), Guards()
    small, large = (guards.array(2 * table.n_cells, np.int64) for _ in range(2))
    before, expected = large.copy(), {}
    for f in (5, 2):
        for cell in (p * table.n_cells + j for p in range(2) for j in range(table.start[f], table.start[f + 1])):
            expected[cell] = int(large[cell] - small[cell])
    column_bins.subtract_few(np.array([5, 2], np.int32), 2, table.start, 2, small, large)
    guards.check()
    check_cells(large, before, expected)
