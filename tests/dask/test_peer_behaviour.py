"""Behaviour that the Dask tests of XGBoost and LightGBM ask of their estimators, asked of ours.

``docs/dask.md`` lists which of their tests do not apply, and why.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from distributed import Client
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

import sapwood.dask
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.dask import DaskSapwoodClassifier, DaskSapwoodRegressor
from sapwood.errors import InputError, InputTypeError, SapwoodWarning
from tests.dask.collections import NAMES, as_frame, dask_array, make_table, put
from tests.dask.test_fit import FEW, fingerprint

SIZES = [150, 250, 200]
NUMBERS, TARGETS = make_table()
LABELS = make_table(task="classes")[1]
X, Y, CLASSES = (dask_array(values, SIZES) for values in (NUMBERS, TARGETS, LABELS))


def frame_of(values: np.ndarray) -> dd.DataFrame:
    return dd.from_pandas(as_frame(values), npartitions=3)


# --- training -----------------------------------------------------------------------------------------------------


def test_estimators_are_a_classifier_and_a_regressor() -> None:
    assert is_classifier(DaskSapwoodClassifier())
    assert is_regressor(DaskSapwoodRegressor())


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_classes_are_an_array_of_labels(threaded_client: Client, kind: str) -> None:
    rows = X if kind == "array" else frame_of(NUMBERS)
    labels = dd.from_pandas(pd.Series(LABELS == "a"), npartitions=3) if kind == "frame" else CLASSES == "a"
    model = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(rows, labels)
    assert isinstance(model.classes_, np.ndarray)
    assert model.classes_.tolist() == [False, True]


def test_a_client_is_not_needed_or_set_after_construction(threaded_client: Client) -> None:
    expected = fingerprint(SapwoodRegressor(**FEW).fit(NUMBERS, TARGETS))
    with threaded_client.as_current():
        assert fingerprint(DaskSapwoodRegressor(**FEW).fit(X, Y)) == expected
    model = DaskSapwoodRegressor(**FEW)
    model.client = threaded_client
    assert fingerprint(model.fit(X, Y)) == expected
    assert model.client_ is threaded_client


def test_an_asynchronous_client_is_refused(threaded_client: Client) -> None:
    async def fit() -> None:
        async with Client(threaded_client.scheduler.address, asynchronous=True) as client:
            DaskSapwoodRegressor(**FEW, client=client).fit(X, Y)

    with pytest.raises(InputTypeError, match="needs a synchronous client"):
        asyncio.run(fit())


def test_fits_run_inside_tasks(threaded_client: Client) -> None:
    models = [DaskSapwoodRegressor(**FEW | {"n_estimators": n}) for n in (1, 2, 3)]
    fits = threaded_client.gather([threaded_client.submit(model.fit, X, Y, pure=False) for model in models])
    assert [fit.n_iter_ for fit in fits] == [1, 2, 3]


def test_fits_of_several_clients_run_at_once(threaded_client: Client) -> None:
    def fit(n_rounds: int) -> int:
        with Client(threaded_client.scheduler.address, set_as_default=False) as client:
            return DaskSapwoodRegressor(**FEW | {"n_estimators": n_rounds}, client=client).fit(X, Y).n_iter_

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(fit, [1, 2, 3])) == [1, 2, 3]


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_there_may_be_fewer_rows_than_workers(threaded_client: Client, n_rows: int) -> None:
    few, target = dask_array(NUMBERS[:n_rows], [1] * n_rows), dask_array(TARGETS[:n_rows], [1] * n_rows)
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(few, target, eval_set=[(X, Y)])
    alone = SapwoodRegressor(**FEW).fit(NUMBERS[:n_rows], TARGETS[:n_rows], eval_set=[(NUMBERS, TARGETS)])
    assert fingerprint(model) == fingerprint(alone)
    assert model.evals_result_ == alone.evals_result_


def test_ranking_metrics_are_exact_where_workers_have_no_validation_rows(threaded_client: Client) -> None:
    small = slice(100, 500, 4)
    sets = [(dask_array(NUMBERS[small], [100]), dask_array(LABELS[small] == "b", [100]))]
    params = FEW | {"eval_metric": ["auc", "average_precision"]}
    model = DaskSapwoodClassifier(**params, client=threaded_client).fit(X, CLASSES == "b", eval_set=sets)
    alone = SapwoodClassifier(**params).fit(NUMBERS, LABELS == "b", eval_set=[(NUMBERS[small], LABELS[small] == "b")])
    assert model.evals_result_ == alone.evals_result_


def test_sparse_chunks_train_and_predict(threaded_client: Client) -> None:
    dense = np.where(np.nan_to_num(NUMBERS) > 0.5, NUMBERS, 0.0)
    chunks = dask_array(dense, SIZES).map_blocks(scipy.sparse.csr_matrix)
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(chunks, Y)
    alone = SapwoodRegressor(**FEW).fit(scipy.sparse.csr_matrix(dense), TARGETS)
    assert fingerprint(model) == fingerprint(alone)
    assert np.array_equal(model.predict(chunks).compute(), alone.predict(scipy.sparse.csr_matrix(dense)))


def test_zeros_may_be_missing_values(threaded_client: Client) -> None:
    zeros = np.nan_to_num(NUMBERS)
    params = FEW | {"zero_as_missing": True}
    model = DaskSapwoodRegressor(**params, client=threaded_client).fit(dask_array(zeros, SIZES), Y)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**params).fit(zeros, TARGETS))


@pytest.mark.parametrize("shape", ["column of an array", "column of a frame"])
def test_targets_may_be_a_column(threaded_client: Client, shape: str) -> None:
    table = pd.DataFrame({"target": TARGETS})
    y = Y.reshape(-1, 1) if shape == "column of an array" else dd.from_pandas(table, npartitions=3)
    rows = X if shape == "column of an array" else frame_of(NUMBERS)
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(rows, y)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW).fit(NUMBERS, TARGETS))


def test_training_goes_on_from_the_scores_of_another_model(threaded_client: Client) -> None:
    first = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(X, CLASSES)
    scores = first.predict_raw(X)
    assert isinstance(scores, da.Array)
    model = DaskSapwoodClassifier(**FEW, client=threaded_client)
    model.fit(X, CLASSES, init_score=scores, eval_set=[(X, CLASSES, scores)])
    raw = first.to_local().predict_raw(NUMBERS)
    alone = SapwoodClassifier(**FEW)
    alone.fit(NUMBERS, LABELS, init_score=raw, eval_set=[(NUMBERS, LABELS, raw)])
    assert fingerprint(model) == fingerprint(alone)
    assert model.evals_result_ == alone.evals_result_


def half_squared_error(y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return scores - y, np.ones_like(y)


def mean_error(y: np.ndarray, prediction: np.ndarray) -> float:
    return math.fsum(np.abs(y - prediction)) / len(y)  # the order of rows depends on the workers


def test_objectives_and_metrics_may_be_functions(threaded_client: Client) -> None:
    params = FEW | {"objective": half_squared_error, "eval_metric": mean_error}
    model = DaskSapwoodRegressor(**params, client=threaded_client).fit(X, Y, eval_set=[(X, Y)])
    alone = SapwoodRegressor(**params).fit(NUMBERS, TARGETS, eval_set=[(NUMBERS, TARGETS)])
    assert fingerprint(model) == fingerprint(alone)
    assert model.evals_result_ == alone.evals_result_


def test_sets_have_names_and_weights_and_stop_training_early(threaded_client: Client) -> None:
    params = FEW | {
        "n_estimators": 40,
        "early_stopping_rounds": 3,
        "learning_rate": 0.7,
        "eval_metric": ["mae", "rmse"],
    }
    weight = np.linspace(0.1, 2.0, 600)
    model = DaskSapwoodRegressor(**params, client=threaded_client).fit(
        X, Y, eval_set={"train": (X, Y), "half": (X[:300], Y[:300])},
        eval_sample_weight={"train": dask_array(weight, SIZES)},
    )  # fmt: skip
    alone = SapwoodRegressor(**params).fit(
        NUMBERS, TARGETS, eval_set={"train": (NUMBERS, TARGETS), "half": (NUMBERS[:300], TARGETS[:300])},
        eval_sample_weight={"train": weight},
    )  # fmt: skip
    assert model.evals_result_ == alone.evals_result_
    assert (model.best_iteration_, model.stopped_) == (alone.best_iteration_, alone.stopped_)
    assert np.array_equal(model.feature_importances_, alone.feature_importances_)


def save_round(progress: Any) -> None:
    Path(save_round.folder, f"round-{progress.round}").touch()  # type: ignore[attr-defined]


def test_callbacks_are_called_after_every_round(threaded_client: Client, tmp_path: Path) -> None:
    save_round.folder = str(tmp_path)  # type: ignore[attr-defined]
    DaskSapwoodRegressor(**FEW, client=threaded_client, callbacks=save_round).fit(X, Y)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"round-{k}" for k in (1, 2, 3, 4)]


def test_workers_have_each_partition_once(threaded_client: Client) -> None:
    addresses = sorted(threaded_client.nthreads())
    parts = [put(threaded_client, values, [60] * 10, addresses) for values in (NUMBERS, TARGETS)]
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(*parts)
    workers = model.fit_report_["workers"]
    assert sum(worker["partitions"] for worker in workers) == 10
    assert sum(worker["rows"] for worker in workers) == 600


def test_a_single_class_gives_a_model_without_trees(threaded_client: Client) -> None:
    with pytest.warns(SapwoodWarning, match="y has one class"):
        model = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(X, da.zeros_like(Y, dtype=int))
    assert model.predict(X).compute().tolist() == [0] * 600


# --- predictions --------------------------------------------------------------------------------------------------

METHODS = ["predict", "predict_proba", "predict_raw", "decision_function", "apply", "shap_values"]


@pytest.fixture(scope="module")
def fitted(threaded_client: Client) -> DaskSapwoodClassifier:
    labels = dd.from_pandas(pd.Series(LABELS), npartitions=3)
    return DaskSapwoodClassifier(**FEW, client=threaded_client).fit(frame_of(NUMBERS), labels)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_predicts_collections_lazily(fitted: DaskSapwoodClassifier, method: str) -> None:
    expected = getattr(fitted.to_local(), method)(as_frame(NUMBERS))
    frame = frame_of(NUMBERS)
    of_frame = getattr(fitted, method)(frame)
    if expected.ndim > 2:
        assert isinstance(of_frame, da.Array)
        assert of_frame.shape[1:] == expected.shape[1:]
    else:
        assert isinstance(of_frame, dd.Series if expected.ndim == 1 else dd.DataFrame)
        assert of_frame.divisions == frame.divisions
    assert np.array_equal(np.asarray(of_frame.compute(scheduler="synchronous")), expected)
    parts = getattr(fitted, method)(frame.to_delayed())
    assert np.array_equal(np.concatenate([part.compute(scheduler="synchronous") for part in parts]), expected)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_predicts_arrays_in_their_chunks(threaded_client: Client, method: str) -> None:
    model = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(X, CLASSES)
    expected = getattr(model.to_local(), method)(NUMBERS)
    predicted = getattr(model, method)(X)
    assert (predicted.shape, predicted.chunks[0]) == (expected.shape, tuple(SIZES))
    assert predicted.dtype == expected.dtype
    assert np.array_equal(predicted.compute(), expected)


def test_shapley_values_add_up_to_scores(threaded_client: Client) -> None:
    frame = frame_of(NUMBERS)
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(
        frame, dd.from_pandas(pd.Series(TARGETS), npartitions=3)
    )
    values = model.shap_values(frame)
    assert values.columns.tolist() == NAMES
    explanations = [one.compute(scheduler="synchronous") for one in model.explain(frame)]
    assert np.array_equal(np.concatenate([one.values for one in explanations]), values.compute().to_numpy())
    base = np.concatenate([one.base_values for one in explanations])
    assert np.allclose(base + values.compute().sum(axis=1), model.predict_raw(frame).compute())
    assert model.shap_interaction_values(frame).shape[1:] == (5, 5)


def test_fewer_rounds_may_be_used(fitted: DaskSapwoodClassifier) -> None:
    frame, local = frame_of(NUMBERS), fitted.to_local()
    for n in range(5):
        predicted = fitted.predict_proba(frame, n).compute(scheduler="synchronous")
        assert np.array_equal(predicted.to_numpy(), local.predict_proba(as_frame(NUMBERS), iterations=n))
    assert np.array_equal(
        fitted.predict_raw(frame, iterations=2).compute(scheduler="synchronous").to_numpy(),
        local.predict_raw(as_frame(NUMBERS), 2),
    )


def test_too_many_arguments_are_an_error(fitted: DaskSapwoodClassifier) -> None:
    with pytest.raises(TypeError, match="too many positional arguments"):
        fitted.predict(X, 2, 3)


def test_predictions_become_a_column_of_the_frame(fitted: DaskSapwoodClassifier) -> None:
    frame = frame_of(NUMBERS)
    frame["label"] = fitted.predict(frame)
    assert (
        frame.compute(scheduler="synchronous")["label"].tolist()
        == fitted.to_local().predict(as_frame(NUMBERS)).tolist()
    )


def test_unknown_categories_and_missing_values_are_predicted(threaded_client: Client) -> None:
    table = pd.DataFrame({"kind": pd.Categorical(["a", "b", "c"] * 200), "x": np.arange(600.0)})
    frame = dd.from_pandas(table, npartitions=4)
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(frame, frame["x"])
    later = pd.DataFrame({"kind": pd.Categorical(["c", "z", None, "b"]), "x": [1.0, 2.0, 3.0, np.nan]})
    found = model.predict(dd.from_pandas(later, npartitions=2)).compute()
    assert np.array_equal(found.to_numpy(), model.to_local().predict(later))


def test_a_frame_without_a_column_is_refused_before_anything_is_computed(fitted: DaskSapwoodClassifier) -> None:
    with pytest.raises(InputError, match="e"):
        fitted.predict(frame_of(NUMBERS)[NAMES[:-1]])
    with pytest.raises(NotFittedError):
        DaskSapwoodClassifier().predict(X)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("raw_score", r"did you mean predict_raw\(X\)"),
        ("output_margin", r"did you mean predict_raw\(X\)"),
        ("pred_leaf", r"did you mean apply\(X\)"),
        ("pred_contrib", r"did you mean shap_values\(X\)"),
        ("pred_contribs", r"did you mean shap_values\(X\)"),
        ("iteration_range", "did you mean iterations="),
        ("num_iteration", "did you mean iterations="),
    ],
)
@pytest.mark.parametrize("rows", ["array", "delayed", "memory"])
def test_arguments_of_other_libraries_are_explained(
    fitted: DaskSapwoodClassifier, rows: str, argument: str, words: str
) -> None:  # fmt: skip
    given: Any = {"array": X, "delayed": list(X.to_delayed().ravel()), "memory": NUMBERS}[rows]
    with pytest.raises(InputTypeError, match=words):
        fitted.predict(given, **{argument: True})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("booster_", "model_"),
        ("get_booster", "model_"),
        ("evals_result", "evals_result_"),
        ("inplace_predict", "predict"),
    ],
)
def test_attributes_of_other_libraries_are_explained(fitted: DaskSapwoodClassifier, name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=f"use {words}"):
        getattr(fitted, name)


# --- estimators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_client", [False, True])
def test_estimators_and_their_local_versions_are_pickled(threaded_client: Client, has_client: bool) -> None:
    model = DaskSapwoodRegressor(**FEW, client=threaded_client if has_client else None)
    for one in (model, model.to_local()):
        assert pickle.loads(pickle.dumps(one)).get_params()["max_leaves"] == 8
    with threaded_client.as_current():
        model.fit(X, Y)
    for one in (model, model.to_local()):
        again = pickle.loads(pickle.dumps(one))
        assert np.array_equal(again.predict(NUMBERS), model.predict(NUMBERS))
        assert fingerprint(again) == fingerprint(model)


@pytest.mark.parametrize(
    ("dask_class", "local_class"),
    [(DaskSapwoodClassifier, SapwoodClassifier), (DaskSapwoodRegressor, SapwoodRegressor)],
)
def test_methods_have_the_signatures_of_the_plain_estimators(dask_class: type, local_class: type) -> None:
    for name in ("fit", "predict", "score", "predict_raw", "apply", "explain", "shap_values"):
        given, expected = (list(inspect.signature(getattr(one, name)).parameters) for one in (dask_class, local_class))
        assert given == expected, name


@pytest.mark.parametrize("name", ["train", "DaskDMatrix", "DaskLGBMClassifier"])
def test_other_names_of_the_package_point_to_the_estimators(name: str) -> None:
    with pytest.raises(AttributeError, match="but DaskSapwoodClassifier and DaskSapwoodRegressor"):
        getattr(sapwood.dask, name)
