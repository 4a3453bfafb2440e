"""Properties that every sampler has, and sampling as a parameter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import Bayesian, Goss, Mvs, SapwoodClassifier, SapwoodRegressor, Uniform
from sapwood.boost.sampling import make_sampler, samplers
from sapwood.errors import ParameterError
from sapwood.native.threads.team import Team
from sapwood.params.declaration import BoostingParams
from sapwood.params.resolve import resolve_params
from tests.boost.sampling.samples import SETTINGS, context_of, draw, ids, pairs_of


def test_every_sampler_is_tested():
    assert {type(make_sampler(params, context_of(ids(10)))) for params in SETTINGS.values()} == set(samplers().values())


def test_all_rows_need_no_sampler():
    assert make_sampler(BoostingParams(sampling="none"), context_of(ids(10))) is None
    assert make_sampler(BoostingParams(sampling="uniform", subsample=1.0), context_of(ids(10))) is None


@pytest.mark.parametrize("name", SETTINGS)
def test_every_round_draws_anew_and_the_same_again(name):
    first, second, again = (draw(SETTINGS[name], ids(1000), round, seed=3) for round in (0, 1, 0))
    for one, other in ((first.rows, again.rows), (first.weight, again.weight)):
        assert np.array_equal(one, other)
    assert not (np.array_equal(first.rows, second.rows) and np.array_equal(first.weight, second.weight))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n", [1, 2, 70, 40_000])
def test_the_draw_does_not_depend_on_the_number_of_threads(name, n):
    alone = draw(SETTINGS[name], ids(n))
    for members in (2, 3):
        other = draw(SETTINGS[name], ids(n), team=Team(members))
        assert np.array_equal(alone.rows, other.rows)
        assert np.array_equal(alone.weight, other.weight)


@pytest.mark.parametrize("name", SETTINGS)
def test_rows_come_ascending_and_at_least_one(name):
    drawn = draw(SETTINGS[name], ids(3))
    rows = np.arange(3) if drawn.rows is None else drawn.rows
    assert len(rows) >= 1
    assert (np.diff(rows.astype(np.int64)) > 0).all()
    assert len(drawn.weight) == 0 or (drawn.weight[rows] > 0).all()


@pytest.mark.parametrize("name", SETTINGS)
def test_weights_of_rows_are_kept_as_factors(name):
    """A row of weight 2 counts twice what it would; the draw itself may depend on it."""
    n = 500
    weight = np.full(n, 2.0)
    plain, double = draw(SETTINGS[name], ids(n)), draw(SETTINGS[name], ids(n), weight=weight)
    assert np.array_equal(plain.rows, double.rows)
    rows = np.arange(n) if plain.rows is None else plain.rows
    factor = plain.weight[rows] if len(plain.weight) else np.ones(len(rows))
    np.testing.assert_allclose(double.weight[rows], 2.0 * factor, rtol=1e-9)


@pytest.mark.parametrize("name", ["goss", "mvs"])
def test_sums_over_a_leaf_are_unbiased(name):
    """L1: over 2,000 draws the mean of the estimated G and H is the true one, within four standard errors."""
    n, n_draws = 300, 2000
    pairs = pairs_of(n)
    leaf = np.random.default_rng(1).uniform(size=n) < 0.3
    sampler = make_sampler(SETTINGS[name], context_of(ids(n)))
    sums = np.empty((n_draws, 2))
    for round in range(n_draws):
        drawn = sampler.draw(pairs, round)
        rows = drawn.rows[leaf[drawn.rows]]
        sums[round] = drawn.weight_by_row[rows] @ pairs[0, rows].astype(float)
    error = sums.std(axis=0) / math.sqrt(n_draws)
    assert (np.abs(sums.mean(axis=0) - pairs[0, leaf].astype(float).sum(axis=0)) < 4 * error).all()


@pytest.mark.parametrize("name", ["goss", "mvs"])
@pytest.mark.parametrize("unit", [2.0**-650, 2.0**-200, 2.0**200])
def test_rows_are_drawn_alike_whatever_the_unit_of_weights(name, unit):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 400)
    plain, scaled = (draw(SETTINGS[name], ids(400), weight=one) for one in (weight, unit * weight))
    assert np.array_equal(scaled.rows, plain.rows)
    assert np.array_equal(scaled.row_weights, unit * plain.row_weights)


@pytest.mark.parametrize(
    "made, named",
    [
        (lambda: Goss(0.9, 0.2), "top"),
        (lambda: Goss(0.2, 0.0), "other"),
        (lambda: Goss(full_rounds=-1), "full_rounds"),
        (lambda: Mvs(0.0), "smoothing"),
        (lambda: Bayesian(-1.0), "temperature"),
        (lambda: Uniform(by="columns"), "by"),
        (lambda: Uniform(replacement=True, by="classes"), "replacement"),
        (lambda: resolve_params({"sampling": "goss", "subsample": 0.5}, 10, "regression"), "subsample"),
        (lambda: resolve_params({"sampling": "bayesian", "subsample": 0.5}, 10, "regression"), "subsample"),
        (lambda: resolve_params({"sampling": "none", "subsample": 0.5}, 10, "regression"), "subsample"),
        (lambda: resolve_params({"sampling": "half"}, 10, "regression"), "sampling"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(made, named):
    with pytest.raises(ParameterError, match=named):
        made()


@pytest.mark.parametrize("name", SETTINGS)
def test_a_classifier_learns_from_the_rows_drawn(name):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    params = SETTINGS[name]
    model = SapwoodClassifier(
        n_estimators=10, learning_rate=0.3, sampling=params.sampling, subsample=params.subsample
    ).fit(X, y, groups=np.arange(400) // 4)  # fmt: skip
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize(
    ("sampling", "more"),
    [
        ("none", {}), ("uniform", {}), (Uniform(by="groups"), {}), (Bayesian(0.0), {}), (Mvs(), {"subsample": 1.0}),
        (Goss(0.5, 0.5), {}), (Goss(full_rounds=5), {}),
    ],
    ids=str,
)  # fmt: skip
def test_a_forest_of_equal_trees_is_refused(sampling, more):
    model = SapwoodRegressor(boosting="forest", sampling=sampling, n_estimators=5, **more)
    with pytest.raises(ParameterError, match="boosting='forest': all trees would be the same; unset sampling"):
        model.fit(np.eye(5), np.arange(5.0))
    model.set_params(colsample_bynode=0.5).fit(np.eye(5), np.arange(5.0), groups=np.arange(5))


@pytest.mark.parametrize(
    ("params", "given"),
    [
        ({"sampling": Uniform(by="groups"), "subsample": 0.5}, "groups"),
        ({"sampling": Uniform(by="classes"), "subsample": 0.5}, "classes"),
        ({"leaf_steps": 3, "objective": "absolute"}, "leaf_steps"),
        ({"boosting": "ordered", "leaf_model": "linear"}, "ordered"),
    ],
    ids=str,
)
def test_what_cannot_be_drawn_is_refused_before_a_file_is_made(params, given, tmp_path):
    path = tmp_path / "checkpoint"
    with pytest.raises(ValueError, match=given):
        SapwoodRegressor(checkpoint=path, **params).fit(np.eye(50), np.arange(50.0))
    assert not list(tmp_path.iterdir())
