"""Collective operations of many workers: results of direct exchanges, in steps that grow with the logarithm."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
import pytest

from sapwood.distributed import Communicator, collectives
from sapwood.distributed.communicator import SMALL_BYTES
from tests.distributed.worker_threads import run_workers

SIZES = range(1, 18)


@pytest.fixture(params=["direct up to 8", "never direct"], autouse=True)
def direct_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "never direct":
        monkeypatch.setattr(collectives, "DIRECT_WORKERS", 0)


def integers(size: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(size).integers(-(2**62) // size, 2**62 // size, (size, *shape))


@pytest.mark.parametrize("size", SIZES)
def test_gathered_arrays_may_differ_in_length(size: int) -> None:
    parts = [np.arange(2.0 * (rank % 5)).reshape(-1, 2) + rank for rank in range(size)]
    for found in run_workers(size, lambda one: one.gather(parts[one.rank])):
        assert len(found) == size
        assert all(a.shape == b.shape and (a == b).all() for a, b in zip(found, parts, strict=True))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", [(0,), (2, 3), (SMALL_BYTES // 8 + 3,)])
def test_sums_maxima_and_sums_before_are_those_of_all_workers(size: int, shape: tuple[int, ...]) -> None:
    parts = integers(size, shape)

    def work(one: Communicator) -> list[np.ndarray]:
        own = parts[one.rank]
        found = [one.sum(own), one.max(own), *one.sum_before(own)]
        found[0][...] += 0  # results may be written to
        return found

    for rank, (total, largest, before, total_again) in enumerate(run_workers(size, work)):
        assert np.array_equal(total, parts.sum(axis=0))
        assert np.array_equal(largest, parts.max(axis=0))
        assert np.array_equal(before, parts[:rank].sum(axis=0))
        assert np.array_equal(total_again, total)


@pytest.mark.parametrize("size", SIZES)
def test_reduce_scatter_gives_each_worker_the_sums_of_its_columns(size: int) -> None:
    rng = np.random.default_rng(size)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 4, size))])  # some workers have no columns
    parts = integers(size, (3, int(start[-1])))
    shared = integers(size, (7,))

    def work(one: Communicator) -> tuple[np.ndarray, ...]:
        alone = one.reduce_scatter(parts[one.rank], start)
        return alone, *one.reduce_scatter_with(parts[one.rank], start, shared[one.rank])

    for rank, (alone, columns, total) in enumerate(run_workers(size, work)):
        assert np.array_equal(alone, parts.sum(axis=0)[:, start[rank] : start[rank + 1]])
        assert np.array_equal(columns, alone)
        assert np.array_equal(total, shared.sum(axis=0))


@pytest.mark.parametrize("size", SIZES)
def test_the_record_of_the_highest_score_is_chosen_and_the_first_of_equals(size: int) -> None:
    scores = np.random.default_rng(size).integers(0, 3, (size, 20)).astype(np.float64)  # many are equal
    scores[:, 0] = -np.inf
    records = integers(size, (20, 3))
    expected = records[np.argmax(scores, axis=0), np.arange(20)]
    for found in run_workers(size, lambda one: one.choose(scores[one.rank], records[one.rank])):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("size", [3, 11])
def test_all_workers_get_the_same_bits_of_maxima(size: int) -> None:
    signs = [np.array([0.0 if rank % 3 else -0.0, float(rank)]) for rank in range(size)]
    found = run_workers(size, lambda one: one.max(signs[one.rank]).tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("size", [9, 16, 17])
def test_steps_grow_with_the_logarithm_of_the_workers(size: int) -> None:
    n_columns = 64 * size
    start = np.arange(size + 1) * 64

    def work(one: Communicator) -> dict[str, Any]:
        for purpose, call in {
            "gather": lambda: one.gather(np.zeros(5)),
            "sum": lambda: one.sum(np.zeros(5, np.int64)),
            "max": lambda: one.max(np.zeros(5)),
            "halving": lambda: one.reduce_scatter(np.zeros((2, n_columns), np.int64), start),
        }.items():
            one.purpose = purpose
            call()
        return {"exchanges": one.exchanges, "messages": one.messages, "sent": one.sent}

    for counts in run_workers(size, work):
        n_steps = ceil(log2(size))
        assert counts["exchanges"]["gather"] == n_steps
        assert counts["exchanges"]["halving"] <= n_steps
        assert counts["exchanges"]["sum"] == counts["exchanges"]["max"] <= int(log2(size)) + 2
        assert all(counts["messages"][name] <= counts["exchanges"][name] for name in counts["messages"])
        assert counts["sent"]["gather"] == (5 * 8 + 8) * (size - 1)
        assert counts["sent"]["halving"] == 2 * 8 * (n_columns - 64)
