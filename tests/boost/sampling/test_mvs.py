"""Minimum-variance sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import Mvs, SapwoodRegressor
from sapwood.boost.sampling import make_sampler
from sapwood.params.declaration import BoostingParams
from sapwood.params.resolve import resolve_params
from tests.boost.sampling.samples import SETTINGS, context_of, draw, ids, pairs_of


def test_mvs_draws_in_proportion_up_to_certainty():
    pairs = pairs_of(40_000)
    drawn = make_sampler(SETTINGS["mvs"], context_of(ids(40_000))).draw(pairs, 0)
    assert abs(len(drawn.rows) - 12_000) < 4 * math.sqrt(12_000)
    g, h = pairs[0].astype(float).T
    size = np.sqrt(g**2 + 0.1 * (g**2).sum() / (h**2).sum() * h**2)
    chance = 1.0 / drawn.weight
    ratio = size[drawn.rows][chance < 1.0] / chance[chance < 1.0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert (size[drawn.rows][chance == 1.0] >= ratio[0] * (1 - 1e-6)).all()
    assert np.minimum(1.0, size / ratio[0]).sum() == pytest.approx(12_000, rel=1e-6)


@pytest.mark.parametrize("smoothing", [1e-300, 1e300])
@pytest.mark.parametrize("weight", [None, np.where(np.arange(60) % 2, 1e-200, 1e70), np.full(60, 1e-200)])
def test_mvs_draws_about_its_share_with_any_smoothing(smoothing, weight):
    drawn = draw(BoostingParams(sampling=Mvs(smoothing), subsample=0.3), ids(60), weight=weight)
    assert 1 <= len(drawn.rows) <= 35


def test_mvs_draws_four_fifths_unless_told():
    assert resolve_params({"sampling": "mvs"}, 10, "regression").boost.subsample == 0.8
    assert resolve_params({"sampling": "mvs", "subsample": 0.3}, 10, "regression").boost.subsample == 0.3


@pytest.mark.parametrize("subsample", [1e-3, 1e-9, 1e-300])
def test_mvs_draws_few_rows_if_hardly_any_are_wanted(subsample):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    model = SapwoodRegressor(sampling="mvs", subsample=subsample, n_estimators=20).fit(X, X[:, 0]).model_
    assert max(model.ensemble.count[model.ensemble.tree_start[:-1]]) < 10
