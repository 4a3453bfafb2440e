from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.tables.schema import Schema
from sapwood.errors import InputError, ParameterError
from sapwood.explain.importance import importance
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.model import Model
from tests.explain.test_shapley import people
from tests.model.forests import small_tree


def small_model() -> Model:
    builder = EnsembleBuilder()
    builder.append(small_tree(), round=0)
    return Model(Schema(3), builder.build(), np.zeros(1), objective={"name": "squared", "settings": {}})


def test_a_hand_computes_the_change_of_the_loss():
    """Row (1, 1) scores 10; without f0: 0.4 · 1 + 0.6 · 10 = 6.4; without f1: 15. The loss is (y − F)²/2."""
    changes = importance(small_model(), "loss_function_change", [[1.0, 1.0, 0.0]], [12.0])
    np.testing.assert_allclose(changes, [(5.6**2 - 2**2) / 2, (3**2 - 2**2) / 2, 0.0], rtol=1e-13)


def test_weights_count_in_the_mean_of_the_loss():
    X, y = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [12.0, 1.0]
    one = importance(small_model(), "loss_function_change", X[:1], y[:1])
    weighted = importance(small_model(), "loss_function_change", X, y, sample_weight=[1.0, 0.0])
    np.testing.assert_allclose(weighted, one, rtol=1e-13)


def test_permutations_measure_the_features_that_matter_with_a_standard_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 3 * X[:, 0] + X[:, 1]
    model = SapwoodRegressor(n_estimators=30, colsample_bytree=0.7).fit(X, y)
    table = model.importance("permutation", X, y, n_repeats=10)
    assert table[0] > table[1] > abs(table[2])
    assert (table.errors[:2] > 0).all() and (table.errors < 0.2 * table[0]).all()
    assert table.to_frame().columns.tolist() == ["feature", "importance", "standard_error"]
    assert "±" in repr(table)
    np.testing.assert_array_equal(table, model.importance("permutation", X, y, n_repeats=10))


def test_the_increase_is_that_of_permuted_columns():
    """Two rows, permuted or not: the increase is the one loss or 0."""
    X, y = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [10.0, 1.0]
    table = importance(small_model(), "permutation", X, y, n_repeats=20)
    assert table[0] * 20 / 40.5 == pytest.approx(round(table[0] * 20 / 40.5), abs=1e-9)
    assert table[0] > 0.0


@pytest.mark.parametrize("kind", ["permutation", "loss_function_change", "mean_abs_shap"])
def test_columns_of_categories_are_measured_as_the_user_passes_them(kind):
    X, y = people()
    model = SapwoodClassifier(n_estimators=10).fit(X, np.digitize(y, [4, 6]))
    table = model.importance(kind, X, np.digitize(y, [4, 6]), percent=True)
    assert table.names == ("age", "job", "town")
    assert table.sum() == pytest.approx(100)
    assert table[0] > table[2]


@pytest.mark.parametrize("kind", ["permutation", "loss_function_change"])
def test_data_is_asked_for(kind):
    with pytest.raises(InputError, match="pass X and y"):
        importance(small_model(), kind)
    with pytest.raises(InputError, match="pass X"):
        importance(small_model(), "mean_abs_shap")


def test_an_error_needs_two_permutations():
    with pytest.raises(ParameterError, match="at least 2"):
        importance(small_model(), "permutation", [[1.0, 1.0, 0.0]], [12.0], n_repeats=1)


def test_a_model_that_starts_from_an_estimator_is_not_measured_without_it():
    linear = pytest.importorskip("sklearn.linear_model")
    X, y = np.arange(60.0).reshape(20, 3), np.arange(20.0)
    model = SapwoodRegressor(n_estimators=2, init=linear.LinearRegression()).fit(X, y)
    with pytest.raises(ParameterError, match="LinearRegression"):
        model.importance("permutation", X, y)
