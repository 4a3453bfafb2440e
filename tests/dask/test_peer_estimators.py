"""Estimators and data that the Dask tests of XGBoost and LightGBM use, and the spellings of their users."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import cloudpickle
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from distributed import Client
from sklearn.metrics import hamming_loss, log_loss
from sklearn.utils import estimator_checks

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.dask import DaskSapwoodClassifier, DaskSapwoodRegressor
from sapwood.errors import InputTypeError
from sapwood.objectives import Quantile
from tests.dask.collections import NAMES, as_frame, dask_array, make_table, put
from tests.dask.test_fit import FEW, fingerprint

SIZES = [150, 250, 200]
NUMBERS, TARGETS = make_table()
LABELS = make_table(task="classes")[1]
X, Y, CLASSES = (dask_array(values, SIZES) for values in (NUMBERS, TARGETS, LABELS))
PAIRS = [(DaskSapwoodClassifier, SapwoodClassifier), (DaskSapwoodRegressor, SapwoodRegressor)]


# --- data and losses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_quantiles_are_those_of_all_rows(threaded_client: Client, level: float) -> None:
    params = FEW | {"objective": Quantile(level)}
    model = DaskSapwoodRegressor(**params, client=threaded_client).fit(X, Y)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**params).fit(NUMBERS, TARGETS))


def test_the_first_score_of_the_absolute_error_is_the_median_of_all_rows(client: Client, addresses: list[str]) -> None:
    rows, target = np.zeros((4, 1)), np.array([0.0, 0.0, 0.0, 1000.0])
    parts = [put(client, values, [3, 1], addresses[:2]) for values in (rows, target)]
    params = FEW | {"objective": "absolute", "n_estimators": 1}
    with pytest.warns(UserWarning, match="no tree could be split"):
        alone = SapwoodRegressor(**params).fit(rows, target)
    model = DaskSapwoodRegressor(**params, client=client).fit(*parts)
    assert len(model.fit_report_["workers"]) == 2
    assert model.to_local().predict([[0.0]]).tolist() == alone.predict([[0.0]]).tolist() == [0.0]


def test_features_are_drawn_by_weight(threaded_client: Client) -> None:
    params = FEW | {"feature_weights": [0.0, 1.0, 2.0, 3.0, 4.0], "colsample_bynode": 0.4}
    model = DaskSapwoodRegressor(**params, client=threaded_client).fit(X, Y)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**params).fit(NUMBERS, TARGETS))
    assert model.feature_importances_[0] == 0.0


def logistic_pairs(y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    probability = 1.0 / (1.0 + np.exp(-scores))
    return probability - y, probability * (1.0 - probability)


def test_a_classifier_may_have_a_function_as_its_objective(threaded_client: Client) -> None:
    params = FEW | {"objective": logistic_pairs}
    model = DaskSapwoodClassifier(**params, client=threaded_client).fit(X, CLASSES == "a")
    alone = SapwoodClassifier(**params).fit(NUMBERS, LABELS == "a")
    assert fingerprint(model) == fingerprint(alone)
    assert np.array_equal(model.predict(X).compute(), alone.predict(NUMBERS))


def test_several_metrics_may_be_functions_of_scikit_learn(threaded_client: Client) -> None:
    params = FEW | {"eval_metric": ["accuracy", hamming_loss, log_loss]}
    model = DaskSapwoodClassifier(**params, client=threaded_client).fit(X, CLASSES, eval_set=[(X, CLASSES)])
    alone = SapwoodClassifier(**params).fit(NUMBERS, LABELS, eval_set=[(NUMBERS, LABELS)])
    (found,), (expected,) = model.evals_result_.values(), alone.evals_result_.values()
    assert found.keys() == expected.keys()
    assert all(np.allclose(found[name], expected[name], rtol=1e-12) for name in found)


@pytest.mark.parametrize("format", ["csr_matrix", "csc_matrix"])
def test_contributions_of_sparse_chunks_are_those_of_one_machine(threaded_client: Client, format: str) -> None:
    dense = np.where(np.nan_to_num(NUMBERS) > 0.5, NUMBERS, 0.0)
    make = getattr(scipy.sparse, format)
    chunks = dask_array(dense, SIZES).map_blocks(make)
    model = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(chunks, CLASSES)
    alone = SapwoodClassifier(**FEW).fit(make(dense), LABELS)
    assert fingerprint(model) == fingerprint(alone)
    assert np.array_equal(model.shap_values(chunks).compute(), alone.shap_values(make(dense)))


def test_initial_scores_of_several_classes_may_be_a_frame(threaded_client: Client) -> None:
    scores = np.stack([np.arange(600) / 300.0, np.zeros(600), np.ones(600)], axis=1)
    parts = {name: dd.from_pandas(pd.DataFrame(values), npartitions=3) for name, values in
             {"X": NUMBERS, "y": LABELS, "init_score": scores}.items()}  # fmt: skip
    parts["X"].columns = NAMES
    model = DaskSapwoodClassifier(**FEW, client=threaded_client)
    model.fit(parts["X"], parts["y"][0], init_score=parts["init_score"])
    alone = SapwoodClassifier(**FEW).fit(as_frame(NUMBERS), LABELS, init_score=scores)
    assert fingerprint(model) == fingerprint(alone)


def test_categories_may_have_another_order_in_prediction(threaded_client: Client) -> None:
    table = pd.DataFrame({"kind": pd.Categorical(["a", "b", "c"] * 200), "x": np.arange(600.0) % 7})
    frame = dd.from_pandas(table, npartitions=4)
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(frame, (frame["kind"] == "b") * 3.0 + frame["x"])
    other = table.assign(kind=table["kind"].cat.reorder_categories(["c", "a", "b"]))
    expected = model.predict(frame).compute().to_numpy()
    assert np.ptp(expected) > 2.0
    assert np.array_equal(model.predict(dd.from_pandas(other, npartitions=3)).compute().to_numpy(), expected)


def test_validation_rows_may_lie_on_workers_without_training_rows(client: Client, addresses: list[str]) -> None:
    train = [put(client, values, [300, 300], addresses[:1]) for values in (NUMBERS, TARGETS)]
    other = [put(client, values, [400, 200], addresses[1:3]) for values in (NUMBERS, TARGETS)]
    model = DaskSapwoodRegressor(**FEW, client=client).fit(*train, eval_set=[tuple(other)])
    alone = SapwoodRegressor(**FEW).fit(NUMBERS, TARGETS, eval_set=[(NUMBERS, TARGETS)])
    assert model.evals_result_ == alone.evals_result_
    assert [worker["address"] for worker in model.fit_report_["workers"]] == addresses[:1]


def fail(frame: pd.DataFrame) -> pd.DataFrame:
    raise RuntimeError("the file is damaged")


def test_the_error_of_a_partition_is_that_of_the_fit(threaded_client: Client) -> None:
    frame = dd.from_pandas(as_frame(NUMBERS), npartitions=3)
    with pytest.raises(RuntimeError, match="the file is damaged"):
        DaskSapwoodRegressor(**FEW, client=threaded_client).fit(
            frame.map_partitions(fail, meta=frame._meta), frame["a"]
        )


@pytest.mark.parametrize("sizes", [[300, 300], [0, 10, 0]])
def test_sets_with_names_may_be_small_and_do_not_stop_training(threaded_client: Client, sizes: list[int]) -> None:
    n = sum(sizes)
    sets = {"other": tuple(dask_array(values[:n], sizes) for values in (NUMBERS, LABELS == "b"))}
    params = FEW | {"eval_metric": ["log_loss", "accuracy", "auc"]}
    model = DaskSapwoodClassifier(**params, client=threaded_client).fit(X, CLASSES == "b", eval_set=sets)
    assert model.n_iter_ == FEW["n_estimators"]
    alone = SapwoodClassifier(**params).fit(
        NUMBERS, LABELS == "b", eval_set={"other": (NUMBERS[:n], LABELS[:n] == "b")}
    )
    assert list(model.evals_result_) == ["other"]
    assert str(model.evals_result_) == str(alone.evals_result_)  # an AUC of one class is NaN


# --- estimators ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dask_class", "local_class"), PAIRS)
def test_constructors_are_those_of_the_plain_estimators_and_two_parameters(dask_class: type, local_class: type) -> None:
    given, expected = (inspect.signature(one.__init__).parameters for one in (dask_class, local_class))
    assert list(given) == [*expected, "client", "retries"]
    assert all(given[name] == expected[name] for name in expected)


@pytest.mark.parametrize("dask_class", [one for one, _ in PAIRS])
@pytest.mark.parametrize(
    "check", ["check_get_params_invariance", "check_set_params", "check_parameters_default_constructible"]
)
def test_estimators_pass_the_checks_of_scikit_learn(dask_class: type, check: str) -> None:
    getattr(estimator_checks, check)(dask_class.__name__, dask_class())


@pytest.mark.parametrize("dumps", ["pickle", "cloudpickle", "joblib"])
def test_other_serializers_give_the_same_model_without_a_client(
    threaded_client: Client, dumps: str, tmp_path: Any
) -> None:
    model = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(X, Y)
    if dumps == "joblib":
        joblib.dump(model, tmp_path / "model")
        again = joblib.load(tmp_path / "model")
    else:
        library = {"pickle": pickle, "cloudpickle": cloudpickle}[dumps]
        again = library.loads(library.dumps(model))
    assert again.client is None
    assert model.client is threaded_client
    assert fingerprint(again) == fingerprint(model)
    assert np.array_equal(again.predict(X).compute(), model.predict(X).compute())


def test_a_local_estimator_has_no_client(threaded_client: Client) -> None:
    local = DaskSapwoodRegressor(**FEW, client=threaded_client).fit(X, Y).to_local()
    assert "client" not in local.get_params()
    for name in ("client", "client_", "fit_report_"):
        with pytest.raises(AttributeError):
            getattr(local, name)


def test_wrappers_predict_partition_by_partition(threaded_client: Client) -> None:
    model = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(X, CLASSES)
    expected = model.to_local().predict_proba(NUMBERS)
    for method in (model.predict_proba, model.to_local().predict_proba):
        found = X.map_blocks(method, dtype=np.float64, chunks=(X.chunks[0], (3,)))
        assert np.array_equal(found.compute(), expected)
    frame = dd.from_pandas(as_frame(NUMBERS), npartitions=3)
    named = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(
        frame, dd.from_pandas(pd.Series(LABELS), npartitions=3)
    )
    found = frame.map_partitions(named.predict, meta=np.array([], dtype=object)).compute()
    assert np.array_equal(found, named.to_local().predict(as_frame(NUMBERS)))


# --- spellings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("group", "groups keeps rows together"),
        ("qid", "groups keeps rows together"),
        ("eval_group", "there is no ranking objective"),
        ("eval_class_weight", "pass eval_sample_weight"),
        ("sample_weight_eval_set", "did you mean eval_sample_weight"),
        ("eval_init_score", r"did you mean eval_set=\[\(X, y, init_score\)\]"),
        ("base_margin", "did you mean init_score"),
        ("base_margin_eval_set", r"did you mean eval_set=\[\(X, y, init_score\)\]"),
        ("eval_names", "did you mean eval_set={name"),
        ("eval_metric", r"did you mean DaskSapwoodRegressor\(eval_metric="),
        ("xgb_model", "did you mean init_model"),
        ("feature_weights", r"did you mean DaskSapwoodRegressor\(feature_weights="),
        ("callbacks", r"did you mean DaskSapwoodRegressor\(callbacks="),
        ("verbose", r"did you mean DaskSapwoodRegressor\(verbose="),
        ("early_stopping_rounds", r"did you mean DaskSapwoodRegressor\(early_stopping_rounds="),
        ("feature_name", "names are those of the columns"),
        ("categorical_feature", r"did you mean DaskSapwoodRegressor\(categorical_features="),
    ],
)
def test_arguments_of_fit_of_other_libraries_are_explained(argument: str, words: str) -> None:
    with pytest.raises(InputTypeError, match=words):
        DaskSapwoodRegressor().fit(X, Y, **{argument: 1})


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("machines", "opens no connections"),
        ("local_listen_port", "leave it out"),
        ("tree_learner", "sapwood.dask"),
        ("coll_cfg", "connections of Dask"),
        ("num_leaves", "did you mean max_leaves"),
        ("tree_method", "did you mean split_search"),
    ],
)
def test_parameters_of_other_libraries_are_explained(parameter: str, words: str) -> None:
    with pytest.raises(InputTypeError, match=words):
        DaskSapwoodClassifier(**{parameter: 1})


@pytest.mark.parametrize(
    ("name", "words"),
    [("n_classes_", r"len\(classes_\)"), ("n_features_", "n_features_in_"), ("get_num_boosting_rounds", "n_iter_")],
)
def test_fitted_attributes_of_other_libraries_are_explained(threaded_client: Client, name: str, words: str) -> None:
    model = DaskSapwoodClassifier(**FEW, client=threaded_client).fit(X, CLASSES)
    with pytest.raises(AttributeError, match=f"use {words}"):
        getattr(model, name)
    assert isinstance(model.predict(X), da.Array)
