"""Out-of-bag scores: training rows predicted by the trees that were grown without them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score, r2_score

import sapwood
from sapwood import SapwoodClassifier, SapwoodForestRegressor, SapwoodRegressor, Uniform
from sapwood.boost.sampling.uniform import poisson_bounds
from sapwood.errors import ParameterError, SapwoodWarning
from sapwood.kernels.numeric.random import SAMPLING, draw_many
from tests.boost.examples import example, labelled

X, Y = example()
_, LABELS = labelled()
FOREST = {"boosting": "forest", "colsample_bynode": 0.7, "min_child_samples": 5, "oob_score": True}


def bootstrap_counts(round: int, n: int = len(X)) -> np.ndarray:
    """Return how often a forest of seed 0 samples each row in a round."""
    hashes = np.empty(n, dtype=np.uint64)
    draw_many(0, SAMPLING, round, np.arange(n, dtype=np.uint64), hashes)
    return np.searchsorted(poisson_bounds(1.0), hashes, side="right")


@pytest.mark.parametrize(
    "more", [{}, {"objective": "absolute"}, {"leaf_model": "linear"}, {"growth": "symmetric"}], ids=str
)
def test_a_forest_predicts_rows_by_the_trees_grown_without_them(more):
    more = more | ({"min_child_samples": "auto"} if "growth" in more else {})
    fitted = SapwoodRegressor(n_estimators=20, **FOREST | more).fit(X, Y)
    left_out = np.array([bootstrap_counts(k) == 0 for k in range(20)])
    trees = np.array([fitted.model_[k : k + 1].predict(X) for k in range(20)])
    expected = np.sum(trees * left_out, axis=0) / left_out.sum(axis=0)
    np.testing.assert_allclose(fitted.oob_prediction_, expected, atol=1e-9)
    assert fitted.oob_score_ == pytest.approx(r2_score(Y, expected))
    assert fitted.model_.info()["oob_score"] == fitted.oob_score_
    assert not hasattr(fitted, "oob_decision_function_")


@pytest.mark.parametrize("labels", [LABELS == "low", LABELS], ids=["two classes", "three classes"])
@pytest.mark.parametrize("more", [{}, {"parallel_trees": 3}, {"objective": "softmax"}], ids=str)
def test_a_forest_of_classes_has_out_of_bag_probabilities(labels, more):
    fitted = SapwoodClassifier(n_estimators=30, **FOREST | more).fit(X, labels)
    found = fitted.oob_decision_function_
    assert found.shape == (len(X), len(fitted.classes_))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    accuracy = np.mean(fitted.classes_[found.argmax(axis=1)] == labels)
    assert fitted.oob_score_ == accuracy
    fresh = np.mean(fitted.predict(labelled(2000, seed=1)[0]) == (labelled(2000, seed=1)[1] if len(fitted.classes_) > 2
                                                                  else labelled(2000, seed=1)[1] == "low"))  # fmt: skip
    assert abs(accuracy - fresh) < 0.08  # an honest estimate; the accuracy on training rows is far above


def test_it_is_near_that_of_scikit_learn():
    ours = SapwoodRegressor(n_estimators=100, max_leaves=None, **FOREST | {"min_child_samples": 5}).fit(X, Y)
    theirs = RandomForestRegressor(100, min_samples_leaf=5, max_features=0.7, oob_score=True, random_state=0).fit(X, Y)
    assert abs(ours.oob_score_ - theirs.oob_score_) < 0.03
    assert np.corrcoef(ours.oob_prediction_, theirs.oob_prediction_)[0, 1] > 0.97


def test_a_function_scores_the_predictions():
    fitted = SapwoodClassifier(n_estimators=30, **FOREST | {"oob_score": balanced_accuracy_score}).fit(X, LABELS)
    labels = fitted.classes_[fitted.oob_decision_function_.argmax(axis=1)]
    assert fitted.oob_score_ == balanced_accuracy_score(LABELS, labels)


def test_rows_without_weight_or_sampled_by_every_tree_have_no_prediction():
    weight = np.ones(len(X))
    weight[::10] = 0.0
    with pytest.warns(SapwoodWarning, match="rows were in the sample of every tree"):
        fitted = SapwoodRegressor(n_estimators=2, **FOREST).fit(X, Y, sample_weight=weight)
    assert np.isnan(fitted.oob_prediction_[::10]).all()
    assert np.isfinite(fitted.oob_prediction_).sum() > 100


def test_boosting_compares_the_loss_of_the_rows_that_a_round_left_out():
    fitted = SapwoodRegressor(n_estimators=6, subsample=0.5, oob_score=True, min_child_samples=5).fit(X, Y)
    hashes = np.empty(len(X), dtype=np.uint64)
    stages = [np.full(len(X), fitted.model_.base_scores[0]), *fitted.staged_predict(X)]
    for k in range(6):
        draw_many(0, SAMPLING, k, np.arange(len(X), dtype=np.uint64), hashes)
        out = hashes >= 2**63
        before, after = (0.5 * np.mean((Y[out] - stage[out]) ** 2) for stage in stages[k : k + 2])
        assert fitted.oob_scores_[k] == pytest.approx(after)
        assert fitted.oob_improvement_[k] == pytest.approx(before - after)
    assert fitted.oob_score_ == fitted.oob_scores_[-1]
    theirs = GradientBoostingRegressor(n_estimators=6, subsample=0.5, max_leaf_nodes=31, random_state=0).fit(X, Y)
    np.testing.assert_allclose(fitted.oob_improvement_.sum(), 0.5 * theirs.oob_improvement_.sum(), rtol=0.3)


@pytest.mark.parametrize("params", [FOREST, {"subsample": 0.6, "oob_score": True}], ids=["forest", "boosting"])
def test_early_stopping_threads_and_checkpoints_do_not_change_the_scores(params, tmp_path, monkeypatch):
    whole = SapwoodRegressor(n_estimators=12, **params).fit(X, Y)
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    path = tmp_path / "run"
    stopped = SapwoodRegressor(n_estimators=12, checkpoint=path, checkpoint_every=0, time_limit=1e-9, **params)
    with_few = stopped.fit(X, Y) if params is not FOREST else None
    assert with_few is None or len(with_few.oob_scores_) == 1
    for _ in range(2):  # resumed, then finished already
        fitted = SapwoodRegressor(n_estimators=12, checkpoint=path, checkpoint_every=0, **params).fit(X, Y)
        assert fitted.oob_score_ == whole.oob_score_
    stopping = SapwoodRegressor(n_estimators=200, early_stopping_rounds=20, **params).fit(X, Y)
    if params is FOREST:
        assert np.isfinite(stopping.oob_prediction_).sum() <= 0.9 * len(X)  # the others were set aside
    else:
        assert len(stopping.oob_scores_) == stopping.n_iter_


def test_attributes_of_an_earlier_fit_are_removed():
    fitted = SapwoodRegressor(n_estimators=20, **FOREST).fit(X, Y)
    fitted.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(fitted, "oob_score_") and not hasattr(fitted, "oob_prediction_")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "oob_score is not supported without uniform sampling of rows: no rows are left out"),
        ({"sampling": "goss"}, "without uniform sampling"),
        ({"subsample": 0.5, "oob_score": max}, "oob_score as a function is not supported with boosting='plain'"),
        ({"subsample": 0.5, "oob_score": "yes"}, "oob_score must be True, False or a function"),
        ({"subsample": 0.5, "refit": "replay", "early_stopping_rounds": 3}, "fitted again have seen all rows"),
        ({"subsample": 0.5, "effort": "balanced"}, "use effort='fast'"),
    ],
)
def test_what_cannot_be_scored_is_refused(params, message):
    with pytest.raises(ParameterError, match=message):
        SapwoodRegressor(**{"oob_score": True} | params).fit(X, Y)


def test_train_keeps_the_score_in_the_model(tmp_path):
    params = {"boosting": "forest", "oob_score": True, "sampling": Uniform(replacement=True), "n_estimators": 20}
    model = sapwood.train(params, X, Y)
    model.save(tmp_path / "model")
    assert sapwood.load(tmp_path / "model").info()["oob_score"] == model.info()["oob_score"] > 0.3


@pytest.mark.parametrize(
    "fit",
    [
        lambda params: SapwoodRegressor(boosting="forest", **params).fit(X, Y),
        lambda params: sapwood.train({"boosting": "forest", **params}, X, Y),
        lambda params: SapwoodForestRegressor(**params).fit(X, Y),
    ],
    ids=["estimator", "train", "forest"],
)
def test_the_warning_of_rows_without_a_prediction_names_the_line_of_the_user(fit):
    with pytest.warns(SapwoodWarning, match="no out-of-bag prediction") as found:
        fit({"n_estimators": 1, "oob_score": True})
    assert found[-1].filename == __file__
