"""Replay: the trees of a fit keep their splits, and their leaves are fitted to other rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost import replay
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.learning_task import read_task
from sapwood.boost.replay import replay_rounds
from sapwood.boost.training_pipeline import train_rows
from sapwood.objectives import Softmax
from tests.boost.examples import FAST, example, labelled

STUMP = {"max_leaves": 2, "learning_rate": 1.0, "reg_lambda": 0.0, "min_child_samples": 1, "min_child_weight": 0.0}
STOPPING = {"n_estimators": 60, "early_stopping_rounds": 5, "validation_fraction": 0.3, **FAST}
WAYS = [
    {},
    {"growth": "symmetric", "min_child_samples": "auto", "reg_alpha": 0.5},
    {"growth": "levelwise", "max_delta_step": 0.3},
    {"split_search": "exact"},
    {"monotone_constraints": [1, 0, 0]},
    {"boosting": "dart"},
    {"boosting": "forest", "learning_rate": "auto", "sampling": "none", "colsample_bynode": 0.7},
    {"objective": "absolute"},
    {"objective": "poisson", "leaf_steps": 3},
    {"leaf_model": "linear"},
    {"precision": "wide", "max_bins": 1000},
]


def trained(X, y, n_train: int, **params):
    """Train on the first rows; return the task, all rows and the training."""
    task, rows = read_task(FitArguments({"refit": "replay", **params}, X, y, None, None, None, None, None, None))
    return task, rows, train_rows(task, rows.take(np.arange(len(y)) < n_train), {}, 0.0)


def test_leaves_are_fitted_to_all_rows_at_scores_of_all_rows():
    """The example of docs/boosting.md."""
    X, y = np.array([[1.0], [2.0], [3.0], [4.0], [0.0], [5.0]]), np.array([0.0, 0.0, 4.0, 8.0, 3.0, 9.0])
    task, rows, first = trained(X, y, 4, n_estimators=1, **STUMP)
    assert first.result.base_scores.tolist() == [3.0]
    assert first.result.ensemble.value[:, 0].tolist()[1:] == [-3.0, 3.0]
    second = replay_rounds(task, rows, first)
    assert second.result.base_scores.tolist() == [4.0]
    assert second.result.ensemble.value[:, 0].tolist()[1:] == [-3.0, 3.0]
    assert second.result.ensemble.count.tolist() == [6, 3, 3]
    assert second.result.ensemble.threshold[0] == first.result.ensemble.threshold[0]


@pytest.mark.parametrize("params", WAYS, ids=str)
def test_a_replay_of_the_training_rows_finds_the_same_leaf_values(params):
    X, y = example(300)
    if params.get("objective") == "poisson":
        y = np.abs(y)
    task, rows, first = trained(X, y, len(y), **{"n_estimators": 8, **FAST} | params)
    second = replay_rounds(task, rows, first)
    np.testing.assert_array_equal(second.result.ensemble.feature, first.result.ensemble.feature)
    np.testing.assert_allclose(second.result.ensemble.value, first.result.ensemble.value, rtol=1e-4, atol=1e-5)
    before, after = first.result.ensemble.leaf_coefficients, second.result.ensemble.leaf_coefficients
    if before is not None:
        np.testing.assert_allclose(after.slope, before.slope, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(after.intercept, before.intercept, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("objective", ["softmax", Softmax(vector_leaves=True), "one_vs_all"], ids=str)
def test_a_replay_of_the_training_rows_finds_the_same_values_of_classes(objective):
    X, y = labelled(300)
    task, rows, first = trained(X, y, len(y), n_estimators=6, objective=objective, **FAST)
    second = replay_rounds(task, rows, first)
    np.testing.assert_allclose(second.result.ensemble.value, first.result.ensemble.value, rtol=1e-4, atol=1e-5)


@given(seed=st.integers(0, 10_000), n_train=st.integers(20, 100))
@settings(max_examples=15, deadline=None)
def test_each_leaf_of_a_replayed_stump_has_the_mean_residual_of_its_rows(seed, n_train):
    X, y = example(120, seed)
    task, rows, first = trained(X, y, n_train, n_estimators=2, **STUMP)
    trees = replay_rounds(task, rows, first).result.ensemble
    scores = np.full(len(y), y.mean())
    for root in trees.tree_start[:-1]:
        right = X[:, trees.feature[root]] > trees.threshold[root]
        left = root + trees.left[root]
        left_value, right_value = trees.value[left], trees.value[left + 1]
        residuals = y - scores
        assert left_value == pytest.approx(residuals[~right].mean(), abs=1e-6)
        assert right_value == pytest.approx(residuals[right].mean(), abs=1e-6)
        scores += np.where(right, right_value, left_value).reshape(-1)


def test_the_splits_and_the_history_are_those_of_the_first_fit():
    X, y = example()
    first = SapwoodRegressor(**STOPPING).fit(X, y)
    again = SapwoodRegressor(refit="replay", **STOPPING).fit(X, y)
    np.testing.assert_array_equal(again.model_.ensemble.threshold, first.model_.ensemble.threshold)
    assert (again.evals_result_, again.best_score_) == (first.evals_result_, first.best_score_)
    assert again.model_.metadata["n_rows"] == 400
    assert again.model_.ensemble.count[0] == 400


def test_a_replay_predicts_better_than_the_first_fit():
    (X, y), (X_test, y_test) = example(400), example(4000, seed=1)
    losses = []
    for refit in (False, "replay"):
        model = SapwoodRegressor(refit=refit, **STOPPING | {"learning_rate": 0.1}).fit(X, y)
        losses.append(np.mean((model.predict(X_test) - y_test) ** 2))
    assert losses[1] < losses[0]


def categories(n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(4)
    city, colour = draw.integers(0, 60, n), draw.integers(0, 3, n)
    y = (city % 7) + (colour == 1) * (city % 3) + draw.normal(scale=0.3, size=n)
    return pd.DataFrame({"city": city.astype(str), "colour": colour.astype(str), "x": draw.normal(size=n)}), y


@pytest.mark.parametrize("encoding", ["ordered", "greedy", "leave_one_out"])
def test_target_statistics_are_computed_from_all_rows(encoding):
    X, y = categories()
    params = {"category_encoding": encoding, "max_combination": 2, **STOPPING}
    first, again = (SapwoodRegressor(refit=refit, **params).fit(X, y).model_ for refit in (False, "replay"))
    for model, n_rows in ((first, first.metadata["n_rows"]), (again, 400)):
        assert {column.counts.sum() for column in model.transformer.columns if hasattr(column, "counts")} == {n_rows}
    assert [c if isinstance(c, int) else c.sources for c in first.transformer.columns] == [
        c if isinstance(c, int) else c.sources for c in again.transformer.columns
    ]


@pytest.mark.parametrize("encoding", ["one_hot", "partition", "frequency", "holdout"])
def test_other_encodings_keep_the_columns_of_the_first_fit(encoding):
    X, y = categories()
    first, again = (
        SapwoodRegressor(refit=refit, category_encoding=encoding, **STOPPING).fit(X, y).model_
        for refit in (False, "replay")
    )
    assert first.transformer.n_columns == again.transformer.n_columns
    assert np.mean((again.predict(X) - y) ** 2) < np.var(y)


def test_a_continued_model_keeps_the_trees_that_it_had():
    X, y = example()
    first = SapwoodRegressor(n_estimators=5, **FAST).fit(X, y)
    again = SapwoodRegressor(refit="replay", **STOPPING).fit(X, y, init_model=first)
    n_nodes = len(first.model_.ensemble.value)
    np.testing.assert_array_equal(again.model_.ensemble.value[:n_nodes], first.model_.ensemble.value)
    assert np.mean((again.predict(X) - y) ** 2) < np.mean((first.predict(X) - y) ** 2)


def test_an_interrupted_replay_leaves_the_model_of_before(monkeypatch):
    X, y = example()

    class Requested:
        is_requested = True

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    first = SapwoodRegressor(**STOPPING).fit(X, y)
    monkeypatch.setattr(replay, "Interruption", Requested)
    again = SapwoodRegressor(refit="replay", on_interrupt="return", **STOPPING).fit(X, y)
    assert again.stopped_ == "interrupted"
    np.testing.assert_array_equal(again.predict(X), first.predict(X))


def test_ordered_boosting_replays_the_model_without_its_supporting_models():
    X, y = labelled()
    model = SapwoodClassifier(boosting="ordered", refit="replay", **STOPPING).fit(X, y)
    assert model.score(X, y) > 0.6
    assert model.model_.metadata["n_rows"] == 400


def test_trees_are_kept_for_a_replay_only():
    X, y = example()
    task, rows = read_task(FitArguments({"n_estimators": 3}, X, y, None, None, None, None, None, None))
    training = train_rows(task, rows, {}, 0.0)
    assert training.result.rounds == ()
    assert training.prepared is None
    replayed = dataclasses.replace(task.params.evaluation, refit="replay")
    task = dataclasses.replace(task, params=dataclasses.replace(task.params, evaluation=replayed))
    assert len(train_rows(task, rows, {}, 0.0).result.rounds) == 3
