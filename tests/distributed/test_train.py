"""Workers that train together get the model that one worker trains alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sapwood import (
    Bundle,
    Dart,
    Dataset,
    EffectiveNumber,
    Goss,
    LastRows,
    Mvs,
    SapwoodRegressor,
    Symmetric,
    Uniform,
    distributed,
)
from sapwood.data.binning import bin_edges
from sapwood.distributed import Reducer
from sapwood.errors import InputError, InputTypeError, ParameterError, TrainingError
from sapwood.grow import histogram_exchange
from sapwood.objectives import Huber, Quantile, Softmax
from tests.distributed.worker_cases import (
    fit_alone,
    fit_features,
    fit_rows,
    fit_sampled_edges,
    fit_uneven,
    fit_unlike,
    make_data,
)
from tests.distributed.worker_processes import Processes
from tests.distributed.worker_threads import run_workers

LEVELS = {"max_leaves": 8, "growth": "levelwise", "max_depth": 3}
SYMMETRIC = {"growth": "symmetric", "max_depth": 4, "min_child_samples": 1, "max_leaves": None}
CONSTRAINED = {"monotone_constraints": [1, 0, -1, 0, 0], "interaction_constraints": [[0, 1, 2], [2, 3, 4]]}
DRAWN = {"colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.7, "max_leaves": 16}
STOPPING = {"n_estimators": 30, "early_stopping_rounds": 2, "learning_rate": 0.6}
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "levelwise": ("regression", {}, LEVELS),
    "symmetric": ("regression", {}, SYMMETRIC),
    "symmetric by cosine": ("classes", {"weighted": True}, SYMMETRIC | {"growth": Symmetric("cosine")}),
    "symmetric, constraints": ("regression", {}, SYMMETRIC | CONSTRAINED),
    "symmetric, drawn columns": ("regression", {}, SYMMETRIC | {"colsample_bylevel": 0.5, "precision": "packed"}),
    "symmetric, drawn rows": ("regression", {}, SYMMETRIC | {"sampling": Goss(0.2, 0.2, full_rounds=0)}),
    "symmetric, noise": ("regression", {}, SYMMETRIC | {"random_strength": 3.0, "max_depth": 6}),
    "symmetric, vector leaves": ("classes", {}, SYMMETRIC | {"objective": Softmax(vector_leaves=True)}),
    "packed": ("regression", {}, {"precision": "packed"}),
    "weights": ("regression", {"weighted": True}, {}),
    "constraints": ("regression", {}, CONSTRAINED),
    "drawn columns": ("regression", {}, DRAWN),
    "classes": ("classes", {"weighted": True}, {"min_child_samples": 40}),
    "vector leaves": ("classes", {}, {"objective": Softmax(vector_leaves=True), "min_child_samples": 40}),
    "many bins": ("regression", {}, {"max_bins": 300}),
    "zeros": ("regression", {}, {"zero_as_missing": True}),
    "uniform": ("regression", {}, {"sampling": "uniform", "subsample": 0.5}),
    "hardly any": ("regression", {}, {"sampling": "uniform", "subsample": 1e-6}),
    "replacement": ("regression", {}, {"sampling": Uniform(replacement=True)}),
    "goss": ("regression", {"weighted": True}, {"sampling": Goss(0.2, 0.2, full_rounds=1)}),
    "goss of classes": ("classes", {}, {"sampling": Goss(0.2, 0.2, full_rounds=0)}),
    "mvs": ("regression", {"weighted": True}, {"sampling": "mvs", "subsample": 0.4}),
    "bayesian": ("regression", {}, {"sampling": "bayesian"}),
    "dart": ("regression", {}, {"boosting": Dart(0.5, skip=0.0)}),
    "forest": ("regression", {}, {"boosting": "forest"}),
    "poisson": ("regression", {}, {"objective": "logcosh"}),
    "a constant": ("regression", {}, {"init": 0.5}),
    "classes drawn alike": ("classes", {}, {"sampling": Uniform(by="classes"), "subsample": 0.3}),
    "absolute": ("regression", {"weighted": True}, {"objective": "absolute"}),
    "quantile": ("regression", {}, {"objective": Quantile([0.1, 0.9]), "sampling": Goss(0.2, 0.2, full_rounds=0)}),
    "mape": (
        "regression",
        {},
        {"objective": "mape", "growth": "symmetric", "min_child_samples": 1, "max_leaves": None},
    ),
    "noise": ("regression", {"weighted": True}, {"random_strength": 2.0, "max_leaves": 16}),
    "noise in few rows": ("regression", {}, {"random_strength": 2.0, "subsample": 0.5, "min_child_samples": 40}),
    "balanced classes": ("classes", {"weighted": True}, {"class_weight": "balanced"}),
    "effective classes": ("classes", {}, {"class_weight": EffectiveNumber(0.9)}),
    "rows split off": ("regression", {"weighted": True}, STOPPING),
    "classes split off": ("classes", {}, STOPPING | {"validation_fraction": 0.3}),
    "last rows split off": ("regression", {}, STOPPING | {"validation_fraction": LastRows(0.2)}),
    "trained again": ("regression", {}, STOPPING | {"refit": True, "time_limit": 1e6}),
}

UNLIKE: dict[str, list[Any]] = {
    "sampling": [Goss(0.2, 0.1), Goss(0.3, 0.1)],
    "boosting": [Dart(0.1), Dart(0.2)],
    "objective": [Huber(1.0), Huber(2.0)],
    "monotone_constraints": [[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    "interaction_constraints": [[[0, 1], [2, 3, 4]], [[0, 1, 2], [3, 4]]],
}


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    made = Processes(3)
    yield made
    made.end()


class Lonely(Reducer):
    """The only worker."""

    def exchange(self, parts: Any) -> Any:
        return parts


def fingerprints(answers: list[Any]) -> set[str]:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return {answer[0] for answer in answers}


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("fit", [fit_rows, fit_features])
def test_any_number_of_workers_trains_the_model_of_one(processes: Processes, size: int, fit: Any) -> None:
    data = make_data()
    alone = fit_alone("regression", data, {}).model_.fingerprint()
    assert fingerprints(processes.run(size, fit, "regression", data, {})) == {alone}


@pytest.mark.parametrize("name", CASES)
def test_what_training_can_do_it_can_do_on_workers(processes: Processes, name: str) -> None:
    task, kind, params = CASES[name]
    data = make_data(task=task, **kind)
    alone = fit_alone(task, data, params).model_.fingerprint()
    assert fingerprints(processes.run(3, fit_rows, task, data, params)) == {alone}
    assert fingerprints(processes.run(2, fit_features, task, data, params)) == {alone}


@pytest.mark.parametrize("name", CASES)
def test_workers_that_search_a_slice_of_the_features_train_the_model_of_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small histograms would be sent whole, so that each worker searches all features."""
    monkeypatch.setattr(histogram_exchange, "MAX_MORE_BYTES", 0)
    task, kind, params = CASES[name]
    data = make_data(task=task, **kind)
    alone = fit_alone(task, data, params).model_.fingerprint()
    assert fingerprints(run_workers(4, lambda one: fit_rows(one, task, data, params))) == {alone}


