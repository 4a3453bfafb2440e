"""The search for numeric crosses: what it finds, keeps and refuses."""

from __future__ import annotations

import json
import struct

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import sapwood
from sapwood import NumericCrosses, SapwoodClassifier, SapwoodRegressor
from sapwood.boost import cross_search
from sapwood.boost.cross_search import split_sample
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.data.tables.table import read_table
from sapwood.errors import ModelFileError, ParameterError
from sapwood.model.io.serialize import from_bytes, to_bytes

FAST = {"n_estimators": 30, "learning_rate": 0.3}


def crossed(n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a target that is a function of a difference and of the sign of a product."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, 6))
    return X, np.sin(3 * (X[:, 0] - X[:, 3])) + 2.0 * (X[:, 1] * X[:, 4] > 0) + draw.normal(scale=0.1, size=n)


@pytest.fixture(scope="module")
def model():
    return SapwoodRegressor(numeric_crosses=True, **FAST).fit(*crossed()).model_


def test_differences_and_products_are_learned_as_such(model):
    X, y = crossed(2000, seed=1)
    plain = SapwoodRegressor(**FAST).fit(*crossed())
    kept = model.metadata["numeric_crosses"]["kept"]
    assert {"f0 − f3", "f1 · f4"} <= set(kept) or {"f0 − f3", "f1 / f4"} <= set(kept)
    assert np.mean((model.predict(X) - y) ** 2) < 0.25 * np.mean((plain.predict(X) - y) ** 2)


def test_nothing_is_kept_where_crosses_do_not_help():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(1500, 5))
    y = X[:, 0] + draw.normal(size=1500)
    fits = [SapwoodRegressor(numeric_crosses=on, **FAST).fit(X, y).model_ for on in (False, True)]
    assert fits[1].metadata["numeric_crosses"]["kept"] == []
    assert fits[0].fingerprint() == fits[1].fingerprint()


def test_gains_are_credited_to_the_sources(model):
    importance = model.importance("total_gain")
    assert len(importance) == 6
    assert importance[[0, 1, 3, 4]].min() > 10 * importance[[2, 5]].max()


def test_a_number_is_centred_by_a_category():
    draw = np.random.default_rng(3)
    city = draw.integers(0, 12, 3000)
    price = draw.normal(size=3000) + 5.0 * city
    X = pd.DataFrame({"city": city.astype(str), "price": price, "x": draw.normal(size=3000)})
    y = (price - 5.0 * city > 0.5) * 1.0
    model = SapwoodRegressor(numeric_crosses=True, **FAST).fit(X, y).model_
    assert "price − its mean by city" in model.metadata["numeric_crosses"]["kept"]
    plain = SapwoodRegressor(**FAST).fit(X, y)
    assert np.mean((model.predict(X) - y) ** 2) < 0.5 * np.mean((plain.predict(X) - y) ** 2)


def test_all_ways_to_predict_agree(model, tmp_path):
    X, _ = crossed(300, seed=2)
    X[::7, 0], X[::5, 4] = np.nan, 0.0
    expected = model.predict(X)
    model.save(tmp_path / "model.sapwood")
    loaded = sapwood.load(tmp_path / "model.sapwood")
    assert loaded.fingerprint() == model.fingerprint()
    np.testing.assert_array_equal(loaded.predict(X), expected)
    np.testing.assert_array_equal(loaded.predict(scipy.sparse.csr_matrix(X)), expected)
    np.testing.assert_array_equal([loaded.predict(row[None])[0] for row in X[:20]], expected[:20])
    np.testing.assert_array_equal([loaded.predictor().predict(row) for row in X[:20]], expected[:20])


def test_training_is_continued_with_and_without_crosses(model):
    X, y = crossed()
    for on in (True, False):
        longer = SapwoodRegressor(numeric_crosses=on, **FAST).fit(X, y, init_model=model)
        assert longer.model_.n_iterations == 60
        np.testing.assert_allclose(longer.model_.predict(X, iterations=30), model.predict(X))
        assert np.mean((longer.predict(X) - y) ** 2) < np.mean((model.predict(X) - y) ** 2)
    first = SapwoodRegressor(**FAST).fit(X, y)
    second = SapwoodRegressor(numeric_crosses=True, **FAST).fit(X, y, init_model=first)
    np.testing.assert_allclose(second.model_.predict(X, iterations=30), first.predict(X))


