"""Uniform sampling of rows, groups and classes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import SapwoodRegressor, Uniform
from sapwood.boost.sampling.uniform import poisson_bounds
from sapwood.errors import InputError, ParameterError
from sapwood.params.declaration import BoostingParams
from tests.boost.sampling.samples import HALF, SETTINGS, draw, ids


def test_the_share_drawn_is_near_the_one_asked_for():
    drawn = draw(HALF, ids(100_000)).rows
    assert drawn.dtype == np.uint32
    assert abs(len(drawn) - 50_000) < 4 * np.sqrt(25_000)


def test_the_draw_of_a_row_does_not_depend_on_the_others():
    every = ids(1000)
    odd = every[1::2].copy()
    drawn = set(every[draw(HALF, every, 5).rows].tolist())
    assert set(odd[draw(HALF, odd, 5).rows].tolist()) == drawn & set(odd.tolist())


def test_a_smaller_share_is_part_of_a_larger():
    small, large = (
        set(draw(BoostingParams(sampling="uniform", subsample=share), ids(1000)).rows.tolist()) for share in (0.2, 0.6)
    )
    assert small < large


def test_with_replacement_the_number_of_times_is_poisson():
    drawn = draw(SETTINGS["replacement"], ids(200_000))
    times = np.bincount(drawn.weight.astype(int), minlength=5) / 200_000
    expected = np.array([math.exp(-1.0) / math.factorial(k) for k in range(5)])
    assert np.abs(times[:5] - expected).max() < 0.005
    assert np.array_equal(np.flatnonzero(drawn.weight), drawn.rows)


def test_the_bounds_of_poisson_draws_are_its_distribution():
    bounds = poisson_bounds(0.5) / 2.0**64
    total = np.cumsum([math.exp(-0.5) * 0.5**k / math.factorial(k) for k in range(len(bounds))])
    np.testing.assert_allclose(bounds, total, rtol=1e-12)


@pytest.mark.parametrize("name", ["groups", "drawn groups"])
def test_groups_stay_whole(name):
    numbers = ids(700)
    drawn = draw(SETTINGS[name], numbers)
    taken = np.zeros(700)
    taken[drawn.rows] = drawn.weight[drawn.rows] if len(drawn.weight) else 1.0
    by_group = taken.reshape(100, 7)
    assert (by_group == by_group[:, :1]).all()
    assert 0 < np.count_nonzero(by_group[:, 0]) < 100


@pytest.mark.parametrize("replacement", [False, True])
def test_where_chance_takes_no_group_a_whole_one_is_taken(replacement):
    params = BoostingParams(sampling=Uniform(replacement=replacement, by="groups"), subsample=1e-9)
    for round in range(5):
        rows = draw(params, ids(70), round=round).rows
        assert len(rows) == 7
        assert len(np.unique(rows // 7)) == 1


def test_every_class_gives_its_share():
    drawn = draw(SETTINGS["classes"], ids(301))
    classes = np.bincount(drawn.rows % 3)
    assert classes.tolist() == [40, 40, 40]


def test_groups_must_be_given():
    with pytest.raises(InputError, match="pass groups"):
        SapwoodRegressor(sampling=Uniform(by="groups"), subsample=0.5).fit([[1.0], [2.0]], [0.0, 1.0])


def test_classes_must_be_there():
    with pytest.raises(ParameterError, match="use by='rows'"):
        SapwoodRegressor(sampling=Uniform(by="classes"), subsample=0.5).fit([[1.0], [2.0]], [0.0, 1.0])
