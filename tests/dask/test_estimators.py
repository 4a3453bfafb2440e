"""The estimators for Dask follow scikit-learn's conventions, predict lazily, and refuse by name what cannot be."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from dask.delayed import delayed
from distributed import Client
from sklearn.base import clone

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor, Uniform
from sapwood.dask import DaskSapwoodClassifier, DaskSapwoodRegressor
from sapwood.dask.base import read_init_model
from sapwood.errors import InputError, InputTypeError, ParameterError
from tests.dask.collections import as_frame, dask_array, dask_frame, make_table, put
from tests.dask.test_fit import FEW, fingerprint

SIZES = [200, 150, 250]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A classifier that was trained without a cluster."""
    X, y = make_table(task="classes")
    path = tmp_path_factory.mktemp("model") / "model.sapwood"
    SapwoodClassifier(**FEW).fit(as_frame(X), y).save(path)
    return DaskSapwoodClassifier.load(path)


def test_predictions_of_a_data_frame_have_its_index_and_divisions(fitted: Any) -> None:
    X, _ = make_table(task="classes")
    frame = as_frame(X).set_index(np.arange(600) * 2)
    collection = dd.from_pandas(frame, npartitions=3)
    labels, probabilities = fitted.predict(collection), fitted.predict_proba(collection)
    assert isinstance(labels, dd.Series)
    assert labels.divisions == probabilities.divisions == collection.divisions
    local = fitted.to_local()
    found = probabilities.compute(scheduler="synchronous")
    assert found.columns.tolist() == ["a", "b", "c"]
    assert found.index.equals(frame.index)
    assert np.array_equal(found.to_numpy(), local.predict_proba(frame))
    assert np.array_equal(labels.compute(scheduler="synchronous").to_numpy(), local.predict(frame))


def test_predictions_of_arrays_are_arrays_with_their_chunks(client: Client) -> None:
    X, y = make_table()
    model = DaskSapwoodRegressor(**FEW, client=client).fit(dask_array(X, SIZES), dask_array(y, SIZES))
    predictions = model.predict(dask_array(X, SIZES).rechunk((100, 2)))
    assert isinstance(predictions, da.Array)
    assert predictions.chunks == ((100,) * 6,)
    expected = model.to_local().predict(X)
    assert np.array_equal(predictions.compute(scheduler="synchronous"), expected)
    unknown = dask_frame(X, y, SIZES)[0].to_dask_array()
    assert np.array_equal(model.predict(unknown).compute(scheduler="synchronous"), expected)
    parts = model.predict([delayed(X[:10]), delayed(X[10:20])])
    assert [part.compute(scheduler="synchronous").shape for part in parts] == [(10,), (10,)]
    assert np.array_equal(model.predict(X), expected)
    assert model.score(dask_array(X, SIZES), dask_array(y, SIZES)) == model.to_local().score(X, y)


def test_parameters_clones_and_pickles(client: Client, fitted: Any, tmp_path: Path) -> None:
    model = DaskSapwoodRegressor(max_leaves=7, client=client)
    params = model.get_params()
    assert params["client"] is client
    assert params["retries"] == 3
    assert set(params) - set(SapwoodRegressor().get_params()) == {"client", "retries"}
    assert clone(model).client is client
    assert pickle.loads(pickle.dumps(model)).client is None
    assert model.to_local().get_params() == SapwoodRegressor(max_leaves=7).get_params()
    assert model.set_params(retries=1).retries == 1
    with pytest.raises(TypeError, match="max_leaves"):
        DaskSapwoodRegressor(num_leaves=7)
    fitted.save(tmp_path / "again.sapwood")
    assert sapwood.load(tmp_path / "again.sapwood").fingerprint() == fingerprint(fitted)
    assert fingerprint(pickle.loads(pickle.dumps(fitted))) == fingerprint(fitted)


X, Y = (dask_array(values, SIZES) for values in make_table())