@pytest.mark.parametrize("refit", [True, "replay"])
def test_a_refit_keeps_the_crosses_of_the_first_fit(refit, monkeypatch):
    X, y = crossed()
    searches = []
    search = cross_search.search_crosses
    monkeypatch.setattr("sapwood.boost.cross_search.search_crosses", lambda *a: searches.append(1) or search(*a))
    model = SapwoodRegressor(numeric_crosses=True, early_stopping_rounds=5, refit=refit, **FAST).fit(X, y).model_
    assert len(searches) == 1
    assert "f0 − f3" in model.metadata["numeric_crosses"]["kept"]
    assert model.metadata["n_rows"] == len(y)


def test_a_checkpoint_resumes_with_the_same_crosses(tmp_path):
    X, y = crossed(1500)
    path = tmp_path / "checkpoint"
    whole = SapwoodRegressor(numeric_crosses=True, **FAST).fit(X, y).model_

    def kill(progress):
        if progress.round == 5:
            raise KeyError

    with pytest.raises(KeyError):
        SapwoodRegressor(numeric_crosses=True, checkpoint=path, checkpoint_every=0, callbacks=kill, **FAST).fit(X, y)
    again = SapwoodRegressor(numeric_crosses=True, checkpoint=path, checkpoint_every=0, **FAST).fit(X, y).model_
    assert again.fingerprint() == whole.fingerprint()


def test_columns_with_a_monotone_constraint_are_not_crossed():
    X, _ = crossed()
    params = {"monotone_constraints": [1, 0, 0, 0, 0, 0], "numeric_crosses": True}
    model = SapwoodRegressor(**params, **FAST).fit(X, X[:, 0] + np.sin(4.0 * X[:, 1] * X[:, 4])).model_
    kept = model.metadata["numeric_crosses"]["kept"]
    assert kept
    assert not any("f0" in name for name in kept)


def test_columns_that_may_not_interact_are_not_crossed():
    X, y = crossed()
    params = {"interaction_constraints": [[0, 1, 2], [3, 4, 5]], "numeric_crosses": True}
    model = SapwoodRegressor(**params, **FAST).fit(X, y).model_
    assert "f0 − f3" not in model.metadata["numeric_crosses"]["kept"]


def test_classes_and_weights_work():
    X, y = crossed()
    labels = np.digitize(y, [0.0, 1.5])
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(y))
    model = SapwoodClassifier(numeric_crosses=NumericCrosses(max_kept=3), **FAST).fit(X, labels, sample_weight=weight)
    assert 0 < len(model.model_.metadata["numeric_crosses"]["kept"]) <= 3
    assert model.score(X, labels) > 0.9


def test_few_rows_are_not_searched():
    X, y = crossed(100)
    model = SapwoodRegressor(numeric_crosses=True, **FAST).fit(X, y).model_
    assert model.metadata["numeric_crosses"] == {"kept": []}


@given(n=st.integers(10, 400), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_a_row_is_drawn_by_its_number_alone(n, seed):
    rows = LabeledRows(None, read_table(np.zeros((n, 1))), np.zeros(n))
    train, valid = split_sample(rows, 2**14, seed)
    assert sorted([*train, *valid]) == list(range(n))
    half = rows.take(np.arange(n) % 2 == 0)
    some_train, _ = split_sample(half, 2**14, seed)
    assert set(2 * some_train) == {k for k in train.tolist() if k % 2 == 0}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"columns": 0}, "columns"), ({"max_kept": 0}, "max_kept"), ({"kinds": ("sum",)}, "'difference'"),
        ({"kinds": ()}, "kinds"),
    ],
)  # fmt: skip
def test_an_option_that_is_not_allowed_is_named(option, message):
    with pytest.raises(ParameterError, match=message):
        NumericCrosses(**option)
    with pytest.raises(ParameterError, match="numeric_crosses must be True, False or a NumericCrosses object"):
        SapwoodRegressor(numeric_crosses="difference").fit(*crossed(50))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"sources":[0,3],"kind":"difference"', b'"sources":[0,9],"kind":"difference"'),
        (b'"sources":[0,3],"kind":"difference"', b'"sources":[0,3],"kind":"centreddd."'),
        (b'"sources":[0,3],"kind":"difference"', b'"sources":[-,3],"kind":"difference"'),
    ],
)  # fmt: skip
def test_a_forged_cross_is_refused(model, before, after):
    data = to_bytes(model)
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert before in data.replace(b'\\"', b'"')
    assert header
    forged = data.replace(before.replace(b'"', b'\\"'), after.replace(b'"', b'\\"'))
    with pytest.raises(ModelFileError):
        from_bytes(forged)
