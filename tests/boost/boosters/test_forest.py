"""Random forests of the engine: exact leaves, averages that are taken anew, and trees added to a forest."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.model.tree_weights import round_value
from sapwood.objectives import Quantile
from tests.boost.examples import example, labelled

X, Y = example()
_, LABELS = labelled()
FOREST = {"boosting": "forest", "colsample_bynode": 0.7, "min_child_samples": 5}


def leaf_targets(model: sapwood.Model, k: int, y: np.ndarray) -> dict[int, np.ndarray]:
    """Return the targets of the rows of each leaf of tree k, which was grown on all rows."""
    leaves = model.leaf_indices(X)[:, k]
    return {leaf: y[leaves == leaf] for leaf in np.unique(leaves).tolist()}


@pytest.mark.parametrize(
    ("objective", "statistic"),
    [
        ("squared", np.mean),
        ("absolute", np.median),
        (Quantile(0.9), lambda y: np.quantile(y, 0.9, method="inverted_cdf")),
    ],
    ids=["mean", "median", "quantile"],
)
def test_leaves_have_the_means_or_quantiles_of_their_rows(objective, statistic):
    fitted = SapwoodRegressor(n_estimators=3, sampling="none", objective=objective, **FOREST).fit(X, Y)
    assert fitted.params_["reg_lambda"] == 0.0
    model = fitted.model_
    for k in range(3):
        for leaf, targets in leaf_targets(model, k, Y).items():
            value = model.base_scores[0] + 3 * model.ensemble[k].value[leaf, 0]
            low, high = np.sort(targets)[[(len(targets) - 1) // 2, len(targets) // 2]]
            if statistic is np.median:
                assert low - 1e-12 <= value <= high + 1e-12
            else:
                np.testing.assert_allclose(value, statistic(targets), rtol=1e-5, atol=1e-6)


def test_reg_lambda_shrinks_leaves_if_it_is_set():
    fitted = SapwoodRegressor(n_estimators=3, sampling="none", reg_lambda=10.0, **FOREST).fit(X, Y)
    assert fitted.params_["reg_lambda"] == 10.0


@pytest.mark.parametrize("labels", [LABELS == "low", LABELS], ids=["two classes", "three classes"])
def test_probabilities_are_the_mean_frequencies_of_the_leaves(labels):
    fitted = SapwoodClassifier(n_estimators=4, sampling="none", **FOREST).fit(X, labels)
    assert fitted.params_["objective"] == "brier"
    mean = np.zeros((len(X), len(fitted.classes_)))
    for k in range(4):
        leaves = fitted.apply(X)[:, k]
        for leaf in np.unique(leaves):
            rows = leaves == leaf
            mean[rows] += [np.mean(labels[rows] == label) / 4 for label in fitted.classes_]
    np.testing.assert_allclose(fitted.predict_proba(X), mean, atol=1e-6)
    decision = fitted.decision_function(X)
    if decision.ndim == 1:
        assert np.array_equal(decision > 0, fitted.predict_proba(X)[:, 1] > 0.5)


@pytest.mark.parametrize(
    "params",
    [{}, {"leaf_model": "linear"}, {"objective": "absolute"}, {"parallel_trees": 2}, {"growth": "symmetric"}],
    ids=str,
)  # fmt: skip
def test_slices_are_forests_of_their_trees(params):
    params = FOREST | params | ({"min_child_samples": "auto"} if "growth" in params else {})
    model = SapwoodRegressor(n_estimators=6, **params).fit(X, Y).model_
    for n in (1, 2, 5):
        assert model[:n].fingerprint() == SapwoodRegressor(n_estimators=n, **params).fit(X, Y).model_.fingerprint()
    trees = [model[k : k + 1].predict(X) for k in range(6)]
    np.testing.assert_allclose(model[2:5].predict(X), np.mean(trees[2:5], axis=0), atol=1e-12)
    np.testing.assert_allclose(model[::2].predict(X), np.mean(trees[::2], axis=0), atol=1e-12)
    np.testing.assert_allclose(model[1::3].predict(X), np.mean(trees[1::3], axis=0), atol=1e-12)
    assert model[:][:4][1:].fingerprint() == model[1:4].fingerprint()


@pytest.mark.parametrize(
    "params", [{}, {"leaf_model": "linear"}, {"objective": "absolute"}, {"subsample": 0.5}], ids=str
)
def test_trees_added_to_a_forest_give_the_forest_of_all(params, tmp_path):
    whole = SapwoodRegressor(n_estimators=7, **FOREST | params).fit(X, Y)
    first = SapwoodRegressor(n_estimators=3, **FOREST | params).fit(X, Y)
    later = SapwoodRegressor(n_estimators=4, **FOREST | params).fit(X, Y, init_model=first)
    assert later.n_iter_ == 7
    assert later.model_.fingerprint() == whole.model_.fingerprint()
    warm = SapwoodRegressor(n_estimators=1, warm_start=True, **FOREST | params).fit(X, Y)
    assert warm.set_params(n_estimators=7).fit(X, Y).model_.fingerprint() == whole.model_.fingerprint()
    first.save(tmp_path / "first")
    from_file = SapwoodRegressor(n_estimators=4, **FOREST | params).fit(X, Y, init_model=tmp_path / "first")
    assert from_file.model_.fingerprint() == whole.model_.fingerprint()


@pytest.mark.parametrize("labels", [LABELS == "low", LABELS], ids=["two classes", "three classes"])
def test_validation_scores_of_a_continued_forest_are_those_of_the_whole(labels):
    sets = {"a": (X[:300], labels[:300]), "b": (X[300:], labels[300:])}
    whole = SapwoodClassifier(n_estimators=6, **FOREST).fit(*sets["a"], eval_set=sets["b"])
    first = SapwoodClassifier(n_estimators=2, **FOREST).fit(*sets["a"])
    later = SapwoodClassifier(n_estimators=4, **FOREST).fit(*sets["a"], eval_set=sets["b"], init_model=first)
    [whole_values], [values] = (next(iter(one.evals_result_.values())).values() for one in (whole, later))
    np.testing.assert_allclose(values, whole_values[2:], rtol=1e-12)
    assert later.model_.fingerprint() == whole.model_.fingerprint()


def test_a_forest_after_boosting_is_fitted_to_the_residuals():
    boosted = SapwoodRegressor(n_estimators=20).fit(X, Y)
    both = SapwoodRegressor(n_estimators=5, **FOREST).fit(X, Y, init_model=boosted)
    assert both.n_iter_ == 25
    np.testing.assert_allclose(both.predict(X, iterations=20), boosted.predict(X), atol=1e-12)


def test_rounded_values_are_found_again_after_a_division():
    values = round_value(np.random.default_rng(0).normal(size=10_000) * 10.0 ** np.arange(-5000, 5000).clip(-250, 250))
    for n in (3, 7, 100, 9973):
        assert np.array_equal(round_value(values * (1.0 / n) * n), values)
    assert round_value(np.array([0.0, 1.0, -2.5])).tolist() == [0.0, 1.0, -2.5]
