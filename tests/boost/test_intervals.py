"""Training of prediction intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError

RNG = np.random.default_rng(1)
N = 2_000
X = RNG.normal(size=(2 * N, 4))
Y = X[:, 0] + np.exp(0.7 * X[:, 1]) * RNG.normal(size=2 * N)
FAST = {"effort": "fast", "n_estimators": 30}


def coverage_of(bounds, y):
    return np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1]))


@pytest.fixture(scope="module")
def fitted():
    return SapwoodRegressor(intervals=0.8, **FAST).fit(X[:N], Y[:N])


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_intervals_cover_new_rows_as_asked(fitted, coverage):
    assert coverage_of(fitted.predict_interval(X[N:], coverage), Y[N:]) == pytest.approx(coverage, abs=0.05)


def test_intervals_are_wider_where_the_noise_is(fitted):
    width = np.diff(fitted.predict_interval(X[N:]), axis=1)[:, 0]
    assert width[X[N:, 1] > 1].mean() > 2 * width[X[N:, 1] < -1].mean()


def test_predictions_are_those_without_intervals(fitted):
    plain = SapwoodRegressor(**FAST).fit(X[:N], Y[:N])
    assert np.array_equal(plain.predict(X), fitted.predict(X))
    with pytest.raises(ParameterError, match="train it with intervals=True"):
        plain.predict_interval(X)


def test_intervals_do_not_depend_on_threads():
    models = [SapwoodRegressor(intervals=True, n_jobs=n, **FAST).fit(X[:300], Y[:300]).model_ for n in (1, 3)]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_categories_weights_groups_and_offsets_are_taken():
    frame = pd.DataFrame({"x": X[:400, 0], "kind": np.array(list("abcdefgh"), dtype=object)[np.arange(400) % 8]})
    model = SapwoodRegressor(intervals=True, **FAST)
    model.fit(frame, Y[:400], sample_weight=np.arange(400) % 3, groups=np.arange(400) // 5, init_score=np.ones(400))
    assert np.isfinite(model.predict_interval(frame)).all()


def test_a_constant_target_has_intervals_of_no_width():
    model = SapwoodRegressor(intervals=True, n_estimators=3, min_child_samples=1).fit(X[:100], X[:100, 0] > 9)
    assert model.predict_interval(X[:3]).tolist() == [[0.0, 0.0]] * 3


def test_classes_and_too_few_rows_are_refused():
    with pytest.raises(ParameterError, match=r"intervals=True is not supported with .*use predict_proba"):
        SapwoodClassifier(intervals=True).fit(X[:100], Y[:100] > 0)
    with pytest.raises(InputError, match="intervals need at least 20 rows"):
        SapwoodRegressor(intervals=True).fit(X[:10], Y[:10])


def test_a_target_with_little_noise_has_a_mean_with_a_spread():
    precise = SapwoodRegressor(intervals=True, **FAST).fit(X[:500], X[:500, 0] + 0.3 * X[:500, 1] ** 2).model_
    [decision] = precise.intervals.model.decisions
    assert decision["chosen"]["scaled residuals"] > 0.5
    assert decision["losses"]["scaled residuals"] < decision["losses"]["quantiles"]


def test_bounds_are_monotone_where_the_model_is():
    model = SapwoodRegressor(intervals=True, monotone_constraints=[1, 0, 0, 0]).fit(X[:400], Y[:400])
    assert model.model_.intervals.model.decisions[0]["candidates"] == ["quantiles"]
    grid = np.zeros((50, 4))
    grid[:, 0] = np.linspace(-2.0, 2.0, 50)
    for coverage in (0.6, 0.9, 0.98):
        assert (np.diff(model.predict_interval(grid, coverage), axis=0) >= 0.0).all()


def test_intervals_of_half_the_rows_have_a_width(fitted):
    assert (np.diff(fitted.predict_interval(X, 0.5), axis=1) > 0.0).all()


def test_rows_in_the_order_of_time_are_compared_with_models_of_earlier_rows():
    # The noise grows: that of the last fifth is what later rows have.
    y = RNG.normal(size=1_000) * np.linspace(0.2, 2.0, 1_000)
    at_random, by_time = (
        SapwoodRegressor(intervals=True, has_time=has_time, **FAST).fit(X[:1_000], y) for has_time in (False, True)
    )
    assert len(by_time.model_.intervals.excess) == 200
    widths = [np.diff(model.predict_interval(X[:50]), axis=1).mean() for model in (at_random, by_time)]
    assert widths[1] > 1.3 * widths[0]


def test_a_time_limit_leaves_the_parts_that_are_done():
    model = SapwoodRegressor(intervals=True, time_limit=1e-9, **FAST).fit(X[:200], Y[:200])
    assert len(model.model_.intervals.excess) == 80  # two folds of five
    assert np.isfinite(model.predict_interval(X[:5])).all()


@pytest.mark.parametrize("value", [0, 1, 1.5, "yes", False])
def test_other_values_of_intervals_are_refused(value):
    with pytest.raises(ParameterError, match="intervals must be True"):
        SapwoodRegressor(intervals=value).fit(X[:50], Y[:50])
