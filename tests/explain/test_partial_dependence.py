from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.explain.partial_dependence import accumulated_local_effects, partial_dependence
from tests.explain.test_importance import model_of
from tests.explain.test_shapley import people
from tests.model.forests import small_tree

ROWS = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 3.0, 0.0]])


def test_a_hand_computes_partial_dependence():
    """With x1 = 1 the rows score 1, 10, 10; with x1 = 3 they score 1, 20, 20."""
    effect = partial_dependence(model_of(small_tree()), ROWS, "f1", grid=[1.0, 3.0])
    np.testing.assert_allclose(effect.individual, [[1, 1], [10, 20], [10, 20]])
    np.testing.assert_allclose(effect.average, [7, 41 / 3])


def test_a_hand_computes_partial_dependence_by_cover():
    """8 of 20 training rows go left at x0: 0.4 · 1 + 0.6 · 10 and 0.4 · 1 + 0.6 · 20."""
    effect = partial_dependence(model_of(small_tree()), ROWS, 1, grid=[1.0, 3.0], method="recursion")
    np.testing.assert_allclose(effect.average, [6.4, 12.4])
    assert effect.individual is None


def test_the_exact_grid_has_every_step_of_the_model():
    X, y = people(300)
    model = SapwoodRegressor(n_estimators=5).fit(X, y)
    exact = model.partial_dependence(X, "age", grid="exact")
    fine = model.partial_dependence(X, "age", grid=np.linspace(0, 100, 997))
    assert np.isnan(exact.grid[-1])
    assert set(np.round(fine.average, 9)) <= set(np.round(exact.average, 9))


def test_categories_are_a_grid_of_their_own():
    X, y = people(300)
    model = SapwoodRegressor(n_estimators=20).fit(X, y)
    for method in ("brute", "recursion"):
        effect = model.partial_dependence(X, "job", method=method)
        assert effect.grid.tolist() == [None, "baker", "clerk", "diver", "monk", "nurse"]
        assert effect.grid[np.argmax(effect.average)] == "diver"


def test_partial_dependence_of_classes_is_that_of_scikit_learn():
    inspection = pytest.importorskip("sklearn.inspection")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = SapwoodClassifier(n_estimators=5).fit(X, np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5]))
    theirs = inspection.partial_dependence(model, X, [0], grid_resolution=7, method="brute", kind="both")
    ours = model.partial_dependence(X, 0, grid=theirs["grid_values"][0], response="prediction")
    np.testing.assert_allclose(ours.average.T, theirs["average"], rtol=1e-12)
    np.testing.assert_allclose(ours.individual.transpose(2, 0, 1), theirs["individual"], rtol=1e-12)


def test_the_display_of_scikit_learn_draws_curves_and_pairs():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from sklearn.inspection import PartialDependenceDisplay

    X, y = people(200)
    X = X.fillna({"job": "none"})  # scikit-learn sorts categories, which it cannot with missing ones among them
    model = SapwoodRegressor(n_estimators=5).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(
        model, X, ["age", "job"], categorical_features=["job"], grid_resolution=7
    )
    assert len(display.axes_.ravel()) == 2
    numbers = np.random.default_rng(0).normal(size=(100, 3))
    model = SapwoodRegressor(n_estimators=5).fit(numbers, numbers[:, 0] * numbers[:, 1])
    PartialDependenceDisplay.from_estimator(model, numbers, [0, (0, 1)], grid_resolution=5, kind="average")
    pyplot.close("all")


def test_a_hand_computes_accumulated_local_effects():
    """Edges 1 and 3, one interval: rows 2 and 3 change by 10, row 1 by 0; centred at half the step."""
    effect = accumulated_local_effects(model_of(small_tree()), ROWS, "f1", n_intervals=1)
    np.testing.assert_array_equal(effect.grid, [1.0, 3.0])
    np.testing.assert_allclose(effect.average, [-10 / 3, 10 / 3])


def test_accumulated_effects_of_an_additive_model_are_its_curve():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    model = SapwoodRegressor(n_estimators=100, max_leaves=2).fit(X, X[:, 0] ** 2 + X[:, 1])
    effect = model.accumulated_local_effects(X, 0, n_intervals=20)
    curve = model.partial_dependence(X, 0, grid=effect.grid)
    np.testing.assert_allclose(np.diff(effect.average), np.diff(curve.average), rtol=1e-9, atol=1e-9)


def test_what_cannot_be_drawn_is_an_error():
    X, y = people(100)
    model = SapwoodRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ParameterError, match="categorical"):
        model.accumulated_local_effects(X, "job")
    with pytest.raises(InputError, match="did you mean 'age'"):
        model.partial_dependence(X, "agee")
    with pytest.raises(ParameterError, match="method must be one of 'brute', 'recursion'"):
        model.partial_dependence(X, "age", method="fast")
    with pytest.raises(ParameterError, match="averages scores"):
        model.partial_dependence(X, "age", method="recursion", response="prediction")
    with pytest.raises(ParameterError, match="at least 2 points"):
        model.partial_dependence(X, "age", grid=1)
