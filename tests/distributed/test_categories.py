"""Workers with categorical columns get the model of one worker: vocabularies, statistics and combinations of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapwood import Crossing, Greedy, Holdout, LeaveOneOut, Ordered, Partition, SapwoodRegressor, distributed
from sapwood.distributed import Communicator
from sapwood.errors import InputError
from tests.distributed.category_cases import FEW, assert_one_model, fit_alone, fit_rows, make_data, rows_of
from tests.distributed.worker_threads import run_workers

SYMMETRIC = {"growth": "symmetric", "max_leaves": None, "min_child_samples": 1}
IN_TREES = {"category_encoding": "ordered", "max_combination": 3, "tree_combinations": True}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "one-hot": ("regression", {"category_encoding": "one_hot"}),
    "frequency": ("regression", {"category_encoding": "frequency"}),
    "ordered": ("regression", {"category_encoding": "ordered"}),
    "ordered and frequency": ("binary", {"category_encoding": ["ordered", "frequency"]}),
    "ordered, of classes": ("classes", {"category_encoding": Ordered(priors=(0.0, None), bins=16)}),
    "greedy": ("regression", {"category_encoding": Greedy(bins=20)}),
    "leave one out": ("classes", {"category_encoding": LeaveOneOut(prior_weight=3.0)}),
    "holdout": ("regression", {"category_encoding": Holdout(fraction=0.3)}),
    "in the order of rows": ("regression", {"category_encoding": "ordered", "has_time": True}),
    "in the order of a column": ("regression", {"category_encoding": "ordered", "has_time": 1}),
    "combinations": ("regression", {"category_encoding": "ordered", "max_combination": 3}),
    "combinations in trees": ("regression", {**IN_TREES, "max_leaves": 30, "min_child_samples": 1}),
    "combinations in symmetric trees": ("binary", IN_TREES | SYMMETRIC),
    "combinations without an order": ("binary", {"category_encoding": "leave_one_out", "max_combination": 2}),
    "combinations with numbers": (
        "regression",
        {"category_encoding": ["ordered", "frequency"], "max_combination": Crossing(2, number_levels=8)},
    ),
    "by column": ("regression", {"category_encoding": {2: "one_hot", 3: "ordered", 4: ["greedy", "frequency"]}}),
    "symmetric": ("regression", {"category_encoding": "ordered", **SYMMETRIC}),
    "chosen by the number of categories": ("regression", {}),
    "partition of classes": ("classes", {"category_encoding": "partition", "growth": "levelwise"}),
    "partition, few rows": ("regression", {"category_encoding": "partition", "min_child_samples": 1, "max_leaves": 30}),
    "partition, many rows": ("binary", {"category_encoding": "partition", "min_child_samples": 70}),
    "partition, rare categories": (
        "regression",
        {"category_encoding": Partition(min_level_rows=9, min_group_rows=15, max_levels=6, max_single=3)},
    ),
    "partition, bins": ("regression", {"category_encoding": Partition(max_single=0), "max_bins": 8}),
    "partition, sampling": (
        "regression",
        {"category_encoding": "partition", "sampling": "goss", "random_strength": 1.0},
    ),
    "partition, constraints": (
        "regression",
        {
            "category_encoding": "partition",
            "monotone_constraints": [1, -1, 0, 0, 0],
            "interaction_constraints": [[0, 2, 3], [1, 4]],
            "precision": "packed",
        },
    ),
    "partition, columns drawn": ("regression", {"category_encoding": "partition", "colsample_bynode": 0.5}),
    "partition, quantiles": ("regression", {"category_encoding": "partition", "objective": "absolute"}),
}


@pytest.mark.parametrize("name", CASES)
def test_workers_encode_categories_as_one_worker_does(name: str) -> None:
    task, params = CASES[name]
    assert_one_model(task, make_data(task), params)


@pytest.mark.parametrize("growth", [{}, SYMMETRIC], ids=str)
def test_workers_grow_the_same_combinations_inside_trees(
    monkeypatch: pytest.MonkeyPatch, growth: dict[str, Any]
) -> None:
    monkeypatch.setattr("sapwood.data.categories.combinations.MAX_PAIRS", 1)
    params = (
        {"category_encoding": "ordered", "max_combination": 3, "tree_combinations": True}
        | growth
        | {"n_estimators": 15}
    )
    pairs = {s for s in fit_alone("regression", make_data(), params).model_.transformer.sources if len(s) > 1}
    assert len(pairs) > 1  # more than the search for all leaves finds
    assert_one_model("regression", make_data(), params)


@pytest.mark.parametrize("growth", [{}, {"growth": "levelwise"}, SYMMETRIC], ids=str)
@pytest.mark.parametrize("encoding", ["ordered", "one_hot"])
def test_workers_that_share_features_score_splits_in_order(encoding: str, growth: dict[str, Any]) -> None:
    data, params = make_data(), {"boosting": "ordered", "category_encoding": encoding, **growth}
    alone = fit_alone("regression", data, params).model_.fingerprint()

    def work(communicator: Communicator) -> str:
        estimator = SapwoodRegressor(**FEW | params)
        return distributed.fit(estimator, data["X"], data["y"], communicator, by="features").model_.fingerprint()

    assert set(run_workers(3, work)) == {alone}


@pytest.mark.parametrize(
    "encoding", ["ordered", "leave_one_out", Holdout(fraction=0.5), ["one_hot", "frequency"]], ids=str
)
def test_weights_and_workers_without_rows(encoding: Any) -> None:
    params = {"category_encoding": encoding, "max_combination": 2}
    assert_one_model("regression", make_data(weighted=True), params)
    assert_one_model("regression", make_data(weighted=True, empty=True), params, [(2, "ranges"), (4, "ranges")])


def test_early_stopping_sees_the_categories_of_validation_rows() -> None:
    data, other = make_data(), make_data(weighted=True)
    params = {"n_estimators": 30, "early_stopping_rounds": 2, "learning_rate": 0.5}
    more = {"eval_set": [(other["X"][:200], other["y"][:200])]}
    alone = fit_alone("regression", data, params, **more)

    def work(communicator: Communicator) -> Any:
        rows, own = rows_of(communicator.rank, 3, "shuffled"), np.arange(200)[communicator.rank :: 3]
        sets = [(other["X"][own], other["y"][own])]
        return fit_rows("regression", data, params, rows, communicator, eval_set=sets)

    for fitted in run_workers(3, work):
        assert fitted.model_.fingerprint() == alone.model_.fingerprint()
        assert fitted.evals_result_ == alone.evals_result_


def test_rows_split_off_and_a_second_training_on_all_rows() -> None:
    params = {"n_estimators": 20, "early_stopping_rounds": 2, "learning_rate": 0.5, "refit": True}
    assert_one_model("regression", make_data(), params)


def test_workers_may_have_categories_of_different_types() -> None:
    """Integers at one worker are floats at another, where some are missing; pandas categories differ too."""
    pd = pytest.importorskip("pandas")
    source = np.random.default_rng(2)
    codes, y = source.integers(0, 30, 400), source.normal(size=400)
    y = y + codes % 7
    frame = pd.DataFrame({"code": codes.astype(float), "letter": pd.Categorical([f"c{c % 9}" for c in codes])})
    frame.loc[300:, "code"] = np.where(source.random(100) < 0.2, np.nan, frame.loc[300:, "code"])
    params = {"categorical_features": ["code", "letter"]}
    alone = fit_alone("regression", {"X": frame, "y": y}, params)

    def work(communicator: Communicator) -> Any:
        rows = np.arange(150) if communicator.rank == 0 else np.arange(150, 400)
        part = frame.iloc[rows].copy()
        part["letter"] = part["letter"].cat.remove_unused_categories()
        if communicator.rank == 0:
            part["code"] = part["code"].astype(np.int64)
        return fit_rows("regression", {"y": y}, params, rows, communicator, X=part)

    for fitted in run_workers(2, work):
        assert fitted.model_.fingerprint() == alone.model_.fingerprint()
        assert fitted.model_.transformer.vocabularies[1].categories == tuple(f"c{k}" for k in range(9))


def test_numbers_that_cannot_be_categories_are_an_error_if_another_worker_has_strings() -> None:
    def work(communicator: Communicator) -> Any:
        data = make_data()
        rows = rows_of(communicator.rank, 2, "ranges")
        X = data["X"] if communicator.rank else np.random.default_rng(0).normal(size=data["X"].shape)
        return fit_rows("regression", data, {}, rows, communicator, X=X[rows])

    with pytest.raises(InputError, match="which is not an integer and cannot be a category"):
        run_workers(2, work)


@pytest.mark.parametrize("params", [{}, {"category_encoding": "ordered", "max_combination": 2}], ids=str)
def test_workers_that_share_features_search_sets_of_categories(params: dict[str, Any]) -> None:
    data = make_data()
    alone = fit_alone("regression", data, params)
    for size in (2, 3):
        for fitted in run_workers(size, lambda c: fit_rows("regression", data, params, None, c, by="features")):
            assert fitted.model_.fingerprint() == alone.model_.fingerprint()


def test_rows_are_not_gathered_at_every_worker_for_categories() -> None:
    """Ordered statistics send each row to one worker and back, whatever the number of workers."""
    data = make_data()
    params = {"category_encoding": "ordered", "n_estimators": 1}

    def work(communicator: Communicator) -> int:
        rows = rows_of(communicator.rank, communicator.size, "shuffled")
        fit_rows("regression", data, params, rows, communicator)
        return communicator.sent["categories"]

    sent = {size: sum(run_workers(size, work)) for size in (2, 4)}
    assert sent[4] < 2.5 * sent[2]  # names and tables of categories go to all, rows do not
