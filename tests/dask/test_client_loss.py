"""A client that is closed or interrupted while it trains: a clear error, and workers that are idle again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest
from distributed import Client, Worker

from sapwood import SapwoodRegressor
from sapwood.boost.progress import Progress
from sapwood.dask import DaskSapwoodRegressor
from sapwood.errors import TrainingError
from tests.dask.collections import dask_array, make_table
from tests.dask.test_fit import FEW, fingerprint

X, Y = make_table()
PARTS = [dask_array(values, [100, 300, 200]) for values in (X, Y)]
TOPIC = "sapwood-test-round"


class Pause:
    """A callback that says which round it is and makes rounds long, so that a fit can be disturbed in the middle."""

    def __call__(self, progress: Progress) -> None:
        from distributed import get_worker

        get_worker().log_event(TOPIC, {"round": progress.round})
        time.sleep(0.05)


def disturb(client: Client, action: Callable[[], None]) -> threading.Thread:
    """Do something as soon as a fit has finished some rounds."""
    n_before = len(client.get_events(TOPIC))

    def wait() -> None:
        while len(client.get_events(TOPIC)) < n_before + 3:
            time.sleep(0.02)
        action()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def count_running(dask_worker: Worker) -> int:
    return len(dask_worker.state.executing) + len(dask_worker.state.long_running)


def check_idle(client: Client) -> None:
    deadline = time.monotonic() + 20.0
    while any(client.run(count_running).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    model = DaskSapwoodRegressor(**FEW, client=client).fit(*PARTS)
    assert fingerprint(model) == fingerprint(SapwoodRegressor(**FEW).fit(X, Y))


def fit_slowly(client: Client) -> None:
    DaskSapwoodRegressor(**FEW | {"n_estimators": 1000}, callbacks=[Pause()], client=client).fit(*PARTS)


def test_a_client_that_is_closed_ends_the_fit_with_a_clear_error(client: Client) -> None:
    other = Client(client.scheduler.address, set_as_default=False)
    thread = disturb(client, other.close)
    with pytest.raises(TrainingError, match="the client was closed while it trained"):
        fit_slowly(other)
    thread.join()
    check_idle(client)


def test_an_interrupt_ends_the_fit_and_leaves_workers_idle(client: Client) -> None:
    thread = disturb(client, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit_slowly(client)
    thread.join()
    check_idle(client)
