"""Leaf values refitted to other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import sapwood
from sapwood import Dart, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.objectives import GradientLoss, Quantile, Softmax

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 4))
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.array(["b", "a", "c"])[np.digitize(Y, [0.0, 1.0])]
FRAME = pd.DataFrame({"x": X[:, 0], "city": LABELS})


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "symmetric"},
        {"boosting": "ordered"},
        {"leaf_steps": 3, "objective": "huber"},
        {"objective": "absolute"},
        {"objective": Quantile([0.1, 0.9])},
        {"split_search": "exact", "reg_alpha": 0.1, "max_delta_step": 0.3},
    ],
    ids=str,
)
def test_the_rows_of_training_give_the_values_of_training(params):
    model = SapwoodRegressor(n_estimators=8, **params).fit(X, Y).model_
    np.testing.assert_array_equal(model.refit_leaves(X, Y, decay_rate=0.0).predict(X), model.predict(X))


@pytest.mark.parametrize("objective", ["softmax", "one_vs_all", Softmax(vector_leaves=True)], ids=str)
def test_the_scores_of_all_classes_are_refitted(objective):
    fitted = SapwoodClassifier(n_estimators=5, objective=objective).fit(X, LABELS)
    later = fitted.refit_leaves(X, LABELS, decay_rate=0.0)
    np.testing.assert_array_equal(later.predict_proba(X), fitted.predict_proba(X))


def test_weights_categories_and_a_model_file(tmp_path):
    weight = RANDOM.uniform(1, 2, size=400)
    model = SapwoodRegressor(n_estimators=5).fit(FRAME, Y, sample_weight=weight).model_
    model.save(tmp_path / "model")
    refitted = sapwood.load(tmp_path / "model").refit_leaves(FRAME, Y, sample_weight=weight, decay_rate=0.5)
    np.testing.assert_allclose(refitted.predict(FRAME), model.predict(FRAME), rtol=0.1, atol=0.1)


def test_a_leaf_moves_from_its_value_to_that_of_the_new_rows():
    table, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 0.0, 4.0, 4.0])
    params = {"n_estimators": 1, "learning_rate": 0.5, "reg_lambda": 0.0, "min_child_samples": 1, "init": 0.0}
    model = sapwood.train(params, table, y)
    assert model.predict(table).tolist() == [0.0, 0.0, 2.0, 2.0]
    # New rows of the right leaf have the mean 8, of which half is learned; a quarter of the old value stays.
    refitted = model.refit_leaves([[1.0], [1.0]], [6.0, 10.0], decay_rate=0.25)
    assert refitted.predict(table).tolist() == [0.0, 0.0, 0.25 * 2.0 + 0.75 * 4.0, 0.25 * 2.0 + 0.75 * 4.0]


def test_a_decay_rate_of_1_changes_nothing():
    model = SapwoodRegressor(n_estimators=5).fit(X, Y).model_
    np.testing.assert_allclose(model.refit_leaves(X, -Y, decay_rate=1.0).predict(X), model.predict(X), rtol=1e-12)


def test_new_rows_are_predicted_better():
    fitted = SapwoodRegressor(n_estimators=30).fit(X, Y)
    later = fitted.refit_leaves(X, 2.0 * Y + 1.0, decay_rate=0.1)
    assert later is not fitted
    assert later.score(X, 2.0 * Y + 1.0) > fitted.score(X, 2.0 * Y + 1.0) + 0.3
    assert later.model_.trees["count"].tolist() == fitted.model_.trees["count"].tolist()


def test_each_tree_of_a_forest_has_the_means_of_the_new_rows():
    fitted = SapwoodRegressor(n_estimators=10, boosting="forest").fit(X, Y)
    later = fitted.refit_leaves(X, Y + 5.0, decay_rate=0.0)
    assert abs(later.predict(X).mean() - fitted.predict(X).mean() - 5.0) < 0.5


def test_monotone_constraints_still_hold():
    fitted = SapwoodRegressor(n_estimators=20, monotone_constraints={0: 1}, min_child_samples=5).fit(X, Y)
    later = fitted.refit_leaves(X[:30], -Y[:30], decay_rate=0.1)
    higher = X + np.array([0.7, 0, 0, 0])
    assert (later.predict(higher) >= later.predict(X)).all()


def test_an_estimator_as_init_is_an_offset():
    fitted = SapwoodRegressor(n_estimators=5, init=LinearRegression()).fit(X, Y)
    np.testing.assert_allclose(fitted.refit_leaves(X, Y, decay_rate=0.0).predict(X), fitted.predict(X), rtol=1e-9)


def test_a_function_is_given_again():
    loss = GradientLoss(lambda y, f: (f - y, np.ones_like(f)))
    fitted = SapwoodRegressor(n_estimators=5, objective=loss).fit(X, Y)
    with pytest.raises(ParameterError, match="pass the function again"):
        fitted.model_.refit_leaves(X, Y)
    refitted = fitted.model_.refit_leaves(X, Y, decay_rate=0.0, objective=loss)
    np.testing.assert_array_equal(refitted.predict(X), fitted.predict(X))
    assert fitted.refit_leaves(X, Y).n_iter_ == 5


@pytest.mark.parametrize(
    ("params", "words"),
    [({"leaf_model": "linear"}, "leaf_model='linear'"), ({"boosting": Dart(1.0, 0.0)}, "boosting='dart'")],
)
def test_leaves_without_a_value_of_their_own_are_refused(params, words):
    model = SapwoodRegressor(n_estimators=8, **params).fit(X, Y).model_
    with pytest.raises(ParameterError, match=f"refit_leaves is not supported with {words}"):
        model.refit_leaves(X, Y)


def test_wrong_arguments_are_refused():
    model = SapwoodRegressor(n_estimators=2).fit(X, Y).model_
    with pytest.raises(ParameterError, match="decay_rate must be a number from 0 to 1, got 2"):
        model.refit_leaves(X, Y, decay_rate=2)
    with pytest.raises(ParameterError, match="does not fit the model of 1 output"):
        model.refit_leaves(X, np.abs(Y), objective="poisson")
    with pytest.raises(InputError, match="row 0 of y has the label 'z'"):
        SapwoodClassifier(n_estimators=2).fit(X, LABELS).refit_leaves(X, ["z"] * 400)


def test_the_number_of_threads_does_not_matter():
    model = SapwoodRegressor(n_estimators=5).fit(X, Y).model_
    prints = {model.refit_leaves(X, -Y, n_jobs=n).fingerprint() for n in (1, 2)}
    assert len(prints) == 1
