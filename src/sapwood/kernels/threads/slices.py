"""Slices of rows: the part that each member of a team works on."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel


@kernel()
def slice_start(member, members, n):
    """Return the first of n rows in the slice of ``member``; the slice ends where that of ``member + 1`` starts.

    Unsigned: an index that may be negative costs a test at every access and keeps loops from being vectorised.
    """
    return np.uint64(member * n // members)


@kernel("i64[:]")
def count_members(member, members, sync, out):
    """Write the number of members of the team to ``out[0]``."""
    if member == 0:
        out[0] = members
