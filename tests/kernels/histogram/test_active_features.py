"""Operations on the cells of the active features alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from sapwood.kernels.histogram import active_features
from tests.kernels.histogram.conftest import N_PLANES


def test_cells_of_active_features_are_cleared_and_none_of_other_slices(active, span):
    cells = active.cells()
    expected = cells.copy()
    for f in active.features_of(*span):
        expected[active.cells_of(f)] = 0
    active_features.clear_active(active.row, *span, active.slices, active.offset, N_PLANES, cells)
    active.guards.check()
    counts = ~active.between(*span)
    assert np.array_equal(cells[counts], expected[counts])


@np.errstate(all="ignore")
def test_default_bins_get_what_others_leave(active, span):
    cells, counts = active.cells(), active.guards.array(active.n_cells, np.int32)
    sums = np.array([12345, -(2**50)])
    expected, totals = cells.copy(), counts.copy()
    feature = SimpleNamespace(
        offset=active.offset, slices=active.slices, default_bin=active.default_bin, n_bins=active.n_bins
    )
    for f in active.features_of(*span):
        if active.default_bin[f] < 0:
            continue
        others = [active.offset[f] + b for b in range(active.n_bins[f] + 1) if b != active.default_bin[f]]
        for p in range(N_PLANES):
            cell = p * active.n_cells + active.offset[f] + active.default_bin[f]
            expected[cell] = sums[p] - sum(expected[p * active.n_cells + cell] for cell in others)
        totals[active.offset[f] + active.default_bin[f]] = sum(counts[cell] for cell in others)
    active_features.fill_default_bins(active.row, *span, feature, sums, cells, counts)
    active.guards.check()
    assert np.array_equal(cells, expected)
    assert np.array_equal(counts, totals)
