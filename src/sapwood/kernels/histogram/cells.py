"""Accessors of the arrays that say where the cells of a histogram lie and which of them a member works on."""

from __future__ import annotations

from sapwood.native.runtime.kernel import kernel


@kernel()
def count_cells(offset):
    """Return the number of cells of one plane."""
    return offset[offset.shape[0] - 1]


@kernel()
def count_slices(slices):
    """Return the number of slices that features are divided into, one per member."""
    return slices.shape[0] - 3


@kernel()
def slice_of(member, members, alone):
    """Return the slice of features of a member: its own, or that of all features if it works ``alone``."""
    return members + 1 if alone else member
