"""Dropouts (T5): which rounds are dropped, what becomes of their weights, and stages that are those of training."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood import Dart, SapwoodClassifier, SapwoodRegressor
from sapwood.boost.boosters.dart import dropout_factors, sample_dropped_rounds
from sapwood.errors import ParameterError

OFTEN = Dart(0.4, skip=0.1)


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=n)


def fit(n_estimators: int = 15, **params) -> SapwoodRegressor:
    X, y = table()
    return SapwoodRegressor(**{"boosting": OFTEN, "n_estimators": n_estimators, "max_leaves": 6} | params).fit(X, y)


@pytest.mark.parametrize(
    "params", [{}, {"leaf_model": "linear"}, {"objective": "absolute"}, {"subsample": 0.6}], ids=str
)
@pytest.mark.parametrize("boosting", [OFTEN, Dart(0.5, 0.0, weighted=True, normalise="tree"), "forest"], ids=str)
def test_a_stage_is_the_model_trained_for_so_many_rounds(boosting, params):
    """T5: staged predictions equal a training from scratch."""
    X, _ = table()
    stages = list(fit(boosting=boosting, **params).staged_predict(X))
    for rounds in (1, 4, 9, 15):
        scratch = fit(rounds, boosting=boosting, **params)
        np.testing.assert_allclose(stages[rounds - 1], scratch.predict(X), rtol=0, atol=1e-13)


def test_a_model_cut_after_some_rounds_is_the_model_of_those_rounds():
    X, _ = table()
    model = fit().model_
    cut = model[:9]
    assert len(cut) == 9
    np.testing.assert_allclose(cut.predict(X), fit(9).predict(X), atol=1e-13)
    assert np.array_equal(cut.predict(X), model.predict(X, 9))
    np.testing.assert_allclose(cut[:4].predict(X), model[:4].predict(X), atol=1e-13)


def test_the_rounds_of_a_part_are_counted_from_its_first():
    model = fit().model_
    part = model[8:]
    assert len(part) == 7
    for one in part.ensemble.rescalings:
        assert 0 <= one.round < 7
        assert all(0 <= dropped < one.round for dropped in one.rounds)
    joined = model.ensemble.slice(0, 8).concatenate(part.ensemble)
    assert {one.round for one in joined.rescalings} == {one.round for one in model.ensemble.rescalings}


def test_the_scores_of_validation_rows_are_those_of_the_model():
    X, y = table()
    fitted = SapwoodRegressor(boosting=OFTEN, n_estimators=20).fit(X, y, eval_set=(X, y))
    rmse = [np.sqrt(np.mean((stage - y) ** 2)) for stage in fitted.staged_predict(X)]
    np.testing.assert_allclose(fitted.evals_result_["validation"]["rmse"], rmse, rtol=1e-10)


@pytest.mark.parametrize("boosting", [OFTEN, "forest"], ids=str)
def test_early_stopping_keeps_the_model_as_it_was_in_the_best_round(boosting):
    X, y = table()
    noise = np.random.default_rng(1).normal(size=len(y))
    limits = {"boosting": boosting, "n_estimators": 60, "random_state": 3}
    fitted = SapwoodRegressor(early_stopping_rounds=4, **limits).fit(X, y, eval_set=(X[::-1], y + noise))
    assert fitted.stopped_ == "early_stopping"
    assert fitted.n_iter_ == fitted.best_iteration_ < 60
    scratch = SapwoodRegressor(**limits | {"n_estimators": fitted.n_iter_}).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), scratch.predict(X), atol=1e-13)


@pytest.mark.parametrize("boosting", [OFTEN, "forest"], ids=str)
def test_the_file_keeps_the_stages(boosting, tmp_path):
    X, _ = table()
    model = fit(boosting=boosting).model_
    model.save(tmp_path / "model")
    loaded = sapwood.load(tmp_path / "model")
    assert loaded.ensemble.rescalings == model.ensemble.rescalings
    assert np.array_equal(loaded.predict(X, 5), model.predict(X, 5))


@pytest.mark.parametrize("boosting", [OFTEN, "forest", "plain"], ids=str)
def test_a_continued_model_keeps_the_trees_it_began_with(boosting):
    X, y = table()
    first = fit(6)
    params = {} if boosting == "forest" else {"learning_rate": 0.2}
    more = SapwoodRegressor(boosting=boosting, n_estimators=8, max_leaves=6, **params).fit(X, y, init_model=first)
    assert more.n_iter_ == 14
    assert np.array_equal(more.predict(X, iterations=6), first.predict(X))
    stages = list(more.staged_predict(X))
    np.testing.assert_allclose(stages[2], fit(3).predict(X), atol=1e-13)
    assert np.mean((stages[-1] - y) ** 2) < np.mean((stages[5] - y) ** 2)


def test_several_outputs_are_dropped_together():
    X, y = table()
    labels = np.digitize(y, [-0.5, 0.5])
    fitted = SapwoodClassifier(boosting=OFTEN, n_estimators=12).fit(X, labels)
    assert fitted.score(X, labels) > 0.65
    again = SapwoodClassifier(boosting=OFTEN, n_estimators=5).fit(X, labels)
    np.testing.assert_allclose(list(fitted.staged_predict_proba(X))[4], again.predict_proba(X), atol=1e-13)


# --- drawing and weighing ---------------------------------------------------------------------------------------------


def test_weights_follow_the_rule_by_hand():
    """Drop everything each time: with the mean rule all rounds weigh 1/k in the end, as in a forest."""
    fitted = fit(4, boosting=Dart(1.0, skip=0.0))
    told = [(one.round, one.factor, list(one.rounds)) for one in fitted.model_.ensemble.rescalings]
    assert told == [(1, 1 / 2, [0]), (2, 2 / 3, [0, 1]), (3, 3 / 4, [0, 1, 2])]


@pytest.mark.parametrize(
    "normalise, expected", [("mean", (1 / 4, 3 / 4)), ("tree", (1 / 3.1, 3 / 3.1)), ("forest", (1 / 1.1, 1 / 1.1))]
)
def test_shares_are_as_documented(normalise, expected):
    assert dropout_factors(normalise, 3, 0.1) == pytest.approx(expected)
    assert dropout_factors(normalise, 0, 0.1) == (1.0, 1.0)


def test_rounds_are_dropped_by_chance():
    settings = Dart(0.2, skip=0.25)
    drops = [sample_dropped_rounds(settings, [1.0] * 30, 0, round) for round in range(800)]
    assert np.mean([len(one) for one in drops]) == pytest.approx(0.75 * 6.0, rel=0.05)
    assert np.mean([len(one) == 0 for one in drops]) == pytest.approx(0.25, abs=0.05)
    assert drops == [sample_dropped_rounds(settings, [1.0] * 30, 0, round) for round in range(800)]


def test_heavy_rounds_are_dropped_more_often():
    settings = Dart(0.2, skip=0.0, weighted=True)
    weights = [1.0] * 10 + [3.0] * 10
    counts = np.bincount(sum((sample_dropped_rounds(settings, weights, 0, k) for k in range(1500)), ()), minlength=20)
    assert counts[10:].sum() / counts[:10].sum() == pytest.approx(3.0, rel=0.15)


def test_no_more_are_dropped_than_allowed():
    assert len(sample_dropped_rounds(Dart(1.0, skip=0.0, max_drop=7), [1.0] * 30, 0, 0)) == 7


@pytest.mark.parametrize("wrong", [{"drop": 1.5}, {"skip": -0.1}, {"max_drop": 0}, {"normalise": "sum"}], ids=str)
def test_settings_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Dart(**wrong)


# --- forests ----------------------------------------------------------------------------------------------------------


def test_a_forest_is_the_mean_of_its_trees():
    """T5: each tree fits the same target on rows of its own, and the model is their average."""
    X, _ = table()
    model = fit(5, boosting="forest", reg_lambda=0.0).model_
    trees = [model[k : k + 1].predict(X) for k in range(5)]
    np.testing.assert_allclose(model.predict(X), np.mean(trees, axis=0), atol=1e-12)
    np.testing.assert_allclose(trees[0], fit(1, boosting="forest", reg_lambda=0.0).predict(X), atol=1e-12)


def test_a_forest_learns():
    X, y = table(2000)
    fitted = SapwoodRegressor(
        boosting="forest", n_estimators=60, max_leaves=None, min_child_samples=3, colsample_bynode=0.7
    ).fit(X[:1500], y[:1500])  # fmt: skip
    assert fitted.score(X[1500:], y[1500:]) > 0.75


def test_a_forest_has_no_learning_rate():
    with pytest.raises(ParameterError, match=r"learning_rate=0\.3 is not supported with boosting='forest'"):
        fit(boosting="forest", learning_rate=0.3)


def test_a_forest_of_the_same_tree_is_refused():
    with pytest.raises(ParameterError, match="sampling='none'"):
        fit(boosting="forest", sampling="none")
