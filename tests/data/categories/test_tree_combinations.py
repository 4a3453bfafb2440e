"""Combinations that grow inside trees (C4), from the table to the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import Crossing, SapwoodClassifier, SapwoodRegressor, Symmetric
from sapwood.data.categories.combinations import CombinationLimits
from sapwood.errors import ParameterError
from sapwood.model.model import Model

GROWTHS = ["leafwise", "levelwise", "symmetric", Symmetric("cosine")]
NAMES = ["a", "b", "c", "d"]


@pytest.fixture(autouse=True)
def few_for_all_leaves(monkeypatch):
    """The search for all leaves finds one pair and nothing larger, so that trees have something to grow."""
    monkeypatch.setattr("sapwood.data.categories.combinations.MAX_PAIRS", 1)
    monkeypatch.setattr("sapwood.data.categories.combinations.MAX_LARGER", 0)


def make_table(n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """A target that three of four columns tell together, and one of them a little."""
    random = np.random.default_rng(0)
    X = random.integers(0, 5, (n, 4))
    effect = np.random.default_rng(1).normal(size=(5, 5, 5))
    return X, effect[X[:, 0], X[:, 1], X[:, 2]] + 0.4 * X[:, 0] + 0.1 * random.normal(size=n)


def fit(X: np.ndarray, y: np.ndarray, **params) -> SapwoodRegressor:
    params = {"category_encoding": "ordered", "max_combination": 3, "n_estimators": 15, "max_depth": 4} | params
    frame = pd.DataFrame(X, columns=NAMES)
    return SapwoodRegressor(categorical_features=NAMES, **params).fit(frame, y)


def sources_of(model: Model) -> tuple[tuple[int, ...], ...]:
    assert model.transformer is not None
    return model.transformer.sources


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_a_combination_is_used_below_a_split_on_a_part(growth):
    X, y = make_table()
    model = fit(X, y, growth=growth, tree_combinations=True).model_
    ensemble, sources = model.ensemble, sources_of(model)
    n_grown = 0
    for first, last in zip(ensemble.tree_start[:-1], ensemble.tree_start[1:], strict=True):
        above: dict[int, set[tuple[int, ...]]] = {0: set()}
        for node in range(last - first):
            f = ensemble.feature[first + node]
            if f < 0:
                continue
            own = sources[f]
            if len(own) == 3:
                n_grown += 1
                assert any(set(part) < set(own) and len(part) == 2 for part in above[node])
            left = ensemble.left[first + node]
            above[left] = above[left + 1] = above[node] | {own}
    assert n_grown > 0


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_trees_that_grow_combinations_predict_better(growth):
    X, y = make_table(3000)
    grown, single = (
        fit(X[:1500], y[:1500], growth=growth, tree_combinations=on, n_estimators=60) for on in (True, False)
    )
    new = pd.DataFrame(X[1500:], columns=NAMES)
    assert grown.score(new, y[1500:]) > single.score(new, y[1500:]) + 0.02


def test_a_model_is_saved_and_credits_the_columns_of_its_combinations(tmp_path):
    X, y = make_table()
    estimator = fit(X, y, tree_combinations=True)
    model = estimator.model_
    assert any(len(sources) == 3 for sources in sources_of(model))
    model.save(tmp_path / "grown.sapwood")
    frame = pd.DataFrame(X, columns=NAMES)
    loaded = sapwood.load(tmp_path / "grown.sapwood")
    assert loaded.predict(frame).tobytes() == model.predict(frame).tobytes()
    share = np.asarray(model.importance("gain"))
    assert len(share) == 4
    assert (share[:3] > 0).all()
    values = model.shap_values(frame[:20])
    assert values.shape == (20, 4)


def test_any_number_of_threads_and_a_resumed_training_give_the_same_model(monkeypatch, tmp_path):
    X, y = make_table()
    params = {"tree_combinations": True, "n_estimators": 6, "boosting": "ordered"}
    monkeypatch.setenv("SAPWOOD_TEAM", "1")
    alone = fit(X, y, **params).model_.fingerprint()
    for team in ("2", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        assert fit(X, y, **params).model_.fingerprint() == alone
    path = tmp_path / "training.checkpoint"
    assert fit(X, y, checkpoint=path, checkpoint_every=0, **params).model_.fingerprint() == alone
    for file in sorted(tmp_path.iterdir()):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        assert fit(X, y, checkpoint=path, checkpoint_every=0, **params).model_.fingerprint() == alone


def test_combinations_fit_into_memory():
    limits = CombinationLimits(4, 40, 12, 12, 48)
    assert limits.within_memory(1000, 2).max_in_trees == 48
    for n_rows in (10**5, 10**6, 10**7):
        tight = limits.within_memory(n_rows, 2)
        n_all = tight.max_pairs + tight.max_with_numbers + 2 * tight.max_larger + 3 * tight.max_in_trees
        assert n_all * n_rows * 2 <= 2**26


def test_with_one_column_there_is_nothing_to_grow():
    with pytest.raises(ParameterError, match=r"tree_combinations.*max_combination"):
        SapwoodClassifier(tree_combinations=True).fit(np.zeros((5, 1)), [0, 1, 0, 1, 0])
    params = SapwoodRegressor(preset="catboost", max_combination=1, n_estimators=1).fit(np.eye(5), np.arange(5)).params_
    assert params["tree_combinations"] is False
    assert SapwoodRegressor(preset="catboost", n_estimators=1).fit(np.eye(5), np.arange(5)).params_["tree_combinations"]


def test_trees_do_not_combine_numbers(monkeypatch):
    monkeypatch.setattr("sapwood.data.categories.combinations.MAX_WITH_NUMBERS", 0)
    X, y = make_table()
    model = SapwoodRegressor(
        categorical_features=[1, 2, 3], category_encoding="ordered", max_combination=Crossing(3, number_levels=5),
        tree_combinations=True, n_estimators=10,
    ).fit(X, y)  # fmt: skip
    sources = sources_of(model.model_)
    assert any(len(s) == 3 for s in sources)
    assert all(s == (0,) or 0 not in s for s in sources)
