"""Rows drawn for a round."""

from __future__ import annotations

import numpy as np

from sapwood.boost.sampling import sample_rows
from sapwood.params import BoostParams

HALF = BoostParams(sampling="uniform", subsample=0.5)


def ids(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.uint64)


def test_all_rows_are_none():
    assert sample_rows(BoostParams(sampling="none"), 0, 0, ids(10)) is None
    assert sample_rows(BoostParams(sampling="uniform", subsample=1.0), 0, 0, ids(10)) is None


def test_the_share_drawn_is_near_the_one_asked_for():
    drawn = sample_rows(HALF, 0, 0, ids(100_000))
    assert drawn.dtype == np.uint32
    assert abs(len(drawn) - 50_000) < 4 * np.sqrt(25_000)
    assert (np.diff(drawn.astype(np.int64)) > 0).all()


def test_every_round_draws_anew_and_the_same_again():
    first, second, again = (sample_rows(HALF, 3, round, ids(1000)) for round in (0, 1, 0))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)


def test_the_draw_of_a_row_does_not_depend_on_the_others():
    every = ids(1000)
    odd = every[1::2].copy()
    drawn = set(every[sample_rows(HALF, 0, 5, every)].tolist())
    assert set(odd[sample_rows(HALF, 0, 5, odd)].tolist()) == drawn & set(odd.tolist())


def test_a_smaller_share_is_part_of_a_larger():
    small, large = (
        set(sample_rows(BoostParams(sampling="uniform", subsample=share), 0, 0, ids(1000)).tolist())
        for share in (0.2, 0.6)
    )
    assert small < large


def test_at_least_one_row_is_drawn():
    tiny = BoostParams(sampling="uniform", subsample=1e-12)
    assert len(sample_rows(tiny, 0, 0, ids(5))) == 1
