"""warm_start: fit continues the estimator's own model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor

import sapwood
from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 4))
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.digitize(Y, [0.0, 1.0])
FRAME = pd.DataFrame({"x": X[:, 0], "city": np.array(list("abc"))[LABELS]})


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"subsample": 0.5, "colsample_bynode": 0.5},
        {"sampling": "goss"},
        {"growth": "symmetric"},
        {"growth": "symmetric", "random_strength": 1.0},
        {"split_search": "exact"},
        {"leaf_model": "linear"},
        {"leaf_steps": 3},
        {"objective": "absolute"},
    ],
    ids=str,
)
def test_rounds_in_two_parts_give_the_model_of_all_at_once(params):
    warm = SapwoodRegressor(n_estimators=4, warm_start=True, random_state=3, **params).fit(X, Y)
    warm.set_params(n_estimators=9).fit(X, Y)
    once = SapwoodRegressor(n_estimators=9, random_state=3, **params).fit(X, Y)
    assert warm.n_iter_ == 9
    assert warm.model_.fingerprint() == once.model_.fingerprint()
    assert warm.params_["n_estimators"] == 9


def test_classes_and_round_by_round_on_a_dataset():
    dataset = Dataset(X)
    warm = SapwoodClassifier(n_estimators=1, warm_start=True).fit(dataset, LABELS)
    for n_estimators in range(2, 5):
        warm.set_params(n_estimators=n_estimators).fit(dataset, LABELS)
    once = SapwoodClassifier(n_estimators=4).fit(X, LABELS)
    assert warm.model_.fingerprint() == once.model_.fingerprint()


def test_categories_keep_their_codes():
    warm = SapwoodRegressor(n_estimators=3, warm_start=True).fit(FRAME, Y)
    warm.set_params(n_estimators=6).fit(FRAME, Y)
    assert warm.n_iter_ == 6
    assert np.isfinite(warm.predict(FRAME)).all()


def test_the_history_is_continued():
    warm = SapwoodRegressor(n_estimators=3, warm_start=True).fit(X, Y, eval_set=(X, Y))
    before = list(warm.evals_result_["validation"]["rmse"])
    warm.set_params(n_estimators=5).fit(X, Y, eval_set=(X, Y))
    once = SapwoodRegressor(n_estimators=5).fit(X, Y, eval_set=(X, Y))
    assert warm.evals_result_["validation"]["rmse"][:3] == before
    assert warm.evals_result_ == once.evals_result_


def test_as_many_rounds_as_before_change_nothing():
    warm = SapwoodRegressor(n_estimators=3, warm_start=True).fit(X, Y)
    model = warm.model_
    assert warm.fit(X, -Y).model_ is model


def test_fewer_rounds_than_before_are_refused():
    warm = SapwoodRegressor(n_estimators=5, warm_start=True).fit(X, Y)
    with pytest.raises(ParameterError, match="n_estimators=4 must be above 5, the rounds of the model"):
        warm.set_params(n_estimators=4).fit(X, Y)
    assert warm.set_params(warm_start=False).fit(X, Y).n_iter_ == 4


def test_a_clone_and_a_given_model_start_anew():
    warm = SapwoodRegressor(n_estimators=3, warm_start=True).fit(X, Y)
    assert clone(warm).fit(X, Y).n_iter_ == 3
    given = SapwoodRegressor(n_estimators=2).fit(X, Y)
    assert warm.fit(X, Y, init_model=given).n_iter_ == 5


def test_the_rounds_are_counted_as_by_scikit_learn():
    peer = GradientBoostingRegressor(n_estimators=3, warm_start=True).fit(X, Y).set_params(n_estimators=7).fit(X, Y)
    warm = SapwoodRegressor(n_estimators=3, warm_start=True).fit(X, Y).set_params(n_estimators=7).fit(X, Y)
    assert warm.n_iter_ == peer.n_estimators_ == 7


def test_the_default_learning_rate_depends_on_all_rounds():
    settings = {"preset": "catboost", "n_estimators": 100}
    once = SapwoodRegressor(**settings).fit(X, Y)
    warm = SapwoodRegressor(warm_start=True, **settings | {"n_estimators": 50}).fit(X, Y)
    warm.set_params(n_estimators=100).fit(X, Y)
    assert warm.params_["learning_rate"] == once.params_["learning_rate"]


def test_train_has_nothing_to_continue():
    with pytest.raises(ParameterError, match=r"pass init_model to sapwood\.train"):
        sapwood.train({"warm_start": True}, X, Y)
