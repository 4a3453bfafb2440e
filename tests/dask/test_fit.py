"""A fit on a cluster gives the model of one machine, however rows are divided and wherever they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from distributed import Client
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.dask import DaskSapwoodClassifier, DaskSapwoodRegressor
from sapwood.errors import ParameterError
from tests.dask.collections import PARTITIONINGS, as_frame, dask_array, dask_frame, make_table, put

FEW = {"n_estimators": 4, "max_leaves": 8, "min_child_samples": 5, "random_state": 3, "effort": "fast"}


def fingerprint(model: Any) -> str:
    return model.model_.fingerprint()


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
@pytest.mark.parametrize("n_workers", [1, 2, 3, 4])
def test_any_workers_and_partitions_give_the_model_of_one_machine(
    client: Client, addresses: list[str], n_workers: int, partitioning: str
) -> None:  # fmt: skip
    X, y = make_table(task="classes")
    alone = SapwoodClassifier(**FEW).fit(X, y)
    sizes = PARTITIONINGS[partitioning]
    parts = [put(client, values, sizes, addresses[:n_workers]) for values in (X, y)]
    model = DaskSapwoodClassifier(**FEW, client=client).fit(*parts)
    assert fingerprint(model) == fingerprint(alone)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert sum(worker["rows"] for worker in model.fit_report_["workers"]) == 600


def test_rows_stay_on_the_workers_that_have_them(client: Client, addresses: list[str]) -> None:
    X, y = make_table()
    parts = [put(client, values, [100] * 6, addresses[1:3]) for values in (X, y)]
    model = DaskSapwoodRegressor(**FEW, client=client).fit(*parts)
    assert [worker["address"] for worker in model.fit_report_["workers"]] == addresses[1:3]
    assert [worker["rows"] for worker in model.fit_report_["workers"]] == [300, 300]


@pytest.mark.parametrize("kind", ["frame", "array", "unknown chunks", "delayed", "futures", "mixed"])
def test_every_kind_of_collection_is_read(client: Client, addresses: list[str], kind: str) -> None:
    X, y = make_table()
    sizes = [200, 150, 250]
    frames, column = dask_frame(X, y, sizes)
    arrays = dask_array(X, sizes), dask_array(y, [300, 300])
    pairs = {
        "frame": (frames, column),
        "array": (arrays[0].rechunk((200, 2)), arrays[1]),
        "unknown chunks": (frames.to_dask_array(), column.to_dask_array()),
        "delayed": (frames.to_delayed(), column.to_delayed()),
        "futures": tuple(put(client, values, sizes, addresses) for values in (X, y)),
        "mixed": (arrays[0], column),
    }
    named = kind in ("frame", "delayed")
    alone = SapwoodRegressor(**FEW).fit(as_frame(X) if named else X, y)
    model = DaskSapwoodRegressor(**FEW, client=client).fit(*pairs[kind])
    assert fingerprint(model) == fingerprint(alone)
    assert hasattr(model, "feature_names_in_") == named


def test_weights_initial_scores_and_validation_sets_are_divided_like_x(client: Client) -> None:
    X, y = make_table()
    rng = np.random.default_rng(1)
    weight, offset = rng.uniform(0.5, 2.0, 600), rng.normal(size=600)
    weight[:200] = 0.0  # all of the first partition
    X2, y2 = make_table(50, seed=8)
    params = FEW | {"n_estimators": 30, "early_stopping_rounds": 3, "learning_rate": 0.5}
    alone = SapwoodRegressor(**params).fit(
        X, y, sample_weight=weight, init_score=offset, eval_set=[(X2, y2, y2 * 0.1)], eval_sample_weight=[y2**2]
    )
    sizes, few = [200, 150, 250], [20, 0, 30]
    model = DaskSapwoodRegressor(**params, client=client).fit(
        dask_array(X, sizes),
        dask_array(y, sizes),
        sample_weight=dask_array(weight, sizes),
        init_score=dask_array(offset, sizes),
        eval_set=[(dask_array(X2, few), dask_array(y2, few), dask_array(y2 * 0.1, few))],
        eval_sample_weight=[dask_array(y2**2, few)],
    )
    assert fingerprint(model) == fingerprint(alone)
    assert model.evals_result_ == alone.evals_result_
    assert model.best_iteration_ == alone.best_iteration_


def test_groups_are_divided_like_x_and_kept_together(client: Client) -> None:
    X, y = make_table()
    groups = np.arange(600) % 40
    sizes = [200, 0, 150, 250]
    params = FEW | {"n_estimators": 12, "early_stopping_rounds": 2, "learning_rate": 0.6}
    alone = SapwoodRegressor(**params).fit(X, y, groups=groups)
    parts = [dask_array(values, sizes) for values in (X, y, groups)]
    model = DaskSapwoodRegressor(**params, client=client).fit(*parts[:2], groups=parts[2])
    assert fingerprint(model) == fingerprint(alone)
    assert fingerprint(model) != fingerprint(SapwoodRegressor(**params).fit(X, y))


def test_workers_start_from_the_predictions_of_a_frozen_estimator(client: Client) -> None:
    X, y = make_table(task="classes")
    start = FrozenEstimator(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y))
    params = FEW | {"init": start}
    alone = SapwoodClassifier(**params).fit(X, y, eval_set=[(X[:9], y[:9])])
    parts = [dask_array(values, [200, 0, 150, 250]) for values in (X, y)]
    few = [dask_array(values, [9]) for values in (X[:9], y[:9])]
    model = DaskSapwoodClassifier(**params, client=client).fit(*parts, eval_set=[tuple(few)])
    assert fingerprint(model) == fingerprint(alone)
    assert model.evals_result_ == alone.evals_result_
    assert np.array_equal(model.predict_proba(parts[0]).compute(), alone.predict_proba(X))


def test_an_estimator_that_has_to_be_fitted_is_refused_as_init(client: Client) -> None:
    parts = [dask_array(values, [300, 300]) for values in make_table()]
    with pytest.raises(ParameterError, match=r"init=DecisionTreeRegressor\(\).*FrozenEstimator\(fitted\)"):
        DaskSapwoodRegressor(**FEW, init=DecisionTreeRegressor(), client=client).fit(*parts)


@pytest.mark.parametrize("params", [{}, {"refit": True}, {"sampling": "goss"}, {"subsample": 0.5}, {"sampling": "mvs"}])
def test_a_worker_may_have_a_single_row(client: Client, addresses: list[str], params: dict[str, Any]) -> None:
    X, y = make_table()
    params = FEW | {"n_estimators": 12, "early_stopping_rounds": 2, "learning_rate": 0.6} | params
    alone = SapwoodRegressor(**params).fit(X, y)
    parts = [put(client, values, [1, 1, 597, 1], addresses) for values in (X, y)]
    model = DaskSapwoodRegressor(**params, client=client).fit(*parts)
    assert len(model.fit_report_["workers"]) == 4
    assert fingerprint(model) == fingerprint(alone)
