"""Checkpoints of fits on a cluster: files of the client, from which any cluster, or one machine, resumes."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost.progress import Progress
from sapwood.dask import DaskSapwoodClassifier, DaskSapwoodRegressor
from sapwood.errors import CheckpointError, InputError
from tests.dask.collections import dask_array, make_table
from tests.dask.conftest import FragileCluster
from tests.dask.test_fit import FEW, fingerprint
from tests.distributed.test_checkpoint import cut_after
from tests.processes import PYTHONPATH

X, Y = make_table()
LABELS = make_table(task="classes")[1]
STOPPING = FEW | {"n_estimators": 12, "early_stopping_rounds": 4, "learning_rate": 0.5}
CASES: dict[str, tuple[type, type, np.ndarray, dict[str, Any]]] = {
    "classes": (SapwoodClassifier, DaskSapwoodClassifier, LABELS, FEW | {"subsample": 0.7, "sampling": "uniform"}),
    "early stopping": (SapwoodRegressor, DaskSapwoodRegressor, Y, STOPPING),
    "refit": (SapwoodRegressor, DaskSapwoodRegressor, Y, STOPPING | {"refit": True}),
}
SLOW = FEW | {"n_estimators": 60, "checkpoint_every": 0}
CLIENT = """
import sys
from tests.dask.test_checkpoint_rounds import fit_slowly
fit_slowly(*sys.argv[1:])
"""


class Pause:
    """A callback that makes rounds long enough for a process to be killed in the middle."""

    def __call__(self, progress: Progress) -> None:
        time.sleep(0.05)


def fit_slowly(scheduler: str, path: str) -> None:
    with Client(scheduler) as client:
        model = DaskSapwoodRegressor(**SLOW, checkpoint=path, callbacks=[Pause()], client=client)
        model.fit(*(dask_array(values, [100, 300, 200]) for values in (X, Y)))


def replayed(model: Any) -> set[int]:
    return {worker["rounds_replayed"] for worker in model.fit_report_["workers"]}


def wait_for_size(path: Path, n_bytes: int) -> None:
    while not path.exists() or path.stat().st_size < n_bytes:
        time.sleep(0.02)


@pytest.mark.parametrize("name", CASES)
def test_other_workers_and_one_machine_resume(threaded_client: Client, name: str, tmp_path: Path) -> None:
    local, on_cluster, y, params = CASES[name]
    alone = local(**params).fit(X, y)
    path = tmp_path / "whole"
    whole = on_cluster(**params, checkpoint=path, client=threaded_client)
    assert fingerprint(whole.fit(dask_array(X, [200, 400]), dask_array(y, [200, 400]))) == fingerprint(alone)
    assert (tmp_path / "whole.refit").exists() == (name == "refit")
    for sizes in ([600], [100, 0, 400, 100]):
        copy = tmp_path / str(len(sizes))
        shutil.copy(path, copy)
        cut_after(copy, 3)  # the first segment describes the run
        model = on_cluster(**params, checkpoint=copy, client=threaded_client)
        model.fit(dask_array(X, sizes), dask_array(y, sizes))
        assert replayed(model) == {2}
        assert fingerprint(model) == fingerprint(alone)
        assert model.evals_result_ == alone.evals_result_
    cut_after(path, 3)
    assert fingerprint(local(**params, checkpoint=path).fit(X, y)) == fingerprint(alone)


def test_a_cluster_resumes_what_one_machine_began(threaded_client: Client, tmp_path: Path) -> None:
    path, params = tmp_path / "training", FEW | {"checkpoint": tmp_path / "training", "checkpoint_every": 0}
    alone = SapwoodRegressor(**params).fit(X, Y)
    cut_after(path, 3)
    parts = [dask_array(values, [150, 450]) for values in (X, Y)]
    for n_replayed in (2, 4):  # the second fit finds a training that has ended
        model = DaskSapwoodRegressor(**params, client=threaded_client).fit(*parts)
        assert replayed(model) == {n_replayed}
        assert fingerprint(model) == fingerprint(alone)


def test_a_killed_client_leaves_a_file_to_resume_from(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "training"
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    arguments = [sys.executable, "-c", CLIENT, client.scheduler.address, str(path)]
    with subprocess.Popen(arguments, env=environment) as process:
        wait_for_size(path, 10_000)
        process.send_signal(signal.SIGKILL)
    model = DaskSapwoodRegressor(**SLOW, checkpoint=path, client=client)
    model.fit(*(dask_array(values, [300, 300]) for values in (X, Y)))
    assert min(replayed(model)) >= 1
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**SLOW).fit(X, Y))


@pytest.mark.cluster
def test_a_fit_goes_on_from_its_file_if_all_workers_die_at_once(
    fragile_cluster: FragileCluster, tmp_path: Path
) -> None:  # fmt: skip
    client, path = fragile_cluster.get(), tmp_path / "training"

    def kill() -> None:
        wait_for_size(path, 10_000)
        for pid in fragile_cluster.pids():
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    model = DaskSapwoodRegressor(**SLOW, checkpoint=path, callbacks=[Pause()], client=client)
    model.fit(*(dask_array(values, [100, 300, 200]) for values in (X, Y)))
    thread.join()
    assert model.fit_report_["attempts"] > 1
    assert min(replayed(model)) >= 1
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**SLOW).fit(X, Y))


def test_the_file_belongs_to_one_run(threaded_client: Client, tmp_path: Path) -> None:
    path = tmp_path / "training"
    parts = [dask_array(values, [300, 300]) for values in (X, Y)]
    model = DaskSapwoodRegressor(**FEW, checkpoint=path, client=threaded_client).fit(*parts)
    content = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"belongs to another training run: y differs"):
        model.fit(parts[0], parts[1] + 1.0)
    with pytest.raises(CheckpointError, match=r"max_leaves was 8 and is 9"):
        model.set_params(max_leaves=9).fit(*parts)
    assert path.read_bytes() == content


def test_faults_of_the_file_are_found_before_anything_is_computed(threaded_client: Client, tmp_path: Path) -> None:
    parts = [dask_array(values, [300, 300]) for values in (X, Y)]
    model = DaskSapwoodRegressor(**FEW, checkpoint=tmp_path / "missing" / "training", client=threaded_client)
    with pytest.raises(CheckpointError, match="cannot be written"):
        model.fit(*parts)
    path = tmp_path / "training"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CheckpointError, match="in use by another fit"):
            model.set_params(checkpoint=path).fit(*parts)


def test_a_fit_that_fails_before_its_first_round_leaves_no_file(threaded_client: Client, tmp_path: Path) -> None:
    target = dask_array(np.where(np.arange(600) == 5, np.nan, Y), [300, 300])
    model = DaskSapwoodRegressor(**FEW, checkpoint=tmp_path / "training", client=threaded_client)
    with pytest.raises(InputError, match="y must be finite"):
        model.fit(dask_array(X, [300, 300]), target)
    assert not list(tmp_path.iterdir())
