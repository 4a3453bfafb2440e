"""Subtracting a child's histogram from its parent's."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram import subtraction
from tests.kernels.histogram.conftest import N_PLANES


@np.errstate(all="ignore")
def test_the_larger_child_is_the_parent_less_the_smaller(active, span):
    """L4: parent − child is the other child, cell by cell."""
    small, large = active.cells(), active.cells()
    expected = large.copy()
    for f in active.features_of(*span):
        expected[active.cells_of(f)] -= small[active.cells_of(f)]
    subtraction.subtract_active(active.row, *span, active.slices, active.offset, N_PLANES, small, large)
    active.guards.check()
    counts = ~active.between(*span)
    assert np.array_equal(large[counts], expected[counts])