def test_columns_that_exclude_each_other_train_the_model_of_one(processes: Processes) -> None:
    data = make_data()
    codes = np.digitize(data["y"], np.quantile(data["y"], [0.2, 0.4, 0.6, 0.8]))
    data["X"] = np.hstack([data["X"], codes[:, None] == np.arange(5)])
    alone = fit_alone("regression", data, {}).model_.fingerprint()
    assert fingerprints(processes.run(2, fit_rows, "regression", data, {})) == {alone}
    assert fingerprints(processes.run(2, fit_features, "regression", data, {})) == {alone}


@pytest.mark.parametrize("fraction", [0.001, 0.02, 0.3])
def test_conflicts_in_bundles_are_counted_in_the_rows_of_all_workers(processes: Processes, fraction: float) -> None:
    """Columns that are 0 in nine of ten rows, with values that few or many rows have in two of them."""
    data, source = make_data(), np.random.default_rng(2)
    rare = np.where(source.random((700, 12)) < 0.1, source.integers(1, 5, (700, 12)), 0)
    data["X"] = np.hstack([data["X"], rare])
    data["y"] = data["y"] + rare @ source.normal(size=12)
    params = {"bundle": Bundle(fraction), "n_estimators": 5, "max_leaves": 16}
    alone = fit_alone("regression", data, params).model_.fingerprint()
    without = fit_alone("regression", data, params | {"bundle": False}).model_.fingerprint()
    assert (alone != without) == (fraction > 0.001)  # bins are changed
    for size, dealt in ((1, False), (2, True), (3, False)):
        assert fingerprints(processes.run(size, fit_rows, "regression", data, params, None, dealt)) == {alone}
    assert fingerprints(processes.run(3, fit_uneven, data, params)) == {alone}


