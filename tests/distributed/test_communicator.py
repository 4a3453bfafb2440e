"""Every worker gets the sums, maxima and arrays of all workers; alone, a worker gets its own array itself."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import distributed
from sapwood.distributed.communicator import SMALL_BYTES, Communicator, LocalCommunicator
from tests.distributed.worker_threads import run_workers

SIZES = [1, 2, 3]


def arrays(size: int, shape: tuple[int, ...]) -> list[np.ndarray]:
    source = np.random.default_rng(5)
    return [source.integers(-(2**40), 2**40, shape) for _ in range(size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", [(3,), (0,), (2, 5), (SMALL_BYTES // 8 + 1,), (7, SMALL_BYTES)])
def test_sums_and_maxima_are_those_of_all_workers(size: int, shape: tuple[int, ...]) -> None:
    parts = arrays(size, shape)
    found = run_workers(size, lambda one: (one.sum(parts[one.rank]), one.max(parts[one.rank])))
    for total, largest in found:
        assert np.array_equal(total, np.sum(parts, axis=0))
        assert np.array_equal(largest, np.max(parts, axis=0))


@pytest.mark.parametrize("size", SIZES)
def test_gathered_arrays_may_differ_in_length(size: int) -> None:
    parts = [np.arange(2.0 * rank).reshape(rank, 2) for rank in range(size)]
    for found in run_workers(size, lambda one: one.gather(parts[one.rank])):
        assert len(found) == size
        assert all(np.array_equal(a, b) for a, b in zip(found, parts, strict=True))


@pytest.mark.parametrize("size", SIZES)
def test_reduce_scatter_gives_each_worker_the_sums_of_its_columns(size: int) -> None:
    parts = arrays(size, (4, 10))
    start = np.array([0, 3, 3, 10][: size + 1])
    found = run_workers(size, lambda one: one.reduce_scatter(parts[one.rank], start))
    for rank, columns in enumerate(found):
        assert np.array_equal(columns, np.sum(parts, axis=0)[:, start[rank] : start[rank + 1]])


def test_bytes_sent_to_others_are_counted_by_purpose() -> None:
    def send(one: Communicator) -> dict[str, int]:
        one.gather(np.zeros(2))
        one.purpose = "level 3"
        one.gather(np.zeros(5))
        assert one.report() == ", ".join(f"{purpose}: {n_bytes}" for purpose, n_bytes in one.sent.items())
        return one.sent

    assert run_workers(3, send) == [{"start": 32, "level 3": 80}] * 3
    assert run_workers(1, send) == [{"start": 0, "level 3": 0}]


def test_a_local_communicator_returns_its_arguments_and_counts_nothing() -> None:
    local, values = LocalCommunicator(), np.arange(12).reshape(3, 4)
    assert local.sum(values) is values
    assert local.max(values) is values
    assert local.reduce_scatter(values, np.array([0, 4])) is values
    assert local.gather(values)[0] is values
    assert local.exchange_arrays([values])[0] is values
    assert (local.rank, local.size, local.sent) == (0, 1, {})


def test_the_name_of_the_first_version_is_kept() -> None:
    assert distributed.Reducer is distributed.Communicator is Communicator


@pytest.mark.parametrize("size", [1, 3, 5])
def test_sums_before_a_worker_are_those_of_the_workers_with_smaller_ranks(size: int) -> None:
    values = np.random.default_rng(0).integers(-100, 100, (size, 4, 3))
    for rank, (before, total) in enumerate(run_workers(size, lambda one: one.sum_before(values[one.rank]))):
        np.testing.assert_array_equal(before, values[:rank].sum(axis=0))
        np.testing.assert_array_equal(total, values.sum(axis=0))
