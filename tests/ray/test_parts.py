"""Rows that are not divided into parts alike are refused before anything is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood import ray as sapwood_ray
from sapwood.errors import InputError, InputTypeError, ParameterError

ray = pytest.importorskip("ray", reason="ray is not installed")
data = pytest.importorskip("ray.data", reason="ray.data is not installed")

X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
FRAME = pandas.DataFrame({"a": y, "b": -y})
pytestmark = pytest.mark.usefixtures("cluster")


@pytest.mark.parametrize(
    "X, y, more, message",
    [
        (X, y, {}, "X is a numpy ndarray: pass a ray.data.Dataset, or a list of parts"),
        ([X], None, {}, "y is None"),
        ([X, X], [y], {}, "y has 1 partitions, but X has 2"),
        ([X, X], [y, y[1:]], {}, "partition 1 of X has 20 rows, but that of y has 19"),
        ([X[:0]], [y[:0]], {}, "X has no rows"),
        ([X], [y], {"eval_set": ([X], [y, y])}, "eval_set 'validation': y has 2 partitions"),
        ([X], [y], {"dtrain": 1}, "unexpected keyword argument 'dtrain'"),
    ],
)
def test_rows_must_be_divided_alike(X: Any, y: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=message):
        sapwood_ray.fit(SapwoodRegressor(), X, y, **more)


@pytest.mark.parametrize(
    "make, target, message",
    [
        (lambda: data.from_pandas(FRAME), "label", "y='label' is not a column of the dataset: it has a, b"),
        (lambda: data.from_pandas(FRAME), y, "y must be the name of a column of the dataset X, got a ndarray"),
        (
            lambda: data.from_items([{"a": np.zeros(2), "b": 1.0}] * 3),
            "b",
            "column 'a' of the dataset holds an array",
        ),
    ],
)
def test_the_target_of_a_dataset_is_one_of_its_columns(make: Any, target: Any, message: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=message):
        sapwood_ray.fit(SapwoodRegressor(), make(), target)


@pytest.mark.parametrize(
    "params, settings, message",
    [
        ({"split_search": "exact"}, {}, "split_search='exact' is not supported with distributed training"),
        ({"warm_start": True}, {}, "pass init_model"),
        ({}, {"n_workers": 0}, "n_workers must be an integer of at least 1"),
        ({}, {"cpus_per_worker": 0.5}, "cpus_per_worker must be an integer"),
        ({}, {"retries": -1}, "retries must be an integer of at least 0"),
    ],
)
def test_parameters_are_checked_first(params: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        sapwood_ray.fit(SapwoodClassifier(**params), [X], [y > 5], **settings)