@pytest.mark.parametrize("sampling", [Goss(0.2, 0.1, full_rounds=0), Mvs(), Uniform(replacement=True)], ids=str)
def test_workers_may_have_very_different_numbers_of_rows(processes: Processes, sampling: Any) -> None:
    data, params = make_data(), {"sampling": sampling}
    alone = fit_alone("regression", data, params).model_.fingerprint()
    assert fingerprints(processes.run(3, fit_uneven, data, params)) == {alone}


def test_cuts_that_tie_but_for_rounding_are_those_of_one_process() -> None:
    """A column with missing values and a flag of those present cut two rows alike, with sides exchanged."""
    params = {"n_estimators": 1, "max_leaves": 2, "min_child_samples": 1, "subsample": 0.1}
    for seed in range(60):
        random = np.random.default_rng(seed)
        present, weight = random.random(60) < 0.6, random.exponential(size=60)
        X = np.column_stack([np.where(present, random.normal(size=60), np.nan), present])
        y = 3.0 * present + 0.5 * random.normal(size=60)
        alone = SapwoodRegressor(**params).fit(X, y, sample_weight=weight)
        together = distributed.fit(SapwoodRegressor(**params), X, y, Lonely(0, 1), sample_weight=weight)
        assert together.model_.fingerprint() == alone.model_.fingerprint()


def test_cuts_that_tie_but_for_rounding_do_not_depend_on_which_features_were_counted() -> None:
    """Missing values on the left of a first bin without rows, or on the right of the last one, are the same cut."""
    params = {
        "n_estimators": 6,
        "max_leaves": 15,
        "min_child_samples": 5,
        "boosting": "forest",
        "objective": "absolute",
    }
    params |= {"random_state": 4, "effort": "fast"}
    for seed in (3, 5, 12, 14, 15, 16):
        random = np.random.default_rng(seed)
        X = random.normal(size=(150, 4))
        X[random.random(X.shape) < 0.15] = np.nan
        y, weight = 2.0 * np.nan_to_num(X[:, 0]) + random.normal(size=150), random.uniform(0.0, 2.0, 150)
        alone = SapwoodRegressor(**params).fit(X, y, sample_weight=weight)
        together = distributed.fit(SapwoodRegressor(**params), X, y, Lonely(0, 1), sample_weight=weight)
        assert together.model_.fingerprint() == alone.model_.fingerprint()


def test_rows_may_be_dealt_out_in_any_way(processes: Processes) -> None:
    data = make_data(weighted=True)
    params = {"precision": "packed", "sampling": "uniform", "subsample": 0.6}
    alone = fit_alone("regression", data, params).model_.fingerprint()
    assert fingerprints(processes.run(3, fit_rows, "regression", data, params, None, True)) == {alone}


def test_early_stopping_sees_the_validation_rows_of_all_workers(processes: Processes) -> None:
    data, other = make_data(), make_data(300)
    params = {"n_estimators": 40, "early_stopping_rounds": 2, "learning_rate": 0.6, "eval_metric": ["mae", "r2"]}
    alone = fit_alone("regression", data, params, other)
    answers = processes.run(2, fit_rows, "regression", data, params, other)
    assert fingerprints(answers) == {alone.model_.fingerprint()}
    assert all(history == alone.evals_result_ for _, history, _ in answers)


def test_metrics_that_rank_rows_see_them_all(processes: Processes) -> None:
    data, other = make_data(task="classes"), make_data(300, task="classes")
    for one in (data, other):
        one["y"] = one["y"] == "a"
    alone = fit_alone("classes", data, {"eval_metric": "auc"}, other)
    answers = processes.run(3, fit_rows, "classes", data, {"eval_metric": "auc"}, other)
    assert fingerprints(answers) == {alone.model_.fingerprint()}
    assert answers[1][1] == alone.evals_result_


