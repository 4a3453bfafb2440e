"""Models and estimators as plots and reports read them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import sapwood
from sapwood.errors import InputError, InputTypeError
from sapwood.explain.fitted_model import FittedModel

X = np.random.default_rng(0).normal(size=(120, 2))
LABELS = np.where(X[:, 0] > 0, "yes", "no")


def test_an_estimator_and_its_model_predict_the_same():
    for labels in (LABELS, np.digitize(X[:, 0], [-0.5, 0.5])):
        model = sapwood.SapwoodClassifier(n_estimators=3).fit(X, labels)
        fitted, bare = FittedModel.of(model, "test"), FittedModel.of(model.model_, "test")
        np.testing.assert_array_equal(fitted.predict(X), bare.predict(X))
        assert fitted.predict(X).shape == (120, len(np.unique(labels)))
        assert fitted.task == bare.task
    assert (FittedModel.of(model, "test").name, bare.name) == ("SapwoodClassifier", "Model")


def test_the_best_estimator_of_a_search_is_taken():
    search = GridSearchCV(sapwood.SapwoodRegressor(n_estimators=2), {"max_leaves": [2, 4]}, cv=2).fit(X, X[:, 0])
    assert FittedModel.of(search, "test").model is search.best_estimator_.model_


def test_columns_are_found_by_name_and_number():
    fitted = FittedModel.of(sapwood.SapwoodRegressor(n_estimators=1).fit(X, X[:, 0]), "test")
    assert fitted.feature("f1", "test") == fitted.feature(1, "test") == fitted.feature(-1, "test") == 1
    with pytest.raises(InputError, match=r"no column 'f10'; did you mean 'f1'"):
        fitted.feature("f10", "test")
    with pytest.raises(InputError, match="feature 2 is out of range, the model has 2 columns"):
        fitted.feature(2, "test")
    with pytest.raises(InputTypeError, match="given by name or number, got True"):
        fitted.feature(True, "test")
