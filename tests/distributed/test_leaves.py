"""Leaf values that workers compute together: Newton steps, linear models, quantiles, and ordered boosting."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import Linear, Ordered, Uniform
from sapwood.objectives import Quantile, Softmax
from tests.distributed.category_cases import assert_one_model, make_data

STOPPING = {"n_estimators": 15, "early_stopping_rounds": 2, "learning_rate": 0.5}
PERMUTED = {"category_encoding": Ordered(permutations=3, bins=16)}
CATBOOST = {"preset": "catboost", "min_child_samples": 1, "max_leaves": None}
SYMMETRIC = {"growth": "symmetric", "max_leaves": None, "min_child_samples": 1}
NUMBERS = {"category_encoding": "ordered"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "steps": ("regression", {"leaf_steps": 3, "objective": "logcosh"}),
    "logistic steps": ("binary", {"leaf_steps": 4}),
    "logistic steps, one": ("binary", {"boosting": "ordered"}),
    "steps of classes": ("classes", {"leaf_steps": 2}),
    "steps of vector leaves": ("classes", {"leaf_steps": 2, "objective": Softmax(vector_leaves=True), **NUMBERS}),
    "steps, sampling": ("binary", {"leaf_steps": 3, "sampling": "uniform", "subsample": 0.5}),
    "steps, constraints": ("regression", {"leaf_steps": 2, "monotone_constraints": [1, 0, 0, 0, 0]}),
    "ordered": ("regression", {"boosting": "ordered"}),
    "ordered, steps": ("binary", {"boosting": "ordered", "leaf_steps": 2, **SYMMETRIC, **NUMBERS}),
    "ordered, permutations": ("regression", {"boosting": "ordered", **PERMUTED}),
    "ordered, absolute": ("regression", {"boosting": "ordered", "objective": "absolute"}),
    "ordered by time": ("regression", {"boosting": "ordered", "has_time": True}),
    "permutations": ("regression", PERMUTED),
    "permutations of classes": ("classes", PERMUTED | {"leaf_steps": 2}),
    "permutations, absolute": ("regression", PERMUTED | {"objective": "absolute"}),
    "catboost's": ("binary", CATBOOST),
    "linear": ("regression", {"leaf_model": "linear", **NUMBERS}),
    "linear, sampling": ("binary", {"leaf_model": Linear(0.5), "sampling": "goss", **NUMBERS}),
    "linear, bagged": ("regression", {"leaf_model": "linear", "sampling": Uniform(replacement=True), **NUMBERS}),
    "replay": ("regression", STOPPING | {"refit": "replay"}),
    "replay of statistics": ("binary", STOPPING | {"refit": "replay", "max_combination": 2, **NUMBERS}),
    "replay of permutations": ("regression", STOPPING | {"refit": "replay", "boosting": "ordered", **PERMUTED}),
    "replay of linear leaves": ("regression", STOPPING | {"refit": "replay", "leaf_model": "linear", **NUMBERS}),
    "replay, absolute": ("regression", STOPPING | {"refit": "replay", "objective": "absolute"}),
    "median": ("regression", {"objective": "absolute"}),
    "quantiles": ("regression", {"objective": Quantile([0.001, 0.3, 0.9]), "sampling": "goss"}),
}


@pytest.mark.parametrize("name", CASES)
def test_workers_fit_leaves_as_one_worker_does(name: str) -> None:
    task, params = CASES[name]
    assert_one_model(task, make_data(task), params)


@pytest.mark.parametrize("name", ["logistic steps", "ordered", "permutations", "linear", "median", "replay"])
def test_weights_and_workers_without_rows(name: str) -> None:
    task, params = CASES[name]
    assert_one_model(task, make_data(task, weighted=True), params, [(3, "shuffled")])
    assert_one_model(task, make_data(task, weighted=True, empty=True), params, [(2, "ranges"), (4, "ranges")])
