"""Sparse tables (X5): the same bins, models and predictions as the dense ones, and named errors for broken ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from sapwood import Dataset, SapwoodClassifier, SapwoodRegressor, cv
from sapwood.data.tables.sparse import SparseTable
from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, InputTypeError, NoSplitWarning, SchemaError


@pytest.fixture(autouse=True)
def small_tables_are_sparse(monkeypatch):
    """As large ones are."""
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0)


def dense(n: int = 300, p: int = 12, seed: int = 0) -> np.ndarray:
    """Mostly zeros: a full column, an empty one, negative values, missing ones, one of many values."""
    random = np.random.default_rng(seed)
    X = np.where(random.uniform(size=(n, p)) < 0.15, random.integers(-3, 4, (n, p)), 0).astype(float)
    X[:, 0] = random.normal(size=n)
    X[:, 1] = 0.0
    X[random.uniform(size=n) < 0.1, 2] = np.nan
    X[:, 3] = np.where(random.uniform(size=n) < 0.9, random.normal(size=n), 0.0)
    return X


def target(X: np.ndarray) -> np.ndarray:
    signal = np.nan_to_num(X)
    return signal[:, 0] + signal[:, 4] * 2 - signal[:, 5] + signal[:, 2]


def with_int64(X: np.ndarray) -> sp.csr_matrix:
    made = sp.csr_matrix(X)
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def unsorted(X: np.ndarray) -> sp.csr_matrix:
    made = sp.csr_matrix(X)
    for row in range(len(X)):
        entries = slice(made.indptr[row], made.indptr[row + 1])
        made.indices[entries], made.data[entries] = made.indices[entries][::-1].copy(), made.data[entries][::-1].copy()
    made.has_sorted_indices = made.has_canonical_format = False
    return made


def doubled(X: np.ndarray) -> sp.csr_matrix:
    """Every entry twice, half of it each time."""
    entries = sp.csr_matrix(X)
    indices, data = np.repeat(entries.indices, 2), np.repeat(entries.data / 2, 2)
    return sp.csr_matrix((data, indices, 2 * entries.indptr), shape=X.shape)


FORMS = {
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "lil": sp.lil_matrix,
    "dok": sp.dok_matrix,
    "csr array": sp.csr_array,
    "csc array": sp.csc_array,
    "64-bit indices": with_int64,
    "unsorted": unsorted,
    "every entry twice": doubled,
    "stored zeros": lambda X: sp.csr_matrix((X.ravel(), np.tile(np.arange(X.shape[1]), len(X)),
                                             np.arange(len(X) + 1) * X.shape[1]), shape=X.shape),
    "pandas": lambda X: pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X)),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_model_and_predictions_of_the_dense_table(form):
    X = dense()
    y = target(X)
    params = {"n_estimators": 5, "max_leaves": 8, "max_bins": 20}
    expected = SapwoodRegressor(**params).fit(X, y)
    fitted = SapwoodRegressor(**params).fit(FORMS[form](X), y)
    assert fitted.model_.fingerprint() == expected.model_.fingerprint()
    assert np.array_equal(fitted.predict(FORMS[form](X)), expected.predict(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, bool])
def test_the_type_of_the_entries_does_not_matter(dtype):
    X = np.nan_to_num(dense()).round().astype(dtype)
    y = target(dense())
    models = [SapwoodRegressor(n_estimators=3).fit(form(X), y).model_ for form in (np.asarray, sp.csr_matrix)]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_everything_around_a_fit_takes_sparse_tables():
    X = dense()
    labels = (target(X) > 0.3).astype(int)
    sparse = sp.csr_matrix(X)
    params = {"n_estimators": 6, "early_stopping_rounds": 3, "subsample": 0.7, "boosting": "dart"}
    first = SapwoodClassifier(**params).fit(X, labels, eval_set=(X[:100], labels[:100]))
    second = SapwoodClassifier(**params).fit(sparse, labels, eval_set=(sparse[:100], labels[:100]))
    assert first.model_.fingerprint() == second.model_.fingerprint()
    assert first.evals_result_ == second.evals_result_
    for one, other in zip(first.staged_predict_proba(X), second.staged_predict_proba(sparse), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(first.apply(X), second.apply(sparse))
    rows = np.arange(0, 300, 3)
    binned = SapwoodClassifier(n_estimators=3).fit(Dataset(sparse)[rows], labels[rows])
    assert (
        binned.model_.fingerprint()
        == SapwoodClassifier(n_estimators=3).fit(Dataset(X)[rows], labels[rows]).model_.fingerprint()
    )
    folds = [cv(SapwoodClassifier(n_estimators=3), form, labels, cv=3).predictions for form in (X, sparse)]
    assert np.array_equal(folds[0], folds[1])


def test_no_more_than_blocks_are_made_dense():
    table = read_table(sp.random_array((1000, 50_000), density=1e-4, format="csr", random_state=0))
    assert isinstance(table, SparseTable)
    assert max(matrix.size for _, matrix in table.matrices(table.chunk_rows(), 0, 1000)) <= 4_194_304


def test_sparse_columns_of_several_types_are_one_table():
    X = dense()
    plain = pd.DataFrame({"flag": X[:, 4] > 0, "count": X[:, 5].astype(np.int64), "amount": X[:, 2]})
    kinds = {"flag": (False, "integer"), "count": (0, "block"), "amount": (0.0, "integer")}
    sparse = pd.DataFrame(
        {name: pd.arrays.SparseArray(plain[name], fill_value=fill, kind=kind) for name, (fill, kind) in kinds.items()}
    )
    assert read_table(sparse).is_sparse
    expected, fitted = (SapwoodRegressor(n_estimators=5).fit(one, target(X)) for one in (plain, sparse))
    assert fitted.model_.fingerprint() == expected.model_.fingerprint()
    assert np.array_equal(fitted.predict(sparse), expected.predict(plain))


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.bsr_matrix, sp.dia_matrix])
def test_rows_are_taken_of_formats_that_have_none(form):
    X = np.triu(np.tril(np.nan_to_num(dense(60, 60)), 5), -5)
    y = X @ np.arange(60.0)
    plain, sparse = (cv(SapwoodRegressor(n_estimators=3, min_child_samples=2), one, y, cv=3) for one in (X, form(X)))
    assert np.array_equal(sparse.predictions, plain.predictions)
    assert Dataset(form(X))[5:20].shape == (15, 60)


@pytest.mark.parametrize("n_rows, n_columns", [(5, 3), (4, 6)])
def test_rows_and_columns_without_entries_are_fine(n_rows, n_columns):
    X = sp.csr_matrix((n_rows, n_columns))
    with pytest.warns(NoSplitWarning, match=r"rows cannot be divided"):
        fitted = SapwoodRegressor(n_estimators=2).fit(X, np.arange(float(n_rows)))
    assert (fitted.predict(X) == np.arange(n_rows).mean()).all()


# --- broken matrices --------------------------------------------------------------------------------------------------


def broken(kind: type, **changes) -> sp.csr_matrix:
    made = kind(np.eye(4, 3))
    for name, value in changes.items():
        setattr(made, name, np.array(value))
    return made


@pytest.mark.parametrize(
    "kind, outer, inner, most", [(sp.csr_matrix, "row", "column", 2), (sp.csc_matrix, "column", "row", 3)]
)
@pytest.mark.parametrize("index", [-1, 2**31 - 1])
def test_an_index_out_of_range_is_named(kind, outer, inner, most, index):
    X = broken(kind, indices=[0, 1, index])
    with pytest.raises(InputError, match=f"{outer} 2 has an entry in {inner} {index}: allowed are 0 to {most}"):
        SapwoodRegressor().fit(X, np.zeros(4))


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"indptr": [0, 2, 1, 3, 3]}, "indptr decreases after row 1"),
        ({"indptr": [0, 1, 2, 3, 9]}, "indptr ends at 9"),
        ({"indptr": [0, 1, 2]}, "indptr must have 5 entries and begin with 0, but it has 3"),
        ({"indptr": [1, 1, 2, 3, 3]}, "begin with 0, but it begins with 1"),
    ],
)
def test_broken_row_starts_are_named(changes, told):
    with pytest.raises(InputError, match=told):
        read_table(broken(sp.csr_matrix, **changes))


@pytest.mark.parametrize("index", [-1, 2])
def test_a_block_out_of_range_is_named(index):
    X = sp.bsr_matrix(np.eye(4), blocksize=(2, 2))
    X.indices = np.array([0, index], dtype=X.indices.dtype)
    with pytest.raises(InputError, match=f"row of blocks 1 has an entry in column of blocks {index}: allowed"):
        read_table(X)


def test_a_sparse_column_out_of_range_is_named():
    X = sp.lil_matrix(np.eye(3))
    X.rows[1] = [9]
    with pytest.raises(InputError, match="row 1 has an entry in column 9: allowed are 0 to 2"):
        read_table(X)


def test_a_coordinate_out_of_range_is_named():
    X = sp.coo_matrix(np.eye(3))
    X.row = np.array([0, -5, 2])
    with pytest.raises(InputError, match="entry 1 is in row -5: allowed are 0 to 2"):
        read_table(X)


@pytest.mark.parametrize(
    "X, error",
    [(sp.csr_matrix(np.eye(3) * 1j), InputError), (sp.csr_matrix((3, 0)), InputError)],
    ids=["complex", "no columns"],
)
def test_what_is_not_a_table_of_numbers_is_refused(X, error):
    with pytest.raises(error):
        read_table(X)


def test_another_number_of_columns_is_refused_at_prediction():
    fitted = SapwoodRegressor(n_estimators=1, min_child_samples=1).fit(sp.csr_matrix(np.eye(30, 4)), np.arange(30.0))
    with pytest.raises(SchemaError, match="X has 5 features"):
        fitted.predict(sp.csr_matrix((2, 5)))


@pytest.mark.parametrize("settings", [{}, {"zero_as_missing": True}, {"boosting": "dart"}, {"growth": "levelwise"}])
@pytest.mark.parametrize("params", [{"split_search": "exact"}, {"leaf_model": "linear"}], ids=str)
def test_exact_search_and_linear_leaves_give_the_model_of_the_dense_table(params, settings):
    X = dense()
    y, sparse = target(X), sp.csr_matrix(X)
    params = {"n_estimators": 5, "random_state": 1, **params, **settings}
    fitted = [SapwoodRegressor(**params).fit(one, y, eval_set=(one, y)) for one in (X, sparse)]
    assert fitted[0].model_.fingerprint() == fitted[1].model_.fingerprint()
    assert fitted[0].evals_result_ == fitted[1].evals_result_
    np.testing.assert_array_equal(fitted[0].predict(X), fitted[1].predict(sparse))
    dataset = Dataset(sparse, zero_as_missing="zero_as_missing" in settings)
    by_dataset = SapwoodRegressor(**params).fit(dataset, y)
    assert by_dataset.model_.fingerprint() == fitted[0].model_.fingerprint()


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int16, np.float32])
def test_entries_stored_twice_are_added_in_their_own_type(kind):
    random = np.random.default_rng(0)
    rows, columns = random.integers(0, 200, 900), random.integers(0, 6, 900)
    coo = sp.coo_matrix((np.full(900, 100).astype(kind), (rows, columns)), shape=(200, 6))
    csr = sp.csr_matrix(coo)
    unsummed = sp.csr_matrix((200, 6), dtype=kind)
    order = np.argsort(rows, kind="stable")
    unsummed.indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=200))]).astype(np.int32)
    unsummed.indices, unsummed.data = columns[order].astype(np.int32), coo.data[order]
    for table in (coo, csr, unsummed):
        found = read_table(table)
        np.testing.assert_array_equal(whole(found), csr.toarray().astype(np.float64))


def whole(table):
    return np.concatenate([values for _, values in table.matrices(1000)])


@pytest.mark.parametrize("name", ["indptr", "indices"])
def test_indices_that_are_no_integers_are_named(name):
    X = sp.csr_matrix(np.eye(4))
    setattr(X, name, getattr(X, name).astype(float))
    with pytest.raises(InputError, match=f"{name} has the type float64: rebuild it with integers"):
        SapwoodRegressor().fit(X, np.arange(4.0))


def test_coordinates_without_values_are_named():
    X = sp.coo_matrix(np.eye(4))
    X.data = X.data[:2]
    with pytest.raises(InputError, match="4 rows, 4 columns and 2 values: rebuild it"):
        SapwoodRegressor().fit(X, np.arange(4.0))


def test_a_sparse_target_or_score_is_named_without_a_warning():
    column = sp.csr_matrix(np.ones((4, 1)))
    with pytest.raises(InputTypeError, match="y is a sparse matrix"):
        SapwoodRegressor().fit(np.eye(4), column)
    with pytest.raises(InputTypeError, match="init_score is a sparse matrix"):
        SapwoodRegressor().fit(np.eye(4), np.arange(4.0), init_score=column)


def test_numbers_beyond_float64_are_infinite_without_a_warning():
    X = np.eye(40, dtype=np.longdouble) * np.longdouble("1e4000")
    model = SapwoodRegressor(n_estimators=2, min_child_samples=1)
    prints = {model.fit(table, np.arange(40.0)).model_.fingerprint() for table in (X, sp.csr_matrix(X))}
    assert len(prints) == 1