def test_edges_come_from_the_sample_that_one_worker_would_draw(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    data = make_data(weighted=True)
    monkeypatch.setattr(bin_edges, "SAMPLE_ROWS", 100)
    alone = fit_alone("regression", data, {"max_bins": 30}).model_.fingerprint()
    assert set(processes.run(3, fit_sampled_edges, data)) == {alone}


def test_workers_may_outnumber_features(processes: Processes) -> None:
    data = make_data(n_features=2)
    alone = fit_alone("regression", data, {}).model_.fingerprint()
    for fit in (fit_rows, fit_features):
        assert fingerprints(processes.run(3, fit, "regression", data, {})) == {alone}


def test_bytes_are_counted_by_level(processes: Processes) -> None:
    data = make_data()
    by_rows = processes.run(2, fit_rows, "regression", data, LEVELS)[0][2]
    by_features = processes.run(2, fit_features, "regression", data, LEVELS)[0][2]
    levels = [f"level {depth}" for depth in range(3)]
    assert all(by_rows[level] > by_features[level] > 0 for level in levels)
    assert processes.run(1, fit_rows, "regression", data, LEVELS)[0][2].keys() == by_rows.keys()


def test_the_share_of_a_histogram_that_is_sent_shrinks_with_the_workers_own_features(processes: Processes) -> None:
    data = make_data()
    sent = processes.run(2, fit_rows, "regression", data, {"n_estimators": 1} | LEVELS)[0][2]
    n_cells = 5 * 256
    assert sent["level 0"] < 2 * 8 * n_cells  # two planes, half of each is sent, and a few splits


def test_workers_that_ask_for_different_models_are_told(processes: Processes) -> None:
    for answer in processes.run(2, fit_unlike, make_data(), [{"max_leaves": 4}, {"max_leaves": 5}]):
        assert isinstance(answer, InputError)
        assert "max_leaves is 4 at worker 0 but 5 at worker 1" in str(answer)


@pytest.mark.parametrize("name", UNLIKE)
def test_no_parameter_may_differ_between_workers(processes: Processes, name: str) -> None:
    for answer in processes.run(2, fit_unlike, make_data(), [{name: value} for value in UNLIKE[name]]):
        assert isinstance(answer, InputError)
        assert f"{name} is " in str(answer)


def test_workers_that_share_features_have_the_same_rows(processes: Processes) -> None:
    for answer in processes.run(2, fit_unlike, make_data(), [{}, {"y": 1.0}], "features"):
        assert isinstance(answer, InputError)
        assert "the digest of y" in str(answer)


def test_whole_groups_are_drawn_by_workers_that_share_features(processes: Processes) -> None:
    data, params = make_data(), {"sampling": Uniform(by="groups"), "subsample": 0.5}
    data["groups"] = np.arange(700) // 7
    alone = fit_alone("regression", data, params).model_.fingerprint()
    assert fingerprints(processes.run(2, fit_features, "regression", data, params)) == {alone}


def test_a_gradient_that_is_not_finite_stops_all_workers(processes: Processes) -> None:
    data = make_data() | {"init_score": np.zeros(700)}
    data["init_score"][650] = 1e36
    data["y"][650] = -1e37
    answers = processes.run(2, fit_rows, "regression", data, {"learning_rate": 1e300})
    assert all(isinstance(answer, TrainingError) for answer in answers)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"init": LinearRegression()}, r"fitted on all rows, in one process; fit it before.*FrozenEstimator\(fitted\)"),
        ({"split_search": "exact"}, "exact"),
    ],
)
def test_what_needs_all_rows_is_refused(params: dict[str, Any], words: str) -> None:
    data = make_data(100)
    with pytest.raises(ParameterError, match=words):
        distributed.fit(SapwoodRegressor(**params), data["X"], data["y"], Lonely(0, 1))


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_workers_start_from_the_predictions_of_a_frozen_estimator(processes: Processes, task: str) -> None:
    data, other = make_data(task=task, weighted=True), make_data(2, task=task)
    start = {"regression": DecisionTreeRegressor, "classes": DecisionTreeClassifier}[task](max_depth=3, random_state=0)
    params = {"init": FrozenEstimator(start.fit(data["X"], data["y"]))}
    alone = fit_alone(task, data, params, other)
    answers = processes.run(3, fit_rows, task, data, params, other)  # one of the workers has no validation rows
    assert fingerprints(answers) == {alone.model_.fingerprint()}
    assert all(answer[1] == alone.evals_result_ for answer in answers)


