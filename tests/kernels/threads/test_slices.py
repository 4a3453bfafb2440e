"""Slices of rows: together all rows, none twice."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels.threads.slices import count_members, slice_start
from sapwood.native.threads.team import Team


@pytest.mark.parametrize("members", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_slices_follow_each_other_and_cover_all_rows(members, n):
    starts = [int(slice_start(member, members, n)) for member in range(members + 1)]
    sizes = np.diff(starts)
    assert (starts[0], starts[-1]) == (0, n)
    assert sizes.min() >= 0
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("size", [1, 3])
def test_a_team_knows_its_size(size):
    out = np.full(3, 77, dtype=np.int64)
    Team(size).run(count_members, out)
    assert out.tolist() == [size, 77, 77]
