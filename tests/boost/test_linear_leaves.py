"""Leaves that answer by a linear model of the features on the way to them."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import Linear, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.model.tree import LEAF

ONE = {"n_estimators": 1, "learning_rate": 1.0, "max_leaves": 6}
GROWTHS = [
    {"growth": "leafwise"},
    {"growth": "levelwise"},
    {"growth": "symmetric", "max_depth": 3, "max_leaves": None},
    {"growth": "leafwise", "split_search": "exact"},
]


def example(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(n, 4))
    X[:, 3] = 1e6 + 3 * X[:, 3]
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * X[:, 2] + 0.1 * random.normal(size=n)


def features_above(tree, leaf: int) -> list[int]:
    """The features on the way from the root to a leaf."""
    found, node = set(), leaf
    while node != 0:
        node = next(k for k in range(node) if tree.feature[k] != LEAF and node - tree.left[k] in (0, 1))
        found.add(int(tree.feature[node]))
    return sorted(found)


def slow_ridge(X: np.ndarray, gradient: np.ndarray, hessian: np.ndarray, reg_lambda: float, penalty: float):
    """The intercept at the weighted means, the means, and the slopes of a ridge regression of −g/h with weights h."""
    total = hessian.sum()
    mean = hessian @ X / total
    around = X - mean
    matrix = around.T @ (hessian[:, None] * around)
    slopes = np.linalg.solve(matrix + np.diag(np.diag(matrix)) * penalty / total, -around.T @ gradient)
    return -gradient.sum() / (total + reg_lambda), mean, slopes


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
@pytest.mark.parametrize("penalty", [0.0, 5.0])
def test_each_leaf_is_a_ridge_regression_of_the_features_above_it(growth, penalty):
    X, y = example()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    fitted = SapwoodRegressor(**(ONE | growth), leaf_model=Linear(penalty), reg_lambda=2.0)
    model = fitted.fit(X, y, sample_weight=weight).model_
    tree, leaves = model.ensemble[0], model.leaf_indices(X)[:, 0]
    gradient = weight * (model.base_scores[0] - y).astype(np.float32).astype(np.float64)
    for leaf in np.unique(leaves):
        rows, features = leaves == leaf, features_above(tree, leaf)
        expected = slow_ridge(X[rows][:, features], gradient[rows], weight[rows], 2.0, penalty)
        terms = slice(int(tree.leaf_coefficients.start[leaf]), int(tree.leaf_coefficients.start[leaf + 1]))
        assert tree.leaf_coefficients.feature[terms].tolist() == features
        assert tree.leaf_coefficients.intercept[leaf] == pytest.approx(expected[0], rel=1e-9)
        np.testing.assert_allclose(tree.leaf_coefficients.centre[terms], expected[1], rtol=1e-9)
        np.testing.assert_allclose(tree.leaf_coefficients.slope[terms], expected[2], rtol=1e-5, atol=1e-9)


def test_a_slope_by_hand():
    """Squared error on x = 0 … 3 beside 10 … 13: two leaves, slopes −Σg(x−x̄) / (Σ(x−x̄)² · (1 + penalty/H))."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]])
    y = np.array([0.0, 1.0, 2.0, 3.0, 30.0, 28.0, 26.0, 24.0])
    fitted = SapwoodRegressor(
        n_estimators=1, learning_rate=0.5, max_leaves=2, min_child_samples=1, reg_lambda=0.0, init=0.0,
        leaf_model=Linear(4.0),
    ).fit(X, y)  # fmt: skip
    assert fitted.model_.leaf_coefficients["slope"].tolist() == pytest.approx([0.5 * 1.0 / 2.0, 0.5 * -2.0 / 2.0])
    assert fitted.model_.leaf_coefficients["centre"].tolist() == [1.5, 11.5]
    assert fitted.predict([[1.5], [11.5], [12.5]]).tolist() == pytest.approx([0.75, 13.5, 13.0])


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_rows_that_lack_a_feature_get_the_constant_and_no_say_in_the_slopes(growth):
    X, y = example()
    holes = np.random.default_rng(2).random(X.shape) < 0.1
    X[holes] = np.where(np.random.default_rng(3).random(holes.sum()) < 0.8, np.nan, np.inf)
    fitted = SapwoodRegressor(**(ONE | growth), leaf_model="linear").fit(X, y)
    model, answers = fitted.model_, fitted.predict_raw(X)
    tree, leaves = model.ensemble[0], model.leaf_indices(X)[:, 0]
    gradient = (model.base_scores[0] - y).astype(np.float32).astype(np.float64)
    for leaf in np.unique(leaves):
        rows, features = leaves == leaf, features_above(tree, leaf)
        complete = rows & np.isfinite(X[:, features]).all(axis=1)
        constant = model.base_scores[0] + tree.value[leaf, 0]
        lacking = rows & ~np.isfinite(
            X[
                :,
                tree.leaf_coefficients.feature[
                    tree.leaf_coefficients.start[leaf] : tree.leaf_coefficients.start[leaf + 1]
                ],
            ]
        ).all(axis=1)
        np.testing.assert_array_equal(answers[lacking], constant)
        if complete.sum() < 10:
            continue
        at, mean, slopes = slow_ridge(X[complete][:, features], gradient[complete], np.ones(complete.sum()), 1.0, 1.0)
        expected = model.base_scores[0] + at + (X[complete][:, features] - mean) @ slopes
        np.testing.assert_allclose(answers[complete], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"subsample": 0.6}, {"split_search": "exact", "subsample": 0.6}], ids=str)
