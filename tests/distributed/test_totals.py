"""Starts, class weights, validation rows and metrics come from totals of all workers; no worker gets all rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapwood import Bundle, EffectiveNumber, LastRows, SapwoodClassifier, SapwoodRegressor, Uniform, distributed
from sapwood.boost import intervals
from sapwood.distributed import Communicator
from sapwood.errors import InputError, ParameterError
from sapwood.objectives import CustomLoss, GradientLoss, Huber, Quantile, Tweedie
from sapwood.objectives.losses.squared import Squared
from tests.distributed.worker_threads import rows_of, run_workers

N = 400
FEW = {"n_estimators": 3, "max_leaves": 5, "random_state": 3, "min_child_samples": 5, "n_jobs": 1, "effort": "fast"}
STOPPING = {"n_estimators": 12, "early_stopping_rounds": 2, "learning_rate": 0.6}


class Middle(Squared):
    """A loss of a user, whose best constant knows nothing of workers."""

    def best_constant(self, y: np.ndarray, weight: Any = None, run: Any = None) -> np.ndarray:
        return np.array([np.median(y) + len(y) / 1000.0])


def soft_error(y: Any, score: Any) -> Any:
    return np.log(np.cosh(y - score))


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "squared": ("numbers", {"objective": "squared"}),
    "median": ("numbers", {"objective": "absolute"}),
    "quantiles": ("numbers", {"objective": Quantile([0.2, 0.7])}),
    "root": ("numbers", {"objective": Huber(0.5)}),
    "log of the mean": ("amounts", {"objective": Tweedie(1.3)}),
    "mape": ("amounts", {"objective": "mape"}),
    "msle": ("amounts", {"objective": "msle"}),
    "custom": ("numbers", {"objective": CustomLoss(soft_error)}),
    "gradient": ("numbers", {"objective": GradientLoss(lambda y, f: (f - y, np.ones_like(y)), constant=1.0)}),
    "of a user": ("numbers", {"objective": Middle()}),
    "logistic": ("two", {}),
    "focal": ("two", {"objective": "focal"}),
    "softmax": ("classes", {}),
    "a class without rows": ("classes", {"classes": ["a", "b", "c", "d"]}),
    "balanced": ("classes", {"class_weight": "balanced"}),
    "effective": ("classes", {"class_weight": EffectiveNumber(0.99)}),
    "by classes": ("classes", {"sampling": Uniform(by="classes"), "subsample": 0.4}),
    "noise": ("numbers", {"random_strength": 2.0}),
    "split": ("numbers", STOPPING),
    "strata": ("classes", STOPPING | {"validation_fraction": 0.3, "eval_metric": ["log_loss", "f1_macro", "ece"]}),
    "last rows": ("numbers", STOPPING | {"validation_fraction": LastRows(0.2), "eval_metric": "r2"}),
    "refit": ("numbers", STOPPING | {"refit": True}),
}


def make_data(kind: str, weighted: bool = False) -> dict[str, np.ndarray]:
    """Return rows sorted by target, so that workers see different ones."""
    random = np.random.default_rng(4)
    X = random.normal(size=(N, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=N)
    order = np.argsort(y)
    X, y = X[order], y[order]
    if kind == "amounts":
        y = np.exp(y) + 0.01
    if kind in ("two", "classes"):
        y = np.array(["a", "b", "c"])[np.digitize(y, [1.0] if kind == "two" else [0.0, 1.5])]
    return {"X": X, "y": y} | ({"sample_weight": random.choice([0.0, 0.5, 1.0, 2.5], N)} if weighted else {})


def fit_alone(data: dict[str, np.ndarray], params: dict[str, Any], **more: Any) -> Any:
    kind = SapwoodClassifier if data["y"].dtype.kind == "U" else SapwoodRegressor
    given = {name: values for name, values in data.items() if name not in ("X", "y")}
    return kind(**FEW | params).fit(data["X"], data["y"], **given, **more)


def fit_together(data: dict[str, np.ndarray], params: dict[str, Any], size: int, **more: Any) -> list[Any]:
    """Return the estimators of workers with unequal numbers of rows in any order, and what they have sent."""
    kind = SapwoodClassifier if data["y"].dtype.kind == "U" else SapwoodRegressor

    def work(communicator: Communicator) -> Any:
        rows = shared_rows(len(data["y"]), communicator.rank, size)
        here = {name: values[rows] for name, values in data.items()}
        X, y = here.pop("X"), here.pop("y")
        own = {name: [(values[0][rows], values[1][rows])] for name, values in more.items()}
        fitted = distributed.fit(kind(**FEW | params), X, y, communicator, row_numbers=rows, **here, **own)
        return fitted, communicator.sent

    return run_workers(size, work)


def shared_rows(n: int, rank: int, size: int) -> np.ndarray:
    """Return the rows of a worker: two of them for the last one of three."""
    if size < 3:
        return rows_of(n, rank, size)
    of_two = [rows_of(n, k, 2) for k in range(2)]
    return (of_two[0], of_two[1][:-2], of_two[1][-2:])[rank]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_workers_start_from_the_scores_of_one(name: str, weighted: bool) -> None:
    kind, params = CASES[name]
    data = make_data(kind, weighted)
    alone = fit_alone(data, params)
    assert alone.model_.ensemble.n_nodes > 2 * FEW["n_estimators"]  # trees have splits
    for size in (1, 2, 3):
        for fitted, _ in fit_together(data, params, size):
            np.testing.assert_array_equal(fitted.model_.base_scores, alone.model_.base_scores)
            assert fitted.model_.fingerprint() == alone.model_.fingerprint()
            assert fitted.evals_result_ == alone.evals_result_


EMPTY: dict[str, tuple[str, dict[str, Any]]] = {
    **CASES,
    "bundles": ("numbers", {"bundle": Bundle(0.3)}),
    "intervals": ("numbers", {"intervals": True, "n_estimators": 1}),
    "groups": ("numbers", STOPPING | {"sampling": Uniform(by="groups")}),
    "auc": ("two", STOPPING | {"eval_metric": ["auc", "error", "log_loss"]}),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_worker_may_have_no_row_of_positive_weight(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    monkeypatch.setattr(intervals, "MODEL_PARAMS", intervals.MODEL_PARAMS | {"n_estimators": 3})
    kind, params = EMPTY[name]
    data = make_data(kind, weighted=True)
    data["sample_weight"][shared_rows(N, 2, 3)] = 0.0
    if name == "groups":
        data["groups"] = np.arange(N) % 31
    alone = fit_alone(data, params)
    for fitted, _ in fit_together(data, params | {"checkpoint": tmp_path / "file"}, 3):
        assert fitted.model_.fingerprint() == alone.model_.fingerprint()
        assert fitted.evals_result_ == alone.evals_result_


GROUPED: dict[str, dict[str, Any]] = {
    "split off": STOPPING | {"validation_fraction": 0.3},
    "split off, refit": STOPPING | {"refit": True},
    "sampled": {"sampling": Uniform(by="groups"), "subsample": 0.5},
    "one sampled": {"sampling": Uniform(by="groups"), "subsample": 1e-6},
    "repeated": {"sampling": Uniform(by="groups", replacement=True)},
}


@pytest.mark.parametrize("labels", ["texts", "numbers", "days"])
@pytest.mark.parametrize("name", GROUPED)
def test_groups_of_which_every_worker_has_some_rows_are_not_divided(name: str, labels: str) -> None:
    """Groups have one to thirty rows; a seventh of the rows weighs nothing, so that some groups have no rows left."""
    number = np.random.default_rng(2).zipf(1.4, N) % 30
    data = make_data("two" if labels == "texts" else "numbers", weighted=labels != "days")
    data["groups"] = {
        "texts": np.array([f"group {one}" for one in number]),
        "numbers": np.where(number % 2, number * 1.5, -number),
        "days": np.datetime64("2026-01-01") + number,
    }[labels]
    alone = fit_alone(data, GROUPED[name])
    for size in (1, 2, 3):
        for fitted, _ in fit_together(data, GROUPED[name], size):
            assert fitted.model_.fingerprint() == alone.model_.fingerprint()
            assert fitted.evals_result_ == alone.evals_result_


def test_groups_are_given_at_all_workers_or_at_none() -> None:
    def work(communicator: Communicator) -> None:
        groups = np.arange(4) if communicator.rank == 1 else None
        with pytest.raises(InputError, match="groups is given at worker 1 but not at all"):
            distributed.fit(SapwoodRegressor(), np.eye(4), np.arange(4.0), communicator, groups=groups)

    run_workers(2, work)


def test_one_group_cannot_be_split_off() -> None:
    def work(communicator: Communicator) -> None:
        with pytest.raises(InputError, match="there is only one"):
            distributed.fit(
                SapwoodRegressor(early_stopping_rounds=2), np.eye(4), np.arange(4.0), communicator, groups=["a"] * 4
            )

    run_workers(2, work)


@pytest.mark.parametrize("name", ["squared", "median", "balanced", "strata", "last rows", "noise", "by classes"])
def test_what_is_sent_does_not_grow_with_the_rows(name: str) -> None:
    kind, params = CASES[name]
    params = params | {"early_stopping_rounds": None, "n_estimators": 2, "max_bins": 4}
    few = make_data(kind)
    many = {key: np.concatenate([values] * 5) for key, values in few.items()}
    sent = [fit_together(data, params, 2)[0][1] for data in (few, many)]
    assert sent[1].get("sampling") == sent[0].get("sampling")
    assert sent[1].get("noise") == sent[0].get("noise")
    assert abs(sent[1]["metrics"] - sent[0]["metrics"]) < 100  # one number for each column that trees use
    # Besides the numbers of half of the rows, half of which the other worker compares: texts of other lengths.
    n_more = len(many["y"]) - len(few["y"])
    assert sent[1]["start"] - sent[0]["start"] <= 8 * n_more / 4 + 500


def test_metrics_of_all_rows_are_computed_by_the_first_worker() -> None:
    data = make_data("two")
    calls = []

    def share(y: np.ndarray, prediction: np.ndarray, weight: Any) -> tuple[str, float, bool]:
        calls.append(len(y))
        return "share", float(np.mean(np.sort(prediction)[::2])), True

    params = {"eval_metric": ["auc", "log_loss", share, "average_precision"], "n_estimators": 4}
    eval_set = [(data["X"], data["y"])]
    alone = fit_alone(data, params, eval_set=eval_set)
    calls.clear()
    for fitted, _ in fit_together(data, params, 3, eval_set=(data["X"], data["y"])):
        assert fitted.evals_result_ == alone.evals_result_
    assert calls == [N] * 5  # once for its name and direction, and once per round


def test_an_error_of_a_metric_is_raised_by_all_workers() -> None:
    data = make_data("numbers")

    def broken(y: np.ndarray, prediction: np.ndarray, weight: Any) -> str:
        return "high"

    def work(communicator: Communicator) -> None:
        rows = rows_of(N, communicator.rank, 2)
        given = {"row_numbers": rows, "eval_set": [(data["X"][rows], data["y"][rows])]}
        with pytest.raises(ParameterError, match="returned 'high'"):
            distributed.fit(
                SapwoodRegressor(**FEW, eval_metric=broken), data["X"][rows], data["y"][rows], communicator, **given
            )

    run_workers(2, work)


def test_a_row_number_that_two_workers_have_is_an_error_at_both() -> None:
    def work(communicator: Communicator) -> None:
        numbers = np.arange(4) + 3 * communicator.rank
        with pytest.raises(InputError, match="a number twice"):
            distributed.fit(SapwoodRegressor(), np.eye(4), np.arange(4.0), communicator, row_numbers=numbers)

    run_workers(2, work)


def test_a_class_whose_rows_would_all_be_split_off_is_named_by_all_workers() -> None:
    """The last rows, which are split off, are those of class c."""
    data = make_data("classes")
    params = STOPPING | {"validation_fraction": LastRows(0.6)}

    def work(communicator: Communicator) -> None:
        rows = rows_of(N, communicator.rank, 2)
        with pytest.raises(InputError, match="all rows of class 'c' would be split off"):
            distributed.fit(
                SapwoodClassifier(**FEW | params), data["X"][rows], data["y"][rows], communicator, row_numbers=rows
            )

    run_workers(2, work)


def test_a_worker_with_few_rows_of_many_classes_does_not_warn() -> None:
    """The second worker has 25 rows of 25 classes, of which there are 400 rows in all."""
    data = make_data("numbers") | {"y": np.array([f"class {k % 25}" for k in range(N)])}

    def work(communicator: Communicator) -> None:
        rows = np.arange(N - 25) if communicator.rank == 0 else np.arange(N - 25, N)
        model = SapwoodClassifier(**FEW | {"n_estimators": 1})
        distributed.fit(model, data["X"][rows], data["y"][rows], communicator)

    run_workers(2, work)  # warnings are errors


def test_missing_values_that_one_worker_has_are_known_to_all() -> None:
    data = make_data("numbers")
    data["X"][rows_of(N, 0, 2)[:20], 1] = np.nan
    alone = fit_alone(data, {})
    assert alone.model_.metadata["columns_with_missing"] == [1]
    for fitted, _ in fit_together(data, {}, 2):
        assert fitted.model_.metadata["columns_with_missing"] == [1]
        assert fitted.model_.to_text() == alone.model_.to_text()
