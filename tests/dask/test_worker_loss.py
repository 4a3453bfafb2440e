"""Workers that are killed on the way: the fit goes on without them and gives the same model."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask.delayed import delayed
from distributed import Client, Worker

from sapwood import SapwoodRegressor
from sapwood.dask import DaskSapwoodRegressor
from sapwood.errors import InputError, TrainingError
from tests.dask.collections import make_table, put, slices
from tests.dask.test_fit import FEW, fingerprint

ROUNDS = FEW | {"n_estimators": 12}
SIZES = [100] * 6


class KillOnce:
    """A callback that kills a process after some rounds, once for each of the rounds."""

    def __init__(self, folder: Path, rounds: list[int], victims: list[int]) -> None:
        self.folder, self.rounds, self.victims = str(folder), rounds, victims

    def __call__(self, progress: Any) -> None:
        if progress.round in self.rounds:
            kill_once(f"{self.folder}/round-{progress.round}", self.victims[self.rounds.index(progress.round)])


def kill_once(path: str, pid: int) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(pid, signal.SIGKILL)


def read_part(part: slice, values: np.ndarray, fatal: str = "") -> np.ndarray:
    if fatal:
        kill_once(fatal, os.getpid())
    return values[part]


def parts(values: np.ndarray, fatal: str = "") -> list[Any]:
    return [delayed(read_part)(part, values, fatal if k == 3 else "") for k, part in enumerate(slices(SIZES))]


def workers_of(client: Client) -> dict[str, int]:
    """Process ids of the three workers, by address."""
    return dict(sorted(client.run(os.getpid).items()))


@pytest.mark.parametrize("victim", ["first", "last", "two"])
def test_a_killed_worker_does_not_change_the_model(
    fragile_client: Client, tmp_path: Path, victim: str, caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    X, y = make_table()
    alone = SapwoodRegressor(**ROUNDS).fit(X, y)
    addresses, running = map(list, zip(*workers_of(fragile_client).items(), strict=True))
    pinned = [put(fragile_client, values, SIZES, addresses) for values in (X, y)]
    victims = {"first": [running[0]], "last": [running[-1]], "two": [running[-1], running[1]]}[victim]
    killer = KillOnce(tmp_path, [5, 8][: len(victims)], victims)
    with caplog.at_level(logging.WARNING, "sapwood.dask"):
        model = DaskSapwoodRegressor(**ROUNDS, client=fragile_client, callbacks=killer).fit(*pinned)
    assert fingerprint(model) == fingerprint(alone)
    assert model.fit_report_["attempts"] == 1 + len(victims)
    assert all(worker["rounds_replayed"] >= 4 for worker in model.fit_report_["workers"])
    assert "attempt 1 of 4 ended" in caplog.text


def test_a_worker_killed_while_it_reads_a_partition_does_not_change_the_model(
    fragile_client: Client, tmp_path: Path
) -> None:  # fmt: skip
    X, y = make_table()
    workers_of(fragile_client)
    model = DaskSapwoodRegressor(**ROUNDS, client=fragile_client).fit(parts(X, str(tmp_path / "read")), parts(y))
    assert (tmp_path / "read").exists()
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**ROUNDS).fit(X, y))


def test_a_single_worker_that_is_killed_is_replaced(fragile_client: Client, tmp_path: Path) -> None:
    X, y = make_table()
    address = next(iter(workers_of(fragile_client)))
    pinned = [put(fragile_client, values, SIZES, [address]) for values in (X, y)]
    killer = KillSelf(KillOnce(tmp_path, [5], [-1]))
    model = DaskSapwoodRegressor(**ROUNDS, client=fragile_client, callbacks=killer).fit(*pinned)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**ROUNDS).fit(X, y))
    assert model.fit_report_["attempts"] == 2


def test_early_stopping_and_refit_are_replayed(fragile_client: Client, tmp_path: Path) -> None:
    X, y = make_table()
    params = ROUNDS | {"n_estimators": 40, "early_stopping_rounds": 3, "learning_rate": 0.5, "refit": True}
    alone = SapwoodRegressor(**params).fit(X, y)
    workers = workers_of(fragile_client)
    pinned = [put(fragile_client, values, SIZES, list(workers)) for values in (X, y)]
    killer = KillOnce(tmp_path, [4], [list(workers.values())[1]])
    model = DaskSapwoodRegressor(**params, client=fragile_client, callbacks=killer).fit(*pinned)
    assert fingerprint(model) == fingerprint(alone)
    assert model.evals_result_ == alone.evals_result_
    assert model.fit_report_["attempts"] == 2


def test_a_partition_that_comes_back_different_is_refused(fragile_client: Client, tmp_path: Path) -> None:
    X, y = make_table()
    workers_of(fragile_client)
    noisy = [delayed(read_noisy)(one, str(tmp_path)) for one in parts(X)]
    killer = KillOnce(tmp_path, [4], [-1])
    with pytest.raises(InputError, match="is not what it was"):
        DaskSapwoodRegressor(**ROUNDS, client=fragile_client, callbacks=KillSelf(killer)).fit(noisy, parts(y))


class KillSelf:
    """Kills the worker that calls it, once."""

    def __init__(self, killer: KillOnce) -> None:
        self.killer = killer

    def __call__(self, progress: Any) -> None:
        self.killer.victims = [os.getpid()]
        self.killer(progress)


def read_noisy(values: np.ndarray, folder: str) -> np.ndarray:
    return values + int.from_bytes(os.urandom(4), "little")


def test_a_fault_that_repeats_ends_with_an_error(fragile_client: Client, tmp_path: Path) -> None:
    X, y = make_table()
    workers_of(fragile_client)
    killer = KillSelf(KillOnce(tmp_path, [2], [-1]))
    with pytest.raises(TrainingError, match=r"lost in each of 1 attempts, in the last one because .*worker 0"):
        DaskSapwoodRegressor(**ROUNDS, client=fragile_client, callbacks=killer, retries=0).fit(parts(X), parts(y))


def test_no_worker_keeps_anything_of_a_fit(fragile_client: Client) -> None:
    X, y = make_table()
    DaskSapwoodRegressor(**FEW, client=fragile_client).fit(parts(X), parts(y))
    assert set(fragile_client.run(kept).values()) == {(0, 0)}


def kept(dask_worker: Worker) -> tuple[int, int]:
    plugin = dask_worker.plugins["sapwood-transport"]
    return len(plugin.journals), len(plugin.inboxes)