def test_training_and_validation_scores_are_those_of_the_finished_model(settings):
    X, y = example()
    X[::7, 1] = np.nan
    other = example(200, seed=1)
    fitted = SapwoodRegressor(n_estimators=12, leaf_model="linear", eval_metric="mse", **settings)
    fitted.fit(X, y, eval_set=[(X, y), other])
    for name, (rows, target) in {"validation_0": (X, y), "validation_1": other}.items():
        stages = [np.mean((prediction - target) ** 2) for prediction in fitted.staged_predict(rows)]
        np.testing.assert_allclose(fitted.evals_result_[name]["mse"], stages, rtol=1e-12)


def test_the_largest_step_is_kept_between_the_values_of_a_leaf():
    X, y = example()
    step = {"n_estimators": 1, "learning_rate": 1.0, "max_delta_step": 0.2, "init": 0.0}
    answers = SapwoodRegressor(leaf_model="linear", **step).fit(X, 5 * y).predict(X)
    assert 0.19 < np.abs(answers).max() <= 0.2 + 1e-12


def test_units_do_not_matter():
    X, y = example()
    factors = np.array([1e-8, 1e9, 4.0, 1.0])
    plain = SapwoodRegressor(leaf_model="linear", n_estimators=5).fit(X, y).predict(X)
    scaled = SapwoodRegressor(leaf_model="linear", n_estimators=5).fit(X * factors, y).predict(X * factors)
    np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-7)


def test_columns_that_say_the_same_and_values_beyond_bounds_do_no_harm():
    X, y = example()
    X = np.column_stack([X, X[:, 0], 2 * X[:, 1], np.where(np.arange(len(y)) % 2, -1e308, 1e308)])
    for penalty in (0.0, 1.0):
        fitted = SapwoodRegressor(leaf_model=Linear(penalty), n_estimators=20, colsample_bynode=0.5).fit(X, y)
        assert np.mean((fitted.predict(X) - y) ** 2) < 0.2 * np.var(y)


def test_a_continued_model_may_change_its_kind_of_leaf():
    X, y = example()
    first = SapwoodRegressor(n_estimators=5).fit(X, y)
    both = SapwoodRegressor(n_estimators=5, leaf_model="linear").fit(X, y, init_model=first)
    np.testing.assert_array_equal(both.predict(X, iterations=5), first.predict(X))
    again = SapwoodRegressor(n_estimators=5).fit(X, y, init_model=both)
    np.testing.assert_array_equal(again.predict(X, iterations=10), both.predict(X))


def test_linear_leaves_extrapolate():
    X = np.linspace(0, 1, 200)[:, None]
    fitted = SapwoodRegressor(leaf_model="linear", n_estimators=50).fit(X, 3 * X[:, 0])
    assert fitted.predict([[2.0]])[0] == pytest.approx(6.0, rel=0.1)


def test_classes_have_linear_leaves_too():
    X, y = example(600)
    labels = np.digitize(y, [0.5, 1.5])
    plain, linear = (SapwoodClassifier(n_estimators=10, leaf_model=m).fit(X, labels) for m in ("constant", "linear"))
    assert linear.score(X, labels) >= plain.score(X, labels)


@pytest.mark.parametrize(
    "settings, named",
    [
        ({"objective": "absolute"}, "absolute"),
        ({"objective": "quantile"}, "quantile"),
        ({"monotone_constraints": [1, 0, 0, 0]}, "monotone_constraints"),
    ],
)
def test_what_linear_leaves_cannot_do_is_refused(settings, named):
    with pytest.raises(ParameterError, match=named) as caught:
        SapwoodRegressor(leaf_model="linear", **settings).fit(*example())
    assert "leaf_model" in str(caught.value)


@pytest.mark.parametrize("penalty", [-1.0, np.nan, np.inf, True])
def test_a_penalty_out_of_range_is_refused(penalty):
    with pytest.raises(ParameterError, match="penalty"):
        Linear(penalty)


def test_smooth_data_are_fitted_as_lightgbm_does_it():
    lightgbm = pytest.importorskip("lightgbm")
    (X, y), (rows, target) = example(2000), example(2000, seed=1)
    X[:, 3] -= 1e6
    rows[:, 3] -= 1e6
    common = {"n_estimators": 60, "learning_rate": 0.1, "reg_lambda": 0.0, "min_child_samples": 20}
    ours = SapwoodRegressor(leaf_model=Linear(0.0), max_leaves=15, **common).fit(X, y)
    theirs = lightgbm.LGBMRegressor(linear_tree=True, num_leaves=15, verbose=-1, **common).fit(X, y)
    losses = [np.mean((model.predict(rows) - target) ** 2) for model in (ours, theirs)]
    assert losses[0] < 1.03 * losses[1]


def test_a_checkpoint_keeps_the_slopes(tmp_path):
    X, y = example()
    settings = {"n_estimators": 6, "leaf_model": "linear", "checkpoint": str(tmp_path / "linear")}
    whole = SapwoodRegressor(**(settings | {"checkpoint": None})).fit(X, y, eval_set=(X, y))
    with pytest.raises(KeyboardInterrupt):
        SapwoodRegressor(**settings, checkpoint_every=0, callbacks=[ends_after_three]).fit(X, y, eval_set=(X, y))
    again = SapwoodRegressor(**settings, checkpoint_every=0).fit(X, y, eval_set=(X, y))
    assert again.model_.fingerprint() == whole.model_.fingerprint()
    assert again.evals_result_ == whole.evals_result_


def ends_after_three(progress) -> None:
    if progress.round == 4:
        raise KeyboardInterrupt


def test_constraints_that_are_all_zero_constrain_nothing():
    X = np.arange(200.0)[:, None]
    settings = {"leaf_model": "linear", "n_estimators": 2}
    free, zero = (
        SapwoodRegressor(monotone_constraints=constraints, **settings).fit(X, X[:, 0]).model_.fingerprint()
        for constraints in (None, [0])
    )
    assert free == zero
