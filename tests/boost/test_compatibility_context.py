"""The facts of a fit by which incompatible options are refused, before training begins and before a file is written."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from sapwood import Dataset, Partition, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.objectives import Softmax

X = np.column_stack([np.arange(60.0) % 7, np.arange(60.0)])
Y = np.arange(60.0) % 3
CATEGORY = {"categorical_features": [0]}
VECTORS = {"objective": Softmax(vector_leaves=True)}


@pytest.mark.parametrize(
    "params, words",
    [
        (CATEGORY | {"monotone_constraints": [1, 0]}, "monotone_constraints is not .* the categorical column 0:"),
        (CATEGORY | {"category_encoding": "partition", "growth": "symmetric"}, "'partition' is not .* growth="),
        (CATEGORY | {"category_encoding": "partition", "leaf_model": "linear"}, "'partition' is not .* leaf_model="),
        ({"init": KNeighborsRegressor()}, r"init=KNeighborsRegressor\(\) is not supported with weighted rows"),
    ],
    ids=str,
)
def test_options_of_a_regressor_are_refused_before_a_checkpoint_is_written(params, words, tmp_path):
    file = tmp_path / "checkpoint"
    with pytest.raises(ParameterError, match=words):
        SapwoodRegressor(checkpoint=file, **params).fit(X, Y, sample_weight=np.ones(60))
    assert not file.exists()


@pytest.mark.parametrize(
    "params, words",
    [
        (VECTORS | {"monotone_constraints": [1, 0]}, "vector_leaves=True is not supported with monotone_constraints"),
        (VECTORS | CATEGORY | {"category_encoding": Partition()}, "'partition' is not .* vector_leaves=True"),
        ({"init": LinearRegression()}, r"init=LinearRegression\(\) is not supported with classification"),
    ],
    ids=str,
)
def test_options_of_a_classifier_are_refused(params, words):
    with pytest.raises(ParameterError, match=words):
        SapwoodClassifier(**params).fit(X, Y)


def test_directions_that_are_all_0_constrain_no_column():
    fitted = SapwoodClassifier(n_estimators=1, **VECTORS, monotone_constraints=[0, 0]).fit(X, Y)
    assert fitted.model_.n_iterations == 1


def test_times_that_are_categories_are_refused():
    with pytest.raises(InputError, match="has_time=0 is not supported with the categorical column 0"):
        SapwoodRegressor(has_time=0, **CATEGORY).fit(X, Y)


def test_the_settings_of_a_dataset_count_as_unset():
    dataset = Dataset(X, max_bins=16)
    assert SapwoodRegressor(split_search="exact", n_estimators=1).fit(dataset, Y).n_iter_ == 1
    with pytest.raises(ParameterError, match="max_bins=16 is not supported with split_search='exact'"):
        SapwoodRegressor(split_search="exact", max_bins=16).fit(dataset, Y)