def test_a_dataset_with_lists_of_columns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0)
    bins = Dataset(scipy.sparse.csr_matrix(np.eye(20)))
    with pytest.raises(ParameterError, match="pass the table itself"):
        distributed.fit(SapwoodRegressor(), bins, np.arange(20.0), Lonely(0, 1), by="features")


@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("fit", [fit_rows, fit_features])
def test_workers_with_sparse_tables_train_the_model_of_one(
    processes: Processes, fit: Any, zero_as_missing: bool
) -> None:  # fmt: skip
    data = make_data()
    source = np.random.default_rng(1)
    counts = source.poisson(1.0, (700, 30)) * (source.random((700, 30)) < 0.1)
    data["y"] = data["y"] + counts @ source.normal(size=30)
    data["X"] = scipy.sparse.csr_matrix(np.hstack([np.where(data["X"] > 1.0, data["X"], 0.0), counts]))
    params = {"zero_as_missing": zero_as_missing}
    alone = fit_alone("regression", data, params).model_.fingerprint()
    assert fingerprints(processes.run(3, fit, "regression", data, params)) == {alone}


@pytest.mark.parametrize("sampling", ["none", "uniform", "goss", "mvs", "bayesian", Uniform(replacement=True)], ids=str)
def test_the_rows_of_a_worker_may_weigh_nothing(processes: Processes, sampling: Any) -> None:
    data = make_data() | {"sample_weight": np.repeat([1.0, 0.0], 350)}
    for params in ({"sampling": sampling}, {"sampling": sampling, "random_strength": 1.0, "objective": "absolute"}):
        alone = fit_alone("regression", data, params).model_.fingerprint()
        assert fingerprints(processes.run(2, fit_rows, "regression", data, params)) == {alone}


def test_all_workers_are_told_if_no_row_weighs_anything(processes: Processes) -> None:
    data = make_data() | {"sample_weight": np.zeros(700)}
    for answer in processes.run(2, fit_rows, "regression", data, {}):
        assert isinstance(answer, InputError)
        assert "zero for every row of all workers" in str(answer)


def test_workers_that_share_features_need_rows_that_weigh_something() -> None:
    data = make_data(20)
    with pytest.raises(InputError, match="sample_weight is zero for every row"):
        distributed.fit(
            SapwoodRegressor(), data["X"], data["y"], Lonely(0, 1), by="features", sample_weight=np.zeros(20)
        )


def test_a_worker_may_have_no_row_that_is_split_off(processes: Processes) -> None:
    data = make_data()
    alone = fit_alone("regression", data, STOPPING).model_.fingerprint()
    assert fingerprints(processes.run(3, fit_uneven, data, STOPPING)) == {alone}


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"by": "columns"}, ParameterError, "by must be"),
        ({"row_numbers": [0, 1]}, InputError, "row_numbers must be 4"),
        ({"row_numbers": [0, 1, 1, 2]}, InputError, "twice"),
        (
            {"by": "features", "row_numbers": [0, 1, 2, 3]},
            ParameterError,
            "row_numbers is not supported",
        ),
        ({"groups": [0, 1, 1, None]}, InputError, "groups must have a label in every row"),
    ],
)
def test_arguments_are_checked(more: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        distributed.fit(SapwoodRegressor(), np.eye(4), np.arange(4.0), Lonely(0, 1), **more)


def test_a_reducer_must_be_one_and_know_its_rank() -> None:
    with pytest.raises(InputTypeError, match="Communicator"):
        distributed.fit(SapwoodRegressor(), np.eye(4), np.arange(4.0), None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="rank 2"):
        distributed.fit(SapwoodRegressor(), np.eye(4), np.arange(4.0), Lonely(2, 2))
