"""Histograms of several planes added together, against dictionaries of sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels.histogram import multi_output
from tests.guarded import Guards
from tests.kernels.histogram.test_dense_bins import Table, check_cells


def pairs_by_row_of(table: Table) -> np.ndarray:
    """The integers of the rows side by side, by row."""
    n_planes, n = table.pairs.shape
    interleaved = np.zeros((n, multi_output.padded_planes(n_planes)), np.int64)
    multi_output.interleave_planes(table.pairs, table.order, 0, n, interleaved)
    return interleaved


def test_the_line_of_a_row_holds_its_integers_and_then_zeros():
    table = Table(7, 1, 5)
    interleaved = pairs_by_row_of(table)
    assert interleaved.shape == (7, 8)
    for row in table.order:
        assert interleaved[row].tolist() == [*table.pairs[:, row].tolist(), 0, 0, 0]


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(2, 21), st.sampled_from([np.uint8, np.uint16]), st.data())
def test_all_planes_of_some_rows_are_added_to_some_features_and_nothing_else_is_touched(
    n, n_features, n_planes, dtype, data
):
    table, guards = Table(n, n_features, n_planes, dtype, n), Guards()
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    from_feature = data.draw(st.integers(0, n_features))
    to_feature = data.draw(st.integers(from_feature, n_features))
    pairs_by_row, n_cells = pairs_by_row_of(table), table.n_cells
    partial = guards.array((2, pairs_by_row.shape[1] * n_cells), np.int64)
    cells = guards.array(n_planes * n_cells, np.int64)
    before, span = cells.copy(), table.start[[from_feature, to_feature]]
    middle = (first + last) // 2
    with np.errstate(all="ignore"):
        for part, a, e in ((0, first, middle), (1, middle, last)):
            multi_output.clear_interleaved(partial[part], pairs_by_row.shape[1], n_cells, *span)
            multi_output.add_interleaved(
                table.words,
                table.order,
                pairs_by_row,
                a,
                e,
                from_feature,
                to_feature,
                table.bits,
                table.start,
                partial[part],
            )
        multi_output.merge_interleaved(partial, 0, 2, n_planes, n_cells, *span, cells)
    guards.check()
    check_cells(cells, before, table.slow_sums(first, last, range(from_feature, to_feature)))


@pytest.mark.parametrize("n_rows", [multi_output.BLOCK - 1, multi_output.BLOCK, 2 * multi_output.BLOCK + 1])
def test_rows_beyond_a_block_are_added_for_every_group(n_rows):
    table = Table(n_rows, 2, 9)
    pairs_by_row = pairs_by_row_of(table)
    partial, cells = np.zeros((1, 12 * table.n_cells), np.int64), np.zeros(9 * table.n_cells, np.int64)
    with np.errstate(all="ignore"):
        multi_output.add_interleaved(
            table.words, table.order, pairs_by_row, 0, n_rows, 0, 2, table.bits, table.start, partial[0]
        )
        multi_output.merge_interleaved(partial, 0, 1, 9, table.n_cells, 0, table.n_cells, cells)
    check_cells(cells, cells, table.slow_sums(0, n_rows, range(2)))
