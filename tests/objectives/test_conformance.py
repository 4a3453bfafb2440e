"""What every loss must fulfil; a new one is found by the registry and tested without a change here."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize

from sapwood.errors import InputError, ParameterError
from sapwood.objectives import link_from_name, mean_loss, resolve, restore
from tests.distributed.worker_threads import run_on_rows
from tests.objectives.loss_examples import every_loss, name_of, pairs_of, scores_near, targets

N = 60
LOSSES = pytest.mark.parametrize("loss", every_loss(), ids=name_of)
STEP = 1e-5


def shifted(loss, y, scores, k, step):
    moved = scores.copy()
    moved[k] += step
    return loss.loss(y, moved)


def outputs_share_the_loss(loss):
    """The quantile loss is the mean over its levels, each of which is fitted on its own."""
    return loss.n_outputs if loss.name == "quantile" else 1


def away_from_corners(loss, y, scores, k):
    """Rows whose loss has no corner within a step."""
    if loss.name == "hinge":
        return np.abs(np.abs(scores[k]) - 1) > 10 * STEP
    return np.abs(np.abs(scores[k] - y) - getattr(loss, "delta", 0.0)) > 10 * STEP


@LOSSES
def test_the_gradient_is_the_slope_of_the_loss(loss):
    y, scores = targets(loss, N), scores_near(loss, N)
    found = pairs_of(loss, y, scores)
    for k in range(loss.n_outputs):
        slope = (shifted(loss, y, scores, k, STEP) - shifted(loss, y, scores, k, -STEP)) / (2 * STEP)
        smooth = away_from_corners(loss, y, scores, k)
        slope *= outputs_share_the_loss(loss)
        np.testing.assert_allclose(found[k, smooth, 0], slope[smooth], rtol=1e-5, atol=1e-6)


@LOSSES
def test_an_exact_hessian_is_the_curvature_of_the_loss(loss):
    if loss.curvature == "surrogate":
        pytest.skip("the hessian stands in for a curvature that vanishes")
    y, scores = targets(loss, N), scores_near(loss, N)
    found = pairs_of(loss, y, scores)[..., 1]
    for k in range(loss.n_outputs):
        step = 1e-3
        up, down = (pairs_of(loss, y, _moved(scores, k, sign * step))[k, :, 0].astype(float) for sign in (1, -1))
        curvature = (up - down) / (2 * step)
        exact = np.abs(scores[k] - y) > 2 * step if loss.name == "expectile" else np.full(N, True)
        if loss.curvature == "floored":
            assert (found[k] >= curvature - 2e-3).all()
            exact = found[k] <= np.maximum(curvature, 0) + 1e-3
            assert exact.mean() > 0.5
        np.testing.assert_allclose(found[k, exact], curvature[exact], rtol=2e-3, atol=1e-3)


def _moved(scores, k, step):
    moved = scores.copy()
    moved[k] += step
    return moved


@LOSSES
def test_hessians_are_never_negative(loss):
    y = np.tile(targets(loss, N), 20)
    scores = np.random.default_rng(6).normal(size=(loss.n_outputs, len(y))) * 20
    assert (pairs_of(loss, y, scores)[..., 1] >= 0).all()


@LOSSES
def test_pairs_are_finite_for_extreme_scores(loss):
    y = targets(loss, N)
    for extreme in (-1e6, -800.0, -100.0, 100.0, 800.0, 1e6):
        scores = np.full((loss.n_outputs, N), extreme)
        assert np.isfinite(pairs_of(loss, y, scores)).all()


@LOSSES
def test_a_score_that_is_not_a_number_shows_in_the_gradient(loss):
    y, scores = targets(loss, N), scores_near(loss, N)
    scores[:, 7] = np.nan
    assert np.isnan(pairs_of(loss, y, scores)[:, 7, 0]).all()


@LOSSES
@pytest.mark.parametrize("weighted", [False, True])
def test_no_constant_is_better_than_the_best(loss, weighted):
    y = targets(loss, 201)
    weight = np.random.default_rng(8).uniform(0.2, 2, len(y)) if weighted else None

    def mean_at(constant):
        return mean_loss(loss, y, np.repeat(np.asarray(constant, dtype=float)[:, None], len(y), axis=1), weight)

    best = loss.best_constant(y, weight)
    start = best + 0.1
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 10_000, "maxfev": 10_000}
    search = minimize(mean_at, start, method="Nelder-Mead", options=options)
    assert best.shape == (loss.n_outputs,)
    assert mean_at(best) <= search.fun + 1e-9 * abs(search.fun)


@LOSSES
def test_the_best_constant_does_not_depend_on_the_order_of_rows(loss):
    y = targets(loss, 201)
    weight = np.random.default_rng(8).uniform(0.2, 2, len(y))
    order = np.random.default_rng(9).permutation(len(y))
    np.testing.assert_array_equal(loss.best_constant(y, weight), loss.best_constant(y[order], weight[order]))


@LOSSES
def test_workers_with_some_of_the_rows_each_find_the_constants_of_all(loss):
    y = targets(loss, 101)
    weight = np.random.default_rng(8).choice([0.5, 1.0, 3.0], len(y))
    for of_rows in (None, weight):
        best, start = loss.best_constant(y, of_rows), loss.initial_scores(y, of_rows)

        def work(rows, workers, of_rows=of_rows):
            given = y[rows], None if of_rows is None else of_rows[rows]
            return loss.best_constant(*given, workers=workers), loss.initial_scores(*given, workers=workers)

        for size in (1, 2, 3):
            for found_best, found_start in run_on_rows(size, len(y), work):
                np.testing.assert_array_equal(found_best, best)
                np.testing.assert_array_equal(found_start, start)


@LOSSES
def test_compiled_code_gives_the_bits_of_plain_python(loss):
    y, scores = targets(loss, N), scores_near(loss, N)
    scores[:, ::7] *= 100
    out = np.empty((loss.n_outputs, N, 2), dtype=np.float32)
    loss.pairs(y, scores, out, run=in_plain_python)
    np.testing.assert_array_equal(out.view(np.int32), pairs_of(loss, y, scores).view(np.int32))
    plain, compiled = loss.loss(y, scores, run=in_plain_python), loss.loss(y, scores)
    np.testing.assert_array_equal(plain.view(np.int64), compiled.view(np.int64))
    plain, compiled = loss.link.predict(scores, run=in_plain_python), loss.link.predict(scores)
    np.testing.assert_array_equal(plain.view(np.int64), compiled.view(np.int64))


def in_plain_python(kernel, *args):
    """Run the members of a team of three one after the other in the interpreter."""
    with np.errstate(all="ignore"):
        for member in range(3):
            kernel.function(member, 3, None, *args)


@LOSSES
def test_settings_survive_json(loss):
    again = restore(loss.name, json.loads(json.dumps(loss.settings())))
    assert repr(again) == repr(loss)
    assert again.n_outputs == loss.n_outputs


@LOSSES
def test_predictions_have_a_column_per_output(loss):
    prediction = loss.link.predict(scores_near(loss, N))
    assert prediction.shape == ((N,) if loss.n_outputs == 1 else (N, loss.n_outputs))
    assert link_from_name(loss.link.name) == loss.link


@LOSSES
def test_the_constant_alone_predicts_within_the_targets(loss):
    y = targets(loss, 201)
    prediction = loss.link.predict(loss.best_constant(y)[:, None])
    if loss.task == "multiclass":
        assert prediction.sum() == pytest.approx(1.0)
    assert (prediction >= min(y.min(), 0.0)).all()
    assert (prediction <= max(y.max(), 1.0)).all()


@LOSSES
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_targets_that_are_not_numbers_are_refused_by_row(loss, value):
    y = targets(loss, N)
    y[17] = value
    with pytest.raises(InputError, match=rf"{loss.name}.*row 17 is {value:g}; allowed is"):
        loss.check_target(y)


@LOSSES
def test_targets_in_range_are_accepted(loss):
    loss.check_target(targets(loss, N))


@LOSSES
def test_a_loss_is_found_by_its_name_and_aliases(loss):
    for name in (loss.name, *loss.aliases):
        assert type(resolve(name)) is type(loss)


@LOSSES
def test_a_loss_says_what_it_is(loss):
    assert loss.task in ("regression", "binary", "multiclass")
    assert loss.curvature in ("exact", "floored", "surrogate")
    assert type(loss).__doc__


@LOSSES
def test_only_losses_for_classes_take_classes(loss):
    if loss.task == "regression":
        with pytest.raises(ParameterError, match="not supported with classification"):
            loss.for_classes(2)
    else:
        assert loss.for_classes(2).task in ("binary", "multiclass")
