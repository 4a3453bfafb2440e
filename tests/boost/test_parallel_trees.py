"""Several trees per round on the same gradients (``parallel_trees``)."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

import sapwood
from sapwood import Dart, Goss, SapwoodClassifier, SapwoodRegressor, Uniform
from sapwood.errors import ParameterError
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.objectives import Quantile, Softmax
from tests.boost.examples import example, labelled

X, Y = example()
_, LABELS = labelled()
FEW = {"n_estimators": 4, "max_leaves": 6, "min_child_samples": 5, "parallel_trees": 3}


def test_a_round_is_the_mean_of_its_trees_by_hand():
    """Two bootstrap samples of four rows: every leaf value is half of η times the mean of its sampled targets."""
    table, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 0.0, 4.0, 4.0])
    params = {"n_estimators": 1, "learning_rate": 0.5, "reg_lambda": 0.0, "min_child_samples": 1, "init": 0.0}
    model = sapwood.train(params | {"parallel_trees": 2, "sampling": Uniform(replacement=True)}, table, y)
    assert model.n_iterations == 1 and model.ensemble.n_trees == 2
    for tree in model.ensemble:
        leaf = tree.feature < 0
        np.testing.assert_allclose(tree.value[leaf, 0], 0.25 * -tree.gradient[leaf] / tree.hessian[leaf], rtol=1e-6)
    assert set(np.unique(model.predict(table))) <= {0.0, 0.5, 1.0, 1.5, 2.0}


def test_xgboost_weighs_the_trees_of_a_round_alike():
    """Without sampled rows and with one column per tree, both average the same stumps."""
    params = {"max_depth": 1, "learning_rate": 0.6, "reg_lambda": 1.0, "min_child_weight": 0.0}
    theirs = xgboost.train(
        params | {"num_parallel_tree": 4, "tree_method": "exact", "base_score": 0.0, "subsample": 1.0},
        xgboost.DMatrix(X[:, :1], Y), 1,
    )  # fmt: skip
    one = SapwoodRegressor(n_estimators=1, init=0.0, split_search="exact", min_child_samples=1, **params)
    np.testing.assert_allclose(theirs.predict(xgboost.DMatrix(X[:, :1])), one.fit(X[:, :1], Y).predict(X[:, :1]), 1e-5)


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.7},
        {"sampling": Goss(0.2, 0.3, full_rounds=1)},
        {"sampling": "mvs"},
        {"sampling": "bayesian"},
        {"colsample_bynode": 0.5, "growth": "symmetric", "max_leaves": "auto", "min_child_samples": "auto"},
        {"colsample_bytree": 0.5, "growth": "levelwise", "split_search": "exact"},
        {"subsample": 0.7, "boosting": "ordered"},
        {"subsample": 0.7, "boosting": Dart(0.5, skip=0.0)},
        {"subsample": 0.7, "boosting": "forest"},
        {"subsample": 0.7, "objective": "absolute"},
        {"subsample": 0.7, "objective": Quantile([0.1, 0.9])},
        {"subsample": 0.7, "objective": "huber", "leaf_steps": 3},
        {"subsample": 0.7, "leaf_model": "linear"},
        {"random_strength": 20.0},
    ],
    ids=str,
)  # fmt: skip
def test_all_options_train_rounds_of_different_trees(params):
    model = SapwoodRegressor(**FEW | params).fit(X, Y)
    ensemble = model.model_.ensemble
    n_outputs = ensemble.n_outputs
    assert ensemble.tree_round.tolist() == np.repeat(np.arange(4), 3 * n_outputs).tolist()
    contents = {ensemble[k].threshold.tobytes() + ensemble[k].value.tobytes() for k in range(ensemble.n_trees)}
    assert len(contents) > 4 * n_outputs
    stages = list(model.staged_predict(X))
    assert len(stages) == 4
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_allclose(stages[1], SapwoodRegressor(**FEW | params | {"n_estimators": 2}).fit(X, Y).predict(X),
                               rtol=0, atol=1e-12)  # fmt: skip
    np.testing.assert_array_equal(model.model_[:2].predict(X), stages[1])


@pytest.mark.parametrize(
    "params", [{"objective": "absolute"}, {"leaf_steps": 3}, {"leaf_steps": 2, "boosting": "ordered"}]
)
def test_trees_of_a_round_do_not_see_each_other(params):
    """The second tree of a round is the one that the first would be with its sample."""
    labels = (Y > 0).astype(int)
    estimator, target = (SapwoodRegressor, Y) if "objective" in params else (SapwoodClassifier, labels)
    fitted = estimator(**{**FEW, "n_estimators": 1, "subsample": 0.7, **params}).fit(X, target).model_
    later = fitted.refit_leaves(X, target, decay_rate=0.0)
    values = [tree.value.copy() for tree in later.ensemble]
    alone = [fitted.ensemble[k] for k in range(3)]
    for k, tree in enumerate(alone):
        single = sapwood.model.model.replace(fitted, ensemble=_only(fitted.ensemble, k))
        refitted = single.refit_leaves(X, target, decay_rate=0.0)
        np.testing.assert_array_equal(refitted.ensemble[0].value, values[k])
        assert len(tree.value) == len(values[k])


def _only(ensemble, k):
    builder = EnsembleBuilder(ensemble.n_outputs, ensemble.width)
    builder.append(ensemble[k], int(ensemble.tree_output[k]))
    return builder.build()


@pytest.mark.parametrize("objective", ["softmax", Softmax(vector_leaves=True)], ids=str)
def test_classes_files_and_early_stopping(objective, tmp_path):
    model = SapwoodClassifier(**FEW | {"n_estimators": 30}, subsample=0.6, objective=objective, early_stopping_rounds=3)
    model.fit(X[:300], LABELS[:300], eval_set=(X[300:], LABELS[300:]))
    assert model.model_.ensemble.n_trees == model.n_iter_ * 3 * (1 if objective != "softmax" else 3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(sapwood.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert model.shap_values(X[:5]).shape == (5, 3, 3)


def test_the_same_bits_for_any_team_and_after_a_checkpoint(tmp_path, monkeypatch):
    params = FEW | {"subsample": 0.6, "colsample_bynode": 0.7}
    prints = set()
    for size in (1, 3, 8):
        monkeypatch.setenv("SAPWOOD_TEAM", str(size))
        prints.add(SapwoodRegressor(**params).fit(X, Y).model_.fingerprint())
    saved = params | {"checkpoint": tmp_path / "run", "checkpoint_every": 0}

    def kill(progress):
        if progress.round == 2:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        SapwoodRegressor(**saved, callbacks=kill).fit(X, Y)
    resumed = SapwoodRegressor(**saved).fit(X, Y)
    assert (resumed.n_iter_, prints) == (params["n_estimators"], {resumed.model_.fingerprint()})


def test_continued_rounds_draw_other_samples():
    first = SapwoodRegressor(**FEW, subsample=0.6).fit(X, Y)
    later = SapwoodRegressor(**FEW | {"parallel_trees": 1}, subsample=0.6).fit(X, Y, init_model=first)
    whole = SapwoodRegressor(**FEW | {"n_estimators": 8}, subsample=0.6).fit(X, Y)
    again = SapwoodRegressor(**FEW, subsample=0.6).fit(X, Y, init_model=first)
    assert later.n_iter_ == 8 and later.model_.ensemble.n_trees == 16
    assert again.model_.fingerprint() == whole.model_.fingerprint()


def test_equal_trees_are_refused():
    with pytest.raises(ParameterError, match="parallel_trees=3: all trees of a round would be the same; use subsample"):
        SapwoodRegressor(parallel_trees=3).fit(X, Y)


def test_the_name_of_xgboost_is_translated():
    with pytest.raises(TypeError, match=r"num_parallel_tree.*parallel_trees"):
        SapwoodRegressor(num_parallel_tree=3)
