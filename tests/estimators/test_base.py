"""What the classifier and the regressor share."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import DataConversionWarning, NotFittedError

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError, SchemaError

BOTH = pytest.mark.parametrize("estimator", [SapwoodClassifier, SapwoodRegressor])
FEW = {"n_estimators": 5, "min_child_samples": 5}
METHODS = ["predict", "predict_raw", "apply"]


def example(n: int = 200, p: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


@pytest.fixture
def data():
    return example()


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_an_unfitted_estimator_says_so(estimator, method, data):
    with pytest.raises(NotFittedError):
        getattr(estimator(), method)(data[0])


@BOTH
@pytest.mark.parametrize("attribute", ["n_iter_", "feature_importances_", "n_features_in_", "model_"])
def test_an_unfitted_estimator_has_no_fitted_attributes(estimator, attribute):
    assert not hasattr(estimator(), attribute)


@BOTH
def test_a_value_out_of_range_is_refused_by_fit(estimator, data):
    made = estimator(max_leaves=1)
    with pytest.raises(ParameterError, match="max_leaves must be an integer of at least 2"):
        made.fit(*data)


@BOTH
def test_fit_leaves_the_parameters_as_they_were(estimator, data):
    made = estimator(**FEW)
    before = made.get_params()
    made.fit(*data)
    assert made.get_params() == before


@BOTH
def test_the_fitted_attributes_describe_the_model(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    assert isinstance(fitted.model_, sapwood.Model)
    assert (fitted.n_iter_, fitted.n_features_in_) == (5, 3)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)
    assert fitted.feature_importances_.argmax() == 0


@BOTH
def test_apply_gives_a_leaf_for_every_row_and_tree(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    leaves = fitted.apply(data[0])
    assert leaves.shape == (200, 5)
    assert set(np.unique(leaves[:, 0])) <= set(np.flatnonzero(fitted.model_.ensemble[0].feature == -1))


@BOTH
def test_importance_is_that_of_the_model(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    assert np.array_equal(fitted.importance("weight"), fitted.model_.importance("weight"))
    assert fitted.importance("total_gain", percent=True).sum() == pytest.approx(100.0)


@BOTH
def test_fewer_rounds_can_be_asked_for(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    shorter = estimator(n_estimators=2, min_child_samples=5).fit(*data)
    for method in ("predict", "predict_raw"):
        assert np.array_equal(getattr(fitted, method)(data[0], iterations=2), getattr(shorter, method)(data[0]))
    with pytest.raises(
        ParameterError, match="iterations must be between 0 and 5, the number of rounds of the model, got 6"
    ):
        fitted.predict(data[0], iterations=6)


@BOTH
def test_stages_are_predictions_after_each_round(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    stages = list(fitted.staged_predict(data[0]))
    assert len(stages) == 5
    for done, stage in enumerate(stages, 1):
        assert np.array_equal(stage, fitted.predict(data[0], iterations=done))


@BOTH
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))], ids=["copy", "pickle"])
def test_a_copy_of_a_fitted_estimator_is_the_same_model(estimator, copied, data):
    fitted = estimator(**FEW).fit(*data)
    again = copied(fitted)
    assert again.model_.fingerprint() == fitted.model_.fingerprint()
    assert np.array_equal(again.predict(data[0]), fitted.predict(data[0]))
    assert again.get_params() == fitted.get_params()


@BOTH
def test_a_saved_model_gives_the_same_scores(estimator, data, tmp_path):
    fitted = estimator(**FEW).fit(*data)
    fitted.save(tmp_path / "model.sapwood")
    loaded = sapwood.load(tmp_path / "model.sapwood")
    assert loaded.fingerprint() == fitted.model_.fingerprint()
    assert np.array_equal(loaded.predict_raw(data[0]), fitted.predict_raw(data[0]))


@BOTH
def test_the_saved_model_tells_how_it_was_trained(estimator, data, tmp_path):
    estimator(random_state=5, **FEW).fit(*data).save(tmp_path / "model.sapwood")
    metadata = sapwood.load(tmp_path / "model.sapwood").metadata
    assert metadata["n_rows"] == 200
    assert metadata["params"] | {"random_state": 5, "n_estimators": 5, "learning_rate": 0.1} == metadata["params"]


@BOTH
def test_two_fits_give_the_same_model(estimator, data):
    first, second = (estimator(**FEW).fit(*data).model_.fingerprint() for _ in range(2))
    assert first == second


@BOTH
def test_the_number_of_threads_does_not_change_the_model(estimator):
    X, y = example(20_000, 4)
    models = [estimator(n_estimators=3, n_jobs=n_jobs).fit(X, y).model_ for n_jobs in (1, 2)]
    assert models[0].fingerprint() == models[1].fingerprint()


@BOTH
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_data_frame_gives_its_names_and_the_same_model(estimator, frame, data):
    X, y = data
    named = frame({name: X[:, f] for f, name in enumerate("abc")})
    fitted = estimator(**FEW).fit(named, y)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert fitted.model_.fingerprint() == estimator(**FEW).fit(X, y).model_.fingerprint()


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_columns_are_found_by_their_names(estimator, method, data):
    X, y = data
    named = pd.DataFrame(X, columns=list("abc"))
    fitted = estimator(**FEW).fit(named, y)
    ask = getattr(fitted, method)
    assert np.array_equal(ask(named[["c", "a", "b"]]), ask(named))


@BOTH
def test_a_missing_column_is_named(estimator, data):
    named = pd.DataFrame(data[0], columns=list("abc"))
    fitted = estimator(**FEW).fit(named, data[1])
    with pytest.raises(SchemaError, match="now missing:\n- b"):
        fitted.predict(named[["a", "c"]])


@BOTH
def test_an_array_after_a_data_frame_warns(estimator, data):
    fitted = estimator(**FEW).fit(pd.DataFrame(data[0], columns=list("abc")), data[1])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Sapwood"):
        fitted.predict(data[0])


@BOTH
def test_a_data_frame_after_an_array_warns(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    with pytest.warns(UserWarning, match="X has feature names, but Sapwood"):
        fitted.predict(pd.DataFrame(data[0], columns=list("abc")))


@BOTH
def test_a_fit_on_an_array_forgets_older_names(estimator, data):
    fitted = estimator(**FEW).fit(pd.DataFrame(data[0], columns=list("abc")), data[1])
    assert not hasattr(fitted.fit(*data), "feature_names_in_")


@BOTH
def test_another_number_of_columns_is_refused(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    with pytest.raises(ValueError, match=f"X has 2 features, but {estimator.__name__} is expecting 3 features"):
        fitted.predict(data[0][:, :2])


@BOTH
def test_a_failed_fit_leaves_the_fitted_model(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    with pytest.raises(InputError):
        fitted.fit(data[0][:, :2], data[1], sample_weight=np.full(200, -1.0))
    assert fitted.n_features_in_ == fitted.model_.n_features == 3


@BOTH
def test_threads_may_be_chosen_after_training(estimator, data):
    fitted = estimator(**FEW).fit(*data)
    expected = fitted.predict(data[0])
    assert np.array_equal(fitted.set_params(n_jobs=1).predict(data[0]), expected)
    with pytest.raises(ParameterError, match="n_jobs must be an integer other than 0"):
        fitted.set_params(n_jobs=0).predict(data[0])


@BOTH
def test_a_column_vector_of_targets_warns_and_works(estimator, data):
    X, y = data
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        fitted = estimator(**FEW).fit(X, y[:, None])
    assert fitted.model_.fingerprint() == estimator(**FEW).fit(X, y).model_.fingerprint()


@BOTH
def test_a_row_of_weight_zero_is_as_good_as_absent(estimator, data):
    X, y = data
    weight = np.ones(len(y))
    weight[50:] = 0.0
    weighted = estimator(**FEW).fit(X, y, sample_weight=weight)
    assert np.array_equal(weighted.predict_raw(X), estimator(**FEW).fit(X[:50], y[:50]).predict_raw(X))


@BOTH
def test_weights_of_one_change_nothing(estimator, data):
    X, y = data
    plain = estimator(**FEW).fit(X, y)
    assert plain.model_.fingerprint() == estimator(**FEW).fit(X, y, sample_weight=np.ones(len(y))).model_.fingerprint()


@BOTH
def test_missing_values_go_to_the_side_that_suits_them(estimator):
    X = np.array([np.nan, 1.0, 2.0, 3.0] * 25)[:, None]
    y = np.array([1, 0, 0, 1] * 25)
    fitted = estimator(n_estimators=20, learning_rate=0.5).fit(X, y)
    scores = fitted.predict_raw(np.array([[np.nan], [1.0], [2.0], [3.0]]))
    assert min(scores[0], scores[3]) > max(scores[1], scores[2]) + 0.5


@BOTH
def test_the_preset_decides_what_was_left_unset(estimator):
    X, y = example(2000, 4)
    fitted = estimator(preset="gbdt", n_estimators=2).fit(X, y)
    assert max(tree.depth for tree in fitted.model_.ensemble) == 3


def test_all_parameters_in_force_are_kept():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    params = SapwoodRegressor(preset="xgboost", n_estimators=3.0, max_depth=2).fit(X, y).params_
    assert {name: params[name] for name in ("n_estimators", "max_depth", "learning_rate", "objective", "growth")} == {
        "n_estimators": 3, "max_depth": 2, "learning_rate": 0.3, "objective": "squared", "growth": "levelwise",
    }  # fmt: skip
    assert type(params["n_estimators"]) is int
