"""Trees as models: the same predictions, files, explanations; reasons where there is no model."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood.classic import SapwoodTreeClassifier, SapwoodTreeRegressor
from sapwood.errors import InputTypeError, ParameterError
from tests.classic.trees.play_tennis import play_tennis


@pytest.fixture(scope="module")
def table():
    """Numbers and two categorical columns, all with missing values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "x": rng.normal(size=400),
        "city": rng.choice(["Oslo", "Rome", "Bern", "Kyiv", None], 400),
        "z": rng.normal(size=400),
        "code": rng.choice([f"c{k}" for k in range(300)], 400),
    })  # fmt: skip
    X.loc[rng.uniform(size=400) < 0.1, "x"] = np.nan
    score = X.x.fillna(1.0) + (X.city == "Rome") - (X.city == "Bern") + X.z * X.city.isna()
    return X, score.to_numpy()


def new_rows(X: pd.DataFrame) -> pd.DataFrame:
    """Rows with missing values and categories that did not occur in training."""
    changed = X.copy()
    changed.loc[::5, "city"] = "Lima"
    changed.loc[::7, "code"] = None
    changed.loc[::3, "z"] = np.nan
    return changed


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_a_classifier_is_a_model_with_the_predictions_of_its_tree(table, tmp_path, n_classes):
    X, score = table
    y = np.array(["low", "middle", "high"])[np.digitize(score, [0.0, 1.0][: n_classes - 1])]
    tree = SapwoodTreeClassifier(min_samples_leaf=5).fit(X, y)
    rows = new_rows(X)
    np.testing.assert_array_equal(
        tree.predict_proba(rows).argmax(axis=1),
        tree.tree_.predict(tree._columns.values(rows_table(tree, rows))).argmax(axis=1),
    )
    np.testing.assert_allclose(
        tree.predict_proba(rows), tree.tree_.predict(tree._columns.values(rows_table(tree, rows))), atol=1e-15
    )
    np.testing.assert_array_equal(tree.apply(rows), tree.tree_.apply(tree._columns.values(rows_table(tree, rows))))
    tree.save(tmp_path / "tree.sapwood")
    model = sapwood.load(tmp_path / "tree.sapwood")
    assert model.fingerprint() == tree.model_.fingerprint()
    np.testing.assert_array_equal(model.predict(rows), tree.predict(rows))
    np.testing.assert_array_equal(model.predict_proba(rows), tree.predict_proba(rows))


def rows_table(tree, rows):
    return tree._align(rows)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_a_regressor_is_a_model_with_the_predictions_of_its_tree(table, criterion):
    X, score = table
    tree = SapwoodTreeRegressor(criterion=criterion, min_samples_leaf=5).fit(X, score)
    rows = new_rows(X)
    np.testing.assert_array_equal(tree.predict(rows), tree.tree_.predict(tree._columns.values(tree._align(rows)))[:, 0])
    np.testing.assert_array_equal(tree.model_.predict(rows), tree.predict(rows))
    assert tree.model_.info()["objective"] == criterion.removesuffix("_error")


def test_explanations_of_a_tree_are_those_of_its_model(table):
    X, score = table
    tree = SapwoodTreeRegressor(max_leaf_nodes=10).fit(X, score)
    explanation = tree.explain(X)
    np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, tree.predict(X), atol=1e-12)
    np.testing.assert_allclose(np.asarray(tree.importance(percent=True)) / 100.0, tree.feature_importances_, atol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"criterion": "entropy"}, "one branch per category"),
        ({"missing": "fractional"}, "several leaves"),
        ({"oblique": True}, "oblique splits"),
    ],
)
def test_a_tree_without_a_model_says_why(parameters, reason, tmp_path):
    columns, y = play_tennis()
    X = pd.DataFrame(columns)
    if "oblique" in parameters:
        X = np.random.default_rng(0).normal(size=(50, 2))
        y = X.sum(axis=1) > 0.0
    tree = SapwoodTreeClassifier(**parameters).fit(X, y)
    with pytest.raises(AttributeError, match=reason):
        tree.model_  # noqa: B018
    with pytest.raises(AttributeError, match=reason):
        tree.explain(X)
    with pytest.raises(InputTypeError, match=reason):
        sapwood.plot.importance(tree)
    with pytest.raises(ParameterError, match=rf"{reason}.*pickle"):
        tree.save(tmp_path / "tree.sapwood")
    again = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))


def test_a_second_fit_forgets_the_model_of_the_first():
    tree = SapwoodTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    assert len(tree.model_) == 1
    tree.set_params(missing="fractional").fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(tree, "model_")


def test_refitting_the_leaves_of_a_regression_tree_takes_means():
    X, y = np.arange(6.0)[:, None], np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0])
    model = SapwoodTreeRegressor(max_depth=1).fit(X, y).model_.refit_leaves(X, y + 1.0, decay_rate=0.0)
    np.testing.assert_allclose(model.predict(X), y + 1.0, atol=1e-6)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_refitting_the_leaves_of_a_classifier_takes_frequencies(criterion, n_classes, tmp_path):
    X = np.repeat(np.arange(n_classes), 4).astype(float)[:, None]
    y = np.repeat(np.arange(n_classes), 4)
    tree = SapwoodTreeClassifier(criterion=criterion).fit(X, y)
    changed = y.copy()
    changed[::4] = 1  # a quarter of the rows of each leaf
    tree.model_.refit_leaves(X, changed, decay_rate=0.0).save(tmp_path / "model")
    expected = 0.75 * np.eye(n_classes)[y] + 0.25 * np.eye(n_classes)[1]
    np.testing.assert_allclose(sapwood.load(tmp_path / "model").predict_proba(X), expected, atol=1e-6)
    explained, probability = tree.explain(X), tree.predict_proba(X)
    total = explained.values.sum(axis=1) + explained.base_values
    np.testing.assert_allclose(total, probability if n_classes > 2 else probability[:, 1], atol=1e-12)


def test_parameters_that_are_numbers_of_numpy_are_kept():
    tree = SapwoodTreeRegressor(max_depth=np.int64(2), ccp_alpha=np.float64(0.25)).fit([[0.0], [1.0]], [0.0, 1.0])
    params = tree.model_.info()["params"]
    assert (params["max_depth"], params["ccp_alpha"]) == (2, 0.25)
