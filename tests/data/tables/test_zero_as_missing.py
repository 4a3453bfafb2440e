"""Zeros that count as missing: the model and the answers of a table with NaN in their place."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sapwood
from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor, cv
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.tables.sparse import SparseTable
from sapwood.data.tables.table import read_table
from sapwood.data.tables.zero_as_missing import zeros_to_missing
from sapwood.errors import ParameterError, SchemaError

NAMES = list("abcdefgh")
SETTINGS = {"n_estimators": 4, "max_leaves": 6, "min_child_samples": 5}


def rows(n: int = 400, seed: int = 0) -> np.ndarray:
    """Mostly zeros, some of them negative, some values missing; a column of many values and an empty one."""
    random = np.random.default_rng(seed)
    X = np.where(random.uniform(size=(n, 8)) < 0.2, random.integers(-3, 4, (n, 8)), 0).astype(float)
    X[:, 0] = random.normal(size=n)
    X[:, 1] = 0.0
    X[random.uniform(size=n) < 0.1, 2] = np.nan
    X[:, 3] = np.where(random.uniform(size=n) < 0.9, random.normal(size=n), -0.0)
    return X


def holes(X: np.ndarray) -> np.ndarray:
    return np.where(X == 0.0, np.nan, X)


def stored_zeros(X: np.ndarray) -> sp.csc_matrix:
    """A sparse matrix some of whose zeros are stored."""
    made = sp.csc_matrix(X)
    made.data[::5] = 0.0
    return made


X, Z = rows(), rows(100, seed=1)
Y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 4]) - 3.0 * (X[:, 5] == 0.0) + (X[:, 2] == 0.0)
FORMS = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "columns first": np.asfortranarray,
    "objects": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "csr": sp.csr_matrix,
    "sparse pandas": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=NAMES),
}


@pytest.fixture(params=[0, 1024], ids=["listed", "tiled"])
def listed(request, monkeypatch):
    """Sparse columns as sparse bins, and in full."""
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", request.param)


def test_zeros_by_hand():
    """Zeros lie between -1 and 1, and answer as neither does."""
    x = np.array([-1.0, 0.0, 1.0, -0.0, np.nan] * 4)[:, None]
    y = np.array([1.0, 9.0, 2.0, 9.0, 9.0] * 4)
    fitted = SapwoodRegressor(
        n_estimators=1, learning_rate=1.0, reg_lambda=0.0, min_child_samples=1, zero_as_missing=True
    ).fit(x, y)
    assert fitted.predict([[-1.0], [0.0], [-0.0], [np.nan], [1.0]]).tolist() == [1.0, 9.0, 9.0, 9.0, 2.0]


@pytest.mark.parametrize("form", FORMS)
def test_the_model_is_that_of_a_table_with_nan(form, listed):
    given, held_out = FORMS[form](X), FORMS[form](Z)
    of_type = (lambda X: holes(X).astype(np.float32)) if form == "float32" else holes
    eval_sets = ((held_out, Z[:, 0]), (of_type(Z), Z[:, 0]))
    fitted = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(given, Y, eval_set=eval_sets[0])
    other = SapwoodRegressor(**SETTINGS).fit(of_type(X), Y, eval_set=eval_sets[1])
    mine, theirs = fitted.model_.ensemble, other.model_.ensemble
    for field in ("feature", "threshold", "missing_left", "value", "gain", "count"):
        assert np.array_equal(getattr(mine, field), getattr(theirs, field))
    assert fitted.evals_result_ == other.evals_result_
    assert np.array_equal(fitted.predict(held_out), other.model_.predict(of_type(Z)))
    assert np.array_equal(fitted.feature_importances_, other.feature_importances_)


def test_a_model_answers_every_form_alike():
    model = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(X, Y).model_
    answers = model.predict(Z)
    for form in set(FORMS) - {"float32"}:
        assert np.array_equal(model.predict(FORMS[form](Z)), answers)
        assert np.array_equal(model.leaf_indices(FORMS[form](Z)), model.leaf_indices(holes(Z)))


def test_stages_and_single_rows_answer_as_the_model_does():
    model = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(X, Y).model_
    assert np.array_equal(list(model.staged_predict(Z))[-1], model.predict(Z))
    assert np.array_equal([model.predictor().predict(row) for row in Z.tolist()], model.predict(holes(Z)))


def test_a_saved_model_still_takes_zeros_as_missing(tmp_path):
    model = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(X, Y).model_
    model.save(tmp_path / "model.sapwood")
    for again in (sapwood.load(tmp_path / "model.sapwood"), pickle.loads(pickle.dumps(model)), model[:]):
        assert np.array_equal(again.predict(sp.csr_matrix(Z)), model.predict(holes(Z)))
        assert again.fingerprint() == model.fingerprint()


def test_the_fingerprint_tells_what_zeros_are():
    other = SapwoodRegressor(**SETTINGS).fit(holes(X), Y).model_
    model = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(X, Y).model_
    assert model.to_text() == other.to_text()
    assert model.fingerprint() != other.fingerprint()


def test_only_models_that_need_it_have_the_newest_version_of_files():
    for flag, word in ((False, b'"version":1'), (True, b'"version":4')):
        model = SapwoodRegressor(zero_as_missing=flag, n_estimators=1).fit(X, Y).model_
        assert word in sapwood.model.io.serialize.to_bytes(model).replace(b"\\", b"")


@pytest.mark.parametrize("form", ["array", "csr"])
def test_zeros_of_categories_stay_categories(form):
    """Stored zeros too: 0 is another category than missing."""
    levels = X.copy()
    levels[:, 5] = np.where(np.arange(len(X)) % 7 == 0, np.nan, X[:, 5])
    y = np.where(np.isnan(levels[:, 5]), 5.0, levels[:, 5] == 0.0) + np.nan_to_num(X[:, 0])
    other = np.column_stack([holes(levels[:, :5]), levels[:, 5], holes(levels[:, 6:])])
    settings = {"categorical_features": [5], **SETTINGS}
    model = SapwoodRegressor(zero_as_missing=True, **settings).fit(FORMS[form](levels), y).model_
    answers = SapwoodRegressor(**settings).fit(other, y).predict(other)
    assert np.array_equal(model.predict(FORMS[form](levels)), answers)
    assert np.array_equal([model.predictor().predict(row) for row in levels[:50].tolist()], answers[:50])


@pytest.mark.parametrize(
    "params", [{"split_search": "exact"}, {"leaf_model": "linear"}, {"boosting": "ordered"}], ids=str
)
def test_other_ways_to_train_take_them_too(params):
    fitted = SapwoodRegressor(zero_as_missing=True, **SETTINGS, **params).fit(X, Y)
    other = SapwoodRegressor(**SETTINGS, **params).fit(holes(X), Y)
    assert np.array_equal(fitted.predict(Z), other.predict(holes(Z)))
    assert fitted.model_.to_text() == other.model_.to_text()


def test_classes_weights_and_rows_split_off_go_together_with_it():
    weight = np.arange(len(Y)) % 3
    settings = {**SETTINGS, "early_stopping_rounds": 2, "refit": True}
    fitted = SapwoodClassifier(zero_as_missing=True, **settings).fit(sp.csr_matrix(X), Y > 0, sample_weight=weight)
    other = SapwoodClassifier(**settings).fit(holes(X), Y > 0, sample_weight=weight)
    assert np.array_equal(fitted.predict_proba(Z), other.predict_proba(holes(Z)))


@pytest.mark.parametrize("form", ["array", "csr"])
def test_a_dataset_of_it_gives_the_same_model(form):
    dataset = Dataset(FORMS[form](X), zero_as_missing=True)
    fitted = SapwoodRegressor(**SETTINGS).fit(dataset, Y, eval_set=(dataset[:50], Y[:50]))
    plain = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(X, Y)
    assert fitted.model_.fingerprint() == plain.model_.fingerprint()
    assert np.array_equal(fitted.predict(dataset), plain.predict(X))


def test_a_dataset_that_reads_zeros_otherwise_is_refused():
    with pytest.raises(ParameterError, match=r"zero_as_missing=True is not supported with a Dataset made with .*False"):
        SapwoodRegressor(zero_as_missing=True).fit(Dataset(X), Y)
    with pytest.raises(SchemaError, match="eval_set 'validation': the Dataset was made with zero_as_missing=True"):
        SapwoodRegressor().fit(X, Y, eval_set=(Dataset(X, zero_as_missing=True), Y))


def test_cross_validation_holds_out_rows_with_it():
    mine = cv(SapwoodRegressor(zero_as_missing=True, **SETTINGS), sp.csr_matrix(X), Y, cv=3)
    assert np.array_equal(mine.predictions, cv(SapwoodRegressor(**SETTINGS), holes(X), Y, cv=3).predictions)


def test_a_model_is_continued_with_the_same_zeros_only():
    params = {"zero_as_missing": True, **SETTINGS}
    first = SapwoodRegressor(**params).fit(X, Y)
    second = SapwoodRegressor(**params).fit(sp.csr_matrix(X), Y, init_model=first)
    whole = SapwoodRegressor(**params | {"n_estimators": 8}).fit(X, Y)
    np.testing.assert_allclose(second.predict(Z), whole.predict(Z), atol=1e-6)
    for flag, model in ((False, first), (True, SapwoodRegressor(**SETTINGS).fit(X, Y))):
        with pytest.raises(ParameterError, match=f"zero_as_missing={not flag} is not .* zero_as_missing={flag}"):
            SapwoodRegressor(zero_as_missing=flag).fit(X, Y, init_model=model)


def test_bins_of_a_sparse_table_come_from_its_entries_alone(monkeypatch):
    table = zeros_to_missing(read_table(stored_zeros(X)))
    assert isinstance(table, SparseTable)
    assert (table.values != 0.0).all()
    dense = read_table(holes(stored_zeros(X).toarray()))
    first, second = (BinMapper.fit(one, None, 255) for one in (table, dense))
    assert all(map(np.array_equal, first.edges, second.edges))
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0)
    lists = BinMapper.fit(table, None, 255)
    assert set(lists.default_bins.tolist()) == {-1, 0}


def test_integers_and_booleans_have_zeros_too():
    whole = np.nan_to_num(X[:, 4:]).astype(np.int64)
    fitted = SapwoodRegressor(zero_as_missing=True, **SETTINGS).fit(whole, Y)
    other = SapwoodRegressor(**SETTINGS).fit(holes(whole.astype(float)), Y)
    assert fitted.model_.to_text() == other.model_.to_text()
    assert np.array_equal(fitted.predict(whole[:5].astype(bool)), other.predict(holes(whole[:5].astype(bool) * 1.0)))


@pytest.mark.parametrize("form", ["array", "csr"])
def test_a_time_of_zero_is_the_first_and_not_missing(form):
    timed = np.column_stack([X, np.arange(len(X))])
    params = {"zero_as_missing": True, "boosting": "ordered", "interaction_constraints": [list(range(8))], **SETTINGS}
    by_row = SapwoodRegressor(has_time=True, **params).fit(timed, Y)
    by_column = SapwoodRegressor(has_time=8, **params).fit(FORMS[form](timed), Y)
    assert by_column.model_.fingerprint() == by_row.model_.fingerprint()


def test_columns_of_zeros_and_ones_are_split_as_lightgbm_does():
    import lightgbm

    ones = (np.random.default_rng(3).uniform(size=(300, 3)) < 0.3).astype(float)
    y = ones @ [3.0, -1.0, 0.5]
    settings = {"n_estimators": 5, "min_child_samples": 10, "zero_as_missing": True}
    peer = lightgbm.LGBMRegressor(**settings, reg_lambda=1.0, verbose=-1).fit(ones, y)
    mine = SapwoodRegressor(**settings).fit(sp.csr_matrix(ones), y)
    np.testing.assert_allclose(mine.predict(ones), peer.predict(ones), atol=1e-5)


def test_something_else_than_a_boolean_is_refused():
    with pytest.raises(ParameterError, match="zero_as_missing must be True or False, got 'yes'"):
        SapwoodRegressor(zero_as_missing="yes").fit(X, Y)
