"""Checkpoints of distributed fits: the first worker writes the file, from which any number of workers resume."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor, Uniform, distributed
from sapwood.boost.checkpoint.log import LENGTH_BYTES, MAGIC
from sapwood.distributed import Communicator
from sapwood.errors import CheckpointError
from tests.distributed.test_totals import fit_alone, make_data, shared_rows
from tests.distributed.worker_threads import run_workers

PARAMS: dict[str, Any] = {"n_estimators": 8, "subsample": 0.7, "sampling": "uniform", "checkpoint_every": 0}
CASES: dict[str, tuple[str, bool, dict[str, Any]]] = {
    "regression": ("numbers", False, {}),
    "weights, validation rows": ("numbers", True, {"early_stopping_rounds": 3, "learning_rate": 0.5}),
    "classes": ("classes", True, {"class_weight": "balanced"}),
    "linear leaves": ("numbers", False, {"leaf_model": "linear"}),
    "refit": ("two", False, {"early_stopping_rounds": 2, "learning_rate": 0.5, "refit": True}),
    "groups": ("numbers", True, {"sampling": Uniform(by="groups")}),
}


def data_of(name: str) -> dict[str, np.ndarray]:
    kind, weighted, _ = CASES[name]
    data = make_data(kind, weighted)
    if name == "groups":
        data["groups"] = np.arange(len(data["y"])) % 37
    return data


def fit_together(data: dict[str, np.ndarray], params: dict[str, Any], size: int, rounds: list[int], by: str) -> Any:
    """Return the estimators of workers; the rounds that the first one trains are appended to ``rounds``."""
    kind = SapwoodClassifier if data["y"].dtype.kind == "U" else SapwoodRegressor

    def work(communicator: Communicator) -> Any:
        rows = shared_rows(len(data["y"]), communicator.rank, size) if by == "rows" else slice(None)
        here = {name: values[rows] for name, values in data.items()}
        numbers = {"row_numbers": rows} if by == "rows" else {}
        fixed = {"max_leaves": 5, "random_state": 3, "min_child_samples": 5, "n_jobs": 1, "effort": "fast"}
        callbacks = [lambda progress: rounds.append(progress.round)] if communicator.rank == 0 else []
        estimator = kind(**fixed | params, callbacks=callbacks)
        return distributed.fit(estimator, here.pop("X"), here.pop("y"), communicator, by=by, **numbers, **here)

    return run_workers(size, work)


def cut_after(path: Path, n_segments: int) -> None:
    """Cut a checkpoint file as if the process had died after so many segments."""
    data, place = path.read_bytes(), len(MAGIC)
    for _ in range(n_segments):
        place += LENGTH_BYTES + int.from_bytes(data[place : place + LENGTH_BYTES], "little")
    path.write_bytes(data[: place + 3])


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_workers_resumes(name: str, tmp_path: Path) -> None:
    data, params = data_of(name), PARAMS | CASES[name][2]
    alone = fit_alone(data, params)
    path = tmp_path / "whole"
    assert fit_together(data, params | {"checkpoint": path}, 3, [], "rows")[2].model_.fingerprint() == (
        alone.model_.fingerprint()
    )
    for size, by in ((1, "rows"), (2, "rows"), (3, "rows"), (2, "features")):
        copy, rounds = tmp_path / f"{size} {by}", list[int]()
        shutil.copy(path, copy)
        cut_after(copy, 3)
        for fitted in fit_together(data, params | {"checkpoint": copy}, size, rounds, by):
            assert fitted.model_.fingerprint() == alone.model_.fingerprint()
            assert fitted.evals_result_ == alone.evals_result_
        assert rounds[0] == 3  # two of the three segments hold a round each
        n_trained = len(rounds)
        fit_together(data, params | {"checkpoint": copy}, size, rounds, by)
        assert len(rounds) == n_trained  # training has ended: the model comes from the file


def test_one_machine_resumes_what_workers_began_and_workers_what_it_began(tmp_path: Path) -> None:
    data, params = make_data("numbers"), PARAMS | {"early_stopping_rounds": 5}
    alone = fit_alone(data, params | {"checkpoint": tmp_path / "alone"})
    fit_together(data, params | {"checkpoint": tmp_path / "together"}, 2, [], "rows")
    for name in ("alone", "together"):
        cut_after(tmp_path / name, 4)
    rounds: list[int] = []
    for fitted in fit_together(data, params | {"checkpoint": tmp_path / "alone"}, 2, rounds, "rows"):
        assert fitted.model_.fingerprint() == alone.model_.fingerprint()
    callbacks = [lambda progress: rounds.append(progress.round)]
    resumed = fit_alone(data, params | {"checkpoint": tmp_path / "together", "callbacks": callbacks})
    assert resumed.model_.fingerprint() == alone.model_.fingerprint()
    assert rounds.count(4) == 2
    assert 3 not in rounds


def test_a_checkpoint_of_other_rows_or_parameters_is_refused_by_all_workers(tmp_path: Path) -> None:
    data, params = make_data("numbers"), PARAMS | {"checkpoint": tmp_path / "file"}
    fit_together(data, params, 2, [], "rows")
    before = (tmp_path / "file").read_bytes()
    changed = data | {"y": np.where(np.arange(len(data["y"])) == 17, 5.0, data["y"])}
    swapped = data | {"X": data["X"][::-1].copy()}
    for other, more, words in (
        (changed, {}, "y differs"),
        (swapped, {}, "X differs"),
        (data, {"max_leaves": 7}, "max_leaves was 5"),
    ):
        with pytest.raises(CheckpointError, match=words):
            fit_together(other, params | more, 2, [], "rows")
    assert (tmp_path / "file").read_bytes() == before


def test_a_file_that_cannot_be_written_is_an_error_at_all_workers(tmp_path: Path) -> None:
    data = make_data("numbers")

    def work(communicator: Communicator) -> None:
        rows = shared_rows(len(data["y"]), communicator.rank, 2)
        estimator = SapwoodRegressor(checkpoint=tmp_path / "no" / "file", n_estimators=2)
        with pytest.raises(CheckpointError, match="existing, writable directory"):
            distributed.fit(estimator, data["X"][rows], data["y"][rows], communicator, row_numbers=rows)

    run_workers(2, work)
