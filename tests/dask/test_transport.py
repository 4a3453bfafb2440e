"""Workers exchange bytes over Dask's connections, and all of them stop as soon as one has failed."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from distributed import Client, Future, secede, wait

from sapwood.dask.loop_messages import MAX_INLINE
from sapwood.dask.transport import DaskCommunicator, TransportPlugin
from sapwood.distributed import collectives
from sapwood.distributed.inbox import WorkerLostError


def start(client: Client, addresses: list[str], work: Callable[..., Any], run: str = "") -> list[Future]:
    client.register_plugin(TransportPlugin())
    run = run or uuid.uuid4().hex
    return [
        client.submit(work, rank, addresses, run, workers=[address], pure=False)
        for rank, address in enumerate(addresses)
    ]


def gather_arrays(rank: int, addresses: list[str], run: str) -> list[bool]:
    secede()
    with DaskCommunicator(rank, addresses, run) as communicator:
        checks = []
        for size in (0, 1, 1000, MAX_INLINE // 8 + 1, MAX_INLINE):
            gathered = communicator.gather(np.full(size, rank, dtype=np.int64))
            checks.append([array.tolist() == [r] * size for r, array in enumerate(gathered)])
        checks.append([communicator.sum(np.array([rank]))[0] == sum(range(len(addresses)))])
    return [all(one) for one in checks]


def fail_in_third_step(rank: int, addresses: list[str], run: str) -> tuple[str, float]:
    secede()
    try:
        with DaskCommunicator(rank, addresses, run) as communicator:
            for step in range(100):
                if rank == 1 and step == 2:
                    failed = time.time()
                    raise ArithmeticError
                communicator.gather(np.arange(3))
    except WorkerLostError as error:
        return str(error), time.time()
    except ArithmeticError:
        return "failed", failed
    return "finished", time.time()


def never_connect(rank: int, addresses: list[str], run: str) -> str:
    secede()
    if rank == 1:
        return "never connected"
    with DaskCommunicator(rank, addresses, run) as communicator:
        communicator.gather(np.arange(3))
    return "finished"


def gather_by_doubling(rank: int, addresses: list[str], run: str) -> list[bool]:
    collectives.DIRECT_WORKERS = 0
    try:
        return gather_arrays(rank, addresses, run)
    finally:
        collectives.DIRECT_WORKERS = 8


@pytest.mark.parametrize("size", [1, 2, 4])
def test_all_workers_get_the_arrays_of_all(client: Client, addresses: list[str], size: int) -> None:
    for checks in client.gather(start(client, addresses[:size], gather_arrays)):
        assert checks == [True] * 6


def test_arrays_are_gathered_by_doubling(client: Client, addresses: list[str]) -> None:
    for checks in client.gather(start(client, addresses[:3], gather_by_doubling)):
        assert checks == [True] * 6


def test_large_messages_pass_between_workers_of_one_process(threaded_client: Client) -> None:
    addresses = sorted(threaded_client.nthreads())[:3]
    for checks in threaded_client.gather(start(threaded_client, addresses, gather_arrays)):
        assert all(checks)


def test_all_workers_stop_within_a_second_if_one_fails(client: Client, addresses: list[str]) -> None:
    (first, when), (failed, begin), *others = client.gather(start(client, addresses, fail_in_third_step))
    assert failed == "failed"
    for message, moment in [(first, when), *others]:
        assert "worker 1" in message or "closed" in message
        assert moment - begin < 1.0


def test_a_cancelled_worker_stops(client: Client, addresses: list[str]) -> None:
    futures = start(client, addresses[:2], never_connect)
    wait(futures[1:])
    client.cancel(futures, force=True)
    deadline = time.monotonic() + 5.0
    while (left := client.run(count_inboxes, workers=addresses[:1])[addresses[0]]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == 0


def count_inboxes(dask_worker: Any) -> int:
    return len(dask_worker.plugins["sapwood-transport"].inboxes)


def test_a_message_of_an_ended_run_is_not_read(client: Client, addresses: list[str]) -> None:
    run = uuid.uuid4().hex
    client.gather(start(client, addresses[:2], fail_in_third_step, run))
    again = client.gather(start(client, addresses[:2], never_connect, run), errors="skip")
    assert again == ["never connected"]
