"""Three and four categories crossed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sapwood
from sapwood import Crossing, Ordered, SapwoodClassifier, SapwoodRegressor

NAMES = ["a", "b", "c", "d", "e"]
STUMPS = {"category_encoding": "ordered", "n_estimators": 1, "learning_rate": 1.0, "max_leaves": 2, "n_jobs": 1}


def drawn(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The target is whether the first four columns all have one of two levels: more columns tell more of it."""
    source = np.random.default_rng(seed)
    rows = pd.DataFrame({name: source.choice(list("uvwx"), n) for name in NAMES})
    y = rows[NAMES[:4]].isin(["u", "v", "w"]).all(axis=1)
    rows.loc[source.uniform(size=n) < 0.02, "e"] = None
    return rows, y.to_numpy().astype(int)


ROWS, Y = drawn(6000, 0)
TEST, Y_TEST = drawn(500, 1)


def largest(model: Any) -> int:
    return max(map(len, model.model_.transformer.sources))


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_each_larger_crossing_tells_a_stump_more(columns, tmp_path):
    model = SapwoodClassifier(**STUMPS, max_combination=columns).fit(ROWS, Y)
    assert largest(model) == columns
    assert (model.score(TEST, Y_TEST) > 0.99) == (columns == 4)
    expected = model.predict_proba(TEST)[:, 1]
    model.save(tmp_path / "m.sapwood")
    loaded = sapwood.load(tmp_path / "m.sapwood")
    frame = pl.from_pandas(TEST)
    for rows in (TEST, frame, frame.select(NAMES[::-1]), frame.to_arrow()):
        np.testing.assert_array_equal(loaded.predict(rows), expected)
    assert loaded.fingerprint() == model.model_.fingerprint()


@pytest.mark.parametrize(
    "params",
    [
        {"growth": "symmetric", "max_depth": 2},
        {"growth": "levelwise", "max_depth": 2},
        {"boosting": "ordered"},
        {"category_encoding": Ordered(priors=(0.0, 1.0), bins=16, permutations=3)},
        {"category_encoding": "holdout"},
        {"max_combination": Crossing(4, number_levels=4)},
        {"preset": "catboost", "category_encoding": Ordered()},
    ],
)
def test_any_number_of_threads_makes_the_same_model(params, monkeypatch):
    table = ROWS[:2000].assign(number=np.arange(2000) % 7)
    found = set()
    for members in ("1", "2", "3", "8"):
        monkeypatch.setenv("SAPWOOD_TEAM", members)
        model = SapwoodClassifier(**STUMPS | {"max_combination": 4, "n_estimators": 3} | params).fit(table, Y[:2000])
        found.add(model.model_.fingerprint())
    assert len(found) == 1


def test_numbers_and_several_classes_have_larger_crossings():
    three = Y + (ROWS["e"] == "u").to_numpy()
    assert largest(SapwoodClassifier(**STUMPS | {"max_leaves": 8}, max_combination=4).fit(ROWS, three)) > 2
    assert largest(SapwoodRegressor(**STUMPS, max_combination=4).fit(ROWS, Y * 3.0)) == 4
