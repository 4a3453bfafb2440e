"""Actors train the model of one machine on any parts, also if some of them are killed."""

from __future__ import annotations

import logging
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeRegressor

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood import ray as sapwood_ray
from sapwood.errors import InputError, TrainingError
from tests.distributed.test_checkpoint import cut_after

ray = pytest.importorskip("ray", reason="ray is not installed")
data = pytest.importorskip("ray.data", reason="ray.data is not installed")

FEW: dict[str, Any] = {"n_estimators": 8, "max_leaves": 8, "random_state": 3, "effort": "fast"}
CUTS = [0, 90, 90, 300, 595, 600]  # one part is empty
pytestmark = pytest.mark.usefixtures("cluster")


def make_table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(size=600)


def parts(values: Any) -> list[Any]:
    return [values[first:last] for first, last in pairwise(CUTS)]


@ray.remote(num_cpus=1)
def read(values: np.ndarray) -> np.ndarray:
    return values


class KillOnce:
    """A callback that kills its process after a round and some seconds, once if there is a folder for a mark."""

    def __init__(self, round: int, folder: Path | None, seconds: float = 0.0) -> None:
        self.round, self.folder, self.seconds = round, folder, seconds

    def __call__(self, progress: Any) -> None:
        if progress.round != self.round:
            return
        if self.folder is not None:
            try:
                (self.folder / "killed").touch(exist_ok=False)
            except FileExistsError:
                return
        time.sleep(self.seconds)
        os.kill(os.getpid(), signal.SIGKILL)


def test_parts_give_the_model_of_one_machine() -> None:
    X, y = make_table()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    alone = SapwoodRegressor(**FEW).fit(X, y, sample_weight=weight, eval_set=(X[:50], y[:50]))
    refs = [read.remote(one) for one in parts(X)]
    model = sapwood_ray.fit(
        SapwoodRegressor(**FEW), refs, parts(y), n_workers=2, sample_weight=parts(weight),
        eval_set=([X[:20], X[20:50]], [y[:20], y[20:50]]),
    )  # fmt: skip
    assert model.model_.fingerprint() == alone.model_.fingerprint()
    assert model.evals_result_ == alone.evals_result_
    assert [worker["rows"] for worker in model.fit_report_["workers"]] == [300, 300]
    assert np.array_equal(model.predict(X), alone.predict(X))


def test_actors_start_from_the_predictions_of_a_frozen_estimator() -> None:
    X, y = make_table()
    params = FEW | {"init": FrozenEstimator(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y))}
    alone = SapwoodRegressor(**params).fit(X, y)
    model = sapwood_ray.fit(SapwoodRegressor(**params), parts(X), parts(y), n_workers=2)
    assert model.model_.fingerprint() == alone.model_.fingerprint()
    assert np.array_equal(model.predict(X), alone.predict(X))


def test_a_dataset_with_categories_gives_the_model_of_one_machine() -> None:
    X, y = make_table()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.array(["x", "y", "z"])[np.arange(600) // 250]
    frame["label"] = np.where(y > 1, "yes", "no")
    alone = SapwoodClassifier(**FEW).fit(frame.drop(columns="label"), frame["label"])
    model = sapwood_ray.fit(SapwoodClassifier(**FEW), data.from_pandas(parts(frame)), "label", n_workers=2)
    assert model.model_.fingerprint() == alone.model_.fingerprint()
    assert model.classes_.tolist() == ["no", "yes"]


def test_a_killed_actor_does_not_change_the_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    X, y = make_table()
    alone = SapwoodRegressor(**FEW).fit(X, y)
    killer = KillOnce(5, tmp_path)
    with caplog.at_level(logging.WARNING, "sapwood.ray"):
        model = sapwood_ray.fit(SapwoodRegressor(**FEW, callbacks=[killer]), parts(X), parts(y), n_workers=2)
    assert model.model_.fingerprint() == alone.model_.fingerprint()
    assert model.fit_report_["attempts"] == 2
    assert all(worker["rounds_replayed"] >= 4 for worker in model.fit_report_["workers"])
    assert "attempt 1 of 4 ended: The actor died" in caplog.text


def test_actors_resume_from_a_checkpoint_and_one_machine_from_theirs(tmp_path: Path) -> None:
    X, y = make_table()
    params = FEW | {"checkpoint": tmp_path / "training", "checkpoint_every": 0}
    alone = SapwoodRegressor(**params).fit(X, y)
    cut_after(tmp_path / "training", 4)  # the first segment describes the run
    model = sapwood_ray.fit(SapwoodRegressor(**params), parts(X), parts(y), n_workers=2)
    assert model.model_.fingerprint() == alone.model_.fingerprint()
    assert [worker["rounds_replayed"] for worker in model.fit_report_["workers"]] == [3, 3]
    rounds: list[int] = []
    again = SapwoodRegressor(**params, callbacks=[lambda progress: rounds.append(progress.round)]).fit(X, y)
    assert again.model_.fingerprint() == alone.model_.fingerprint()
    assert not rounds  # the actors' rounds are in the file


def test_the_file_is_enough_if_all_actors_die(tmp_path: Path) -> None:
    X, y = make_table()
    params = FEW | {"checkpoint": tmp_path / "training", "checkpoint_every": 0}
    killer = KillOnce(5, tmp_path, seconds=3.0)  # meanwhile the driver asks for finished rounds
    model = sapwood_ray.fit(SapwoodRegressor(**params, callbacks=[killer]), parts(X), parts(y), n_workers=1)
    assert model.model_.fingerprint() == SapwoodRegressor(**FEW).fit(X, y).model_.fingerprint()
    assert all(worker["rounds_replayed"] >= 4 for worker in model.fit_report_["workers"])


def test_a_fault_that_repeats_ends_with_an_error() -> None:
    X, y = make_table()
    model = SapwoodRegressor(**FEW, callbacks=[KillOnce(2, None)])
    with pytest.raises(TrainingError, match="lost in each of 1 attempts, in the last one because The actor died"):
        sapwood_ray.fit(model, parts(X), parts(y), n_workers=2, retries=0)


def test_the_error_of_one_worker_ends_the_fit_and_names_its_parts() -> None:
    X, y = make_table()
    y[597] = np.nan
    with pytest.raises(InputError, match=r"y must be finite.*whose rows are those of parts .*4"):
        sapwood_ray.fit(SapwoodRegressor(**FEW), parts(X), parts(y), n_workers=2)
