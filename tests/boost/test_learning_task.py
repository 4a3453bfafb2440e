"""The learning task of a fit: which objective the parameters and the preset stand for."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodClassifier
from sapwood.objectives import Softmax

N_CLASSES = 4


def make_rows(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(5)
    X = draw.normal(size=(n, 4))
    return X, np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2]) + 1, 0, N_CLASSES - 1)


def width_of(**params) -> int:
    X, y = make_rows()
    return SapwoodClassifier(n_estimators=3, **params).fit(X, y).model_.ensemble.width


@pytest.mark.parametrize("objective", [{}, {"objective": "softmax"}, {"objective": "one_vs_all"}])
def test_the_catboost_preset_has_one_tree_for_all_classes(objective):
    assert width_of(preset="catboost", **objective) == N_CLASSES


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"preset": "catboost", "objective": Softmax()},
        {"preset": "catboost", "growth": "leafwise"},
        {"preset": "catboost", "leaf_model": "linear"},
    ],
)
def test_classes_have_trees_of_their_own_unless_the_preset_and_the_options_allow_one(params):
    assert width_of(**params) == 1


def test_a_model_with_a_tree_per_class_is_continued_by_the_catboost_preset():
    X, y = make_rows()
    first = SapwoodClassifier(n_estimators=2, growth="symmetric").fit(X, y)
    second = SapwoodClassifier(n_estimators=2, preset="catboost").fit(X, y, init_model=first.model_)
    assert second.model_.n_iterations == 4
    assert second.model_.ensemble.width == 1


def test_vector_trees_of_the_preset_are_saved_and_predict_the_same(tmp_path):
    X, y = make_rows()
    model = SapwoodClassifier(n_estimators=5, preset="catboost").fit(X, y).model_
    model.save(tmp_path / "model.sapwood")
    np.testing.assert_array_equal(sapwood.load(tmp_path / "model.sapwood").predict(X), model.predict(X))
