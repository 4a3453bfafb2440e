from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.model.tree_text import short_number
from tests.model.forests import small_tree

RNG = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "hours": RNG.normal(40, 10, N).round(1),
        "city": RNG.choice(["Bern", "Kyiv", "Oslo", "Paris", "Riga", "Rome"], N),
    }
)
FRAME.loc[::9, "hours"] = np.nan
Y = ((FRAME["age"] > 40) ^ FRAME["city"].isin(["Rome", "Oslo"])) + FRAME["hours"].isna() * 0.3
SMALL = {"n_estimators": 2, "max_leaves": 6}


def text(estimator=SapwoodRegressor, y=Y, frame=FRAME, **params) -> str:
    return estimator(**SMALL | params).fit(frame, y).model_.to_text()


@pytest.mark.parametrize("value", [40.5, 0.1, -0.0625, 1e-300, 1 / 3, 38.0, np.inf])
def test_numbers_are_as_short_as_they_can_be_and_read_back_the_same(value):
    assert float(short_number(value)) == value
    assert short_number(38.0) == "38"


def test_thresholds_and_leaf_values_read_back_the_same():
    model = SapwoodRegressor(**SMALL).fit(FRAME[["age", "hours"]], Y).model_
    leaves = [float(v) for v in re.findall(r"leaf (\S+) ", model.to_text())]
    thresholds = [float(v) for v in re.findall(r"<= (\S+) ", model.to_text())]
    trees = model.trees
    is_leaf = trees["feature"] < 0
    assert sorted(leaves) == sorted(trees["value"][is_leaf].ravel().tolist())
    assert sorted(thresholds) == sorted(trees["threshold"][~is_leaf].tolist())


def test_sets_of_categories_are_named():
    assert re.search(r"city in \{'Oslo', 'Rome'\} \(gain", text(category_encoding="partition"))


def test_missing_and_unknown_categories_are_named_with_their_set():
    frame = FRAME.assign(city=FRAME["city"].where(FRAME["city"] != "Oslo"))
    assert re.search(
        r"city in \{missing, 'Rome'\}|city in \{'Bern', 'Kyiv', 'Paris', 'Riga', others\}", text(frame=frame)
    )


def test_one_hot_splits_name_the_category():
    found = text(category_encoding="one_hot")
    assert "city not in {'Oslo'} (gain" in found
    assert "(is 'Oslo')" not in found


def test_many_categories_are_cut_short():
    names = np.array([f"c{k:02d}" for k in range(50)])
    code = np.arange(2000) % 50
    frame = pd.DataFrame({"code": names[code]})
    found = text(frame=frame, y=(code < 30) * 1.0, category_encoding="partition", max_leaves=2)
    assert re.search(r"code in \{'c\d\d', .*, and \d+ more(, others)?\}", found)


@pytest.mark.parametrize("encoding", ["ordered", "greedy", "leave_one_out", "holdout"])
def test_statistics_are_described(encoding):
    assert f"mean target of city ({encoding}) <= " in text(category_encoding=encoding)
    labels = np.where(Y > 0.5, "high", "low")
    assert f"share of class 'low' in city ({encoding}) <= " in text(
        SapwoodClassifier, labels, category_encoding=encoding
    )


def test_statistics_of_several_classes_name_the_class():
    labels = FRAME["city"].map({"Rome": "a", "Oslo": "a", "Bern": "b"}).fillna("c")
    assert re.search(
        r"share of class '[abc]' in city \(ordered\) <= ", text(SapwoodClassifier, labels, category_encoding="ordered")
    )


def test_frequencies_are_described():
    frame = pd.DataFrame({"city": np.repeat(["a", "b", "c"], [100, 200, 300])})
    assert "frequency of city <= " in text(frame=frame, y=(frame["city"] == "c") * 1.0, category_encoding="frequency")


@pytest.mark.parametrize(
    "params", [{}, {"split_search": "exact"}, {"growth": "levelwise"}, {"category_encoding": "ordered"}]
)
def test_the_side_of_missing_values_is_shown_where_it_was_learned(params):
    found = text(max_leaves=12, **params)
    assert re.search(r"hours <= \S+ \(missing (left|right), ", found) or "hours is not missing" in found
    assert re.search(r"age <= \S+ \(gain", found)
    assert "age <= 40.5 (missing" not in found


def test_a_split_of_missing_values_alone_says_so():
    frame = pd.DataFrame({"x": np.where(np.arange(100) % 2 == 0, np.nan, 3.0)})
    assert re.search(r"x is not missing \(gain|x <= \S+ \(missing", text(frame=frame, y=np.arange(100) % 2 * 1.0))


def test_sparse_columns_show_the_side_of_stored_missing_values():
    sparse = pytest.importorskip("scipy.sparse")
    X = np.where(RNG.random((800, 3)) < 0.9, 0.0, RNG.normal(size=(800, 3)))
    X[::40, 1] = np.nan
    model = SapwoodRegressor(**SMALL).fit(sparse.csr_matrix(X), np.isnan(X[:, 1]) * 2.0 + (X[:, 0] > 0)).model_
    assert model.metadata["columns_with_missing"] == [1]


def test_the_columns_with_missing_values_are_kept_in_files_and_by_continued_training(tmp_path):
    first = SapwoodRegressor(**SMALL).fit(FRAME, Y)
    first.save(tmp_path / "m.sapwood")
    assert sapwood.load(tmp_path / "m.sapwood").to_text() == first.model_.to_text()
    later = SapwoodRegressor(**SMALL).fit(FRAME.dropna(), Y[FRAME.notna().all(axis=1)], init_model=first)
    assert later.model_.metadata["columns_with_missing"] == first.model_.metadata["columns_with_missing"] == [1]


def test_a_model_that_does_not_know_shows_the_side():
    assert "(missing left, gain 8" in small_tree().to_text()