@pytest.mark.parametrize(
    ("params", "arguments", "error", "words"),
    [
        ({}, {"X": np.zeros((600, 5))}, InputTypeError, "X is a numpy ndarray, which is not a Dask collection"),
        ({}, {"X": [[1.0]]}, InputTypeError, "not a Dask collection"),
        ({}, {"y": None}, InputError, "y is None"),
        ({}, {"y": Y[:-1]}, InputError, "y has 599 rows, but X has 600"),
        ({}, {"sample_weight": [delayed(np.ones(600))]}, InputError, "sample_weight has 1 partitions, but X has 3"),
        ({}, {"eval_set": (X, np.zeros(600))}, InputTypeError, "eval_set 'validation': y is a numpy ndarray"),
        ({}, {"y": dask_array(np.full(600, np.nan), SIZES)}, InputError, "partitions"),
        ({"effort": "balanced"}, {}, ParameterError, "effort='balanced' is not supported with distributed"),
        ({"split_search": "exact"}, {}, ParameterError, "exact"),
        ({"warm_start": True}, {}, ParameterError, "pass init_model"),
        ({"max_leaves": 1}, {}, ParameterError, "max_leaves"),
        ({"retries": -1}, {}, ParameterError, "retries must be"),
        ({}, {"groups": np.zeros(600)}, InputTypeError, "groups is a numpy ndarray"),
        ({"sampling": Uniform(by="groups"), "subsample": 0.5}, {}, InputError, "pass groups"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_refused_by_name(
    client: Client, params: dict[str, Any], arguments: dict[str, Any], error: type[Exception], words: str
) -> None:  # fmt: skip
    given = {"X": X, "y": Y} | arguments
    with pytest.raises(error, match=words):
        DaskSapwoodRegressor(**FEW | params, client=client).fit(given.pop("X"), given.pop("y"), **given)


def test_partitions_of_different_lengths_are_named(client: Client) -> None:
    parts = [delayed(np.zeros((n, 2))) for n in (3, 4)], [delayed(np.zeros(n)) for n in (3, 5)]
    with pytest.raises(InputError, match="partition 1 of X has 4 rows, but that of y has 5"):
        DaskSapwoodRegressor(client=client).fit(*parts)


def test_without_rows_there_is_nothing_to_train_on(client: Client) -> None:
    with pytest.raises(InputError, match="all of its partitions are empty"):
        DaskSapwoodRegressor(client=client).fit(da.zeros((0, 2), chunks=(1, 2)), da.zeros(0, chunks=1))


def test_several_fits_run_at_once(client: Client, addresses: list[str]) -> None:
    table, target = make_table()
    parts = [put(client, values, [100] * 6, addresses[:2]) for values in (table, target)]
    models = [DaskSapwoodRegressor(**FEW | {"random_state": seed}, client=client) for seed in range(3)]
    threads = [threading.Thread(target=model.fit, args=parts) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, model in enumerate(models):
        assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW | {"random_state": seed}).fit(table, target))


def test_categories_are_those_of_all_partitions(client: Client, addresses: list[str]) -> None:
    table, target = make_table()
    frame = as_frame(table).assign(
        city=pd.Series(np.array(["x", "y", "z"])[np.digitize(target, [0.0, 2.0])], dtype=object),
        kind=pd.Categorical([f"k{k % 20}" for k in range(600)]),
    )
    alone = SapwoodRegressor(**FEW).fit(frame, target)
    unknown = dd.from_pandas(frame, npartitions=4)
    unknown["kind"] = unknown["kind"].cat.as_unknown()
    for X in (unknown, put(client, frame, [150] * 4, addresses)):
        y = put(client, target, [150] * 4, addresses)
        assert fingerprint(DaskSapwoodRegressor(**FEW, client=client).fit(X, y)) == fingerprint(alone)


def test_sparse_partitions_train_the_model_of_one_machine(client: Client, addresses: list[str]) -> None:
    table, target = make_table()
    sparse = scipy.sparse.csr_matrix(np.where(np.nan_to_num(table) > 0.5, table, 0.0))
    parts = [put(client, values, SIZES, addresses) for values in (sparse, target)]
    alone = SapwoodRegressor(**FEW).fit(sparse, target)
    assert fingerprint(DaskSapwoodRegressor(**FEW, client=client).fit(*parts)) == fingerprint(alone)


def test_a_model_is_continued(client: Client) -> None:
    table, target = make_table()
    first = SapwoodRegressor(**FEW).fit(table, target)
    alone = SapwoodRegressor(**FEW).fit(table, target, init_model=first)
    model = DaskSapwoodRegressor(**FEW, client=client).fit(X, Y, init_model=first)
    assert fingerprint(model) == fingerprint(alone)


def test_a_model_file_to_continue_is_read_by_the_client(client: Client, tmp_path: Path) -> None:
    table, target = make_table()
    path = tmp_path / "first.sapwood"
    SapwoodRegressor(**FEW).fit(table, target).save(path)
    seen = read_init_model(path)
    path.unlink()
    alone = SapwoodRegressor(**FEW).fit(table, target, init_model=seen)
    model = DaskSapwoodRegressor(**FEW, client=client).fit(X, Y, init_model=seen)
    assert fingerprint(model) == fingerprint(alone)
    with pytest.raises(FileNotFoundError):
        DaskSapwoodRegressor(**FEW, client=client).fit(X, Y, init_model=path)


def test_a_drawn_seed_is_the_same_for_all_workers(client: Client, addresses: list[str]) -> None:
    table, target = make_table()
    parts = [put(client, values, [300, 300], addresses[:2]) for values in (table, target)]
    generator, same = np.random.default_rng(4), np.random.default_rng(4)
    params = FEW | {"subsample": 0.5}
    model = DaskSapwoodRegressor(**params | {"random_state": generator}, client=client).fit(*parts)
    alone = SapwoodRegressor(**params | {"random_state": same}).fit(table, target)
    assert fingerprint(model) == fingerprint(alone)
    assert generator.bit_generator.state == same.bit_generator.state
    assert model.to_local().random_state is generator
    assert len(model.set_params(random_state=None).fit(*parts).fit_report_["workers"]) == 2
    assert model.to_local().random_state is None


def test_futures_are_predicted_and_scored(client: Client, addresses: list[str], fitted: Any) -> None:
    table, target = make_table(task="classes")
    rows, labels, weights = (put(client, v, SIZES, addresses) for v in (as_frame(table), target, np.arange(600.0)))
    local = fitted.to_local()
    predicted = client.gather(client.compute(fitted.predict(rows)))
    assert np.array_equal(np.concatenate(predicted), local.predict(as_frame(table)))
    expected = local.score(as_frame(table), target, np.arange(600.0))
    assert fitted.score(rows, labels, weights) == expected
    assert fitted.score(rows, target.tolist(), list(range(600))) == expected


def test_an_array_of_one_dimension_is_not_predicted(fitted: Any) -> None:
    with pytest.raises(InputError, match="X is an array of 1 dimension"):
        fitted.predict(da.zeros(5))


def test_progress_is_shown_by_the_client(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    DaskSapwoodRegressor(**FEW, client=client, verbose=2).fit(X, Y, eval_set=(X, Y))
    shown = capsys.readouterr().err
    assert "[4]  validation rmse:" in shown or "[2]  validation rmse:" in shown
